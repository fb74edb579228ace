// Copies the parent and cascade in an entity's record into the entity's buckets.
#pragma once

#include <string>

#include "weir/dynamodb/table.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// The entity whose buckets get the copy.
struct PropagationTarget {
  std::string entity;
  /// The entity had no record before, so it hardly has buckets: if no bucket is found, the search
  /// is not repeated.
  bool is_new = false;

  friend bool operator==(const PropagationTarget&, const PropagationTarget&) = default;
};

/// Clients of zae-limiter that find a bucket do not read its owner: they charge the parent that the
/// bucket names. This sets cascade, parent_id, pgen and pinc of every bucket of the entity, in all
/// resources and shards, by the entity's record as it is read here, and changes nothing else.
/// Cascade is the value of the first level that has one for the resource (entity and resource,
/// entity, resource), else the entity's flag; false without a parent. A bucket that no longer
/// exists is not created, and a bucket that has the same pinc and a higher pgen is not changed.
/// Without a record nothing happens.
///
/// Buckets are found by an index, which may lag, so the search is repeated after all buckets that
/// it found are written. Not atomic: if it fails, the error names the entity and the number of
/// buckets that are written, and putting the entity again completes it. Sends one request at a
/// time. `table` must outlive the call.
///
/// Rules: zae-limiter 0.17.0 (_fanout_cascade in its repository.py).
void PropagateParent(Table& table, const Keys& keys, PropagationTarget target, Deadline deadline,
                     Done<void> done);

}  // namespace weir::dynamo
