// Brings buckets to the limits that a change of the configuration has left them with.
#pragma once

#include <span>
#include <vector>

#include "weir/dynamo/bucket_limits.h"
#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"
#include "weir/store/config_store.h"

namespace weir::dynamo {

/// The levels of entities whose limits the changes set or delete, each once.
std::vector<Level> EntityLevelsIn(std::span<const ConfigChange> changes);

/// For each bucket that one of the levels may concern: reads its limits as they are configured,
/// consistently, and has `buckets` conform it. A level of entity and resource concerns one bucket;
/// an entity's default concerns all buckets of the entity that have no such level of their own.
/// These are found by an index, which may lag: one that was created just before may be missed. A
/// bucket for which no limits are configured stays as it is.
///
/// At most 25 requests at a time. Not atomic. Where it fails for one bucket, it goes on with the
/// others; after ten failures in a row that may concern all of them, it ends. The error has the
/// code of the first failure, and says which buckets may still have other limits (ten by name), and
/// that the same change is to be made again, which does all of this again. `table` and `buckets`
/// must outlive the call.
void ConformBuckets(Table& table, const Keys& keys, BucketLimits& buckets,
                    const std::vector<Level>& levels, Deadline deadline, Done<void> done);

}  // namespace weir::dynamo
