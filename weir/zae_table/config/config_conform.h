// Stores changed limits of the configuration in the buckets that they apply to.
#pragma once

#include <span>
#include <vector>

#include "weir/dynamodb/table.h"
#include "weir/store/config/config_store.h"
#include "weir/zae_table/bucket/bucket_limits.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Returns the levels of entities whose limits the changes set or delete, each once.
std::vector<Level> EntityLevelsIn(std::span<const ConfigChange> changes);

/// For each bucket to which one of the levels may apply: reads the limits that are configured for
/// it, consistently, and calls `buckets.Conform` with them. A level of entity and resource applies
/// to one bucket; an entity's default applies to all buckets of the entity whose resource has no
/// level of its own. These are found by an index, which may lag, so a bucket that was created just
/// before may be missed. A bucket for which no limits are configured is left as it is.
///
/// At most 25 requests are in flight. Not atomic. If one bucket fails, the others are processed all
/// the same; after ten failures in a row that may concern all buckets, the rest is given up. The
/// error has the code of the first failure. Its message names up to ten buckets that may still have
/// other limits, and says that the same change is to be made again, which repeats this call.
/// `table` and `buckets` must outlive the call.
void ConformBuckets(Table& table, const Keys& keys, BucketLimits& buckets,
                    const std::vector<Level>& levels, Deadline deadline, Done<void> done);

}  // namespace weir::dynamo
