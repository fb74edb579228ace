// Copies what an entity's record says of its parent into the entity's buckets.
#pragma once

#include <string>

#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"

namespace weir::dynamo {

/// The entity whose buckets get it.
struct PropagationTarget {
  std::string entity;
  /// It had no record before, and hardly has buckets: if none are found, the search is not
  /// repeated.
  bool is_new = false;

  friend bool operator==(const PropagationTarget&, const PropagationTarget&) = default;
};

/// Clients of zae-limiter that find a bucket do not read its owner: they charge the parent that the
/// bucket names. This sets cascade, parent_id, pgen and pinc of every bucket of the entity, all
/// resources and shards, to what the entity's record says when it is read here, and nothing else,
/// whatever else is in the item. Cascade is what a level says for the resource, if one does (entity
/// and resource, entity, resource), else the entity's flag; false without a parent. A bucket that
/// is gone stays gone, and one with a higher pgen of the same pinc stays as it is. Without a record
/// nothing is done.
///
/// Buckets are found by an index, which may lag, so the search is repeated after all that were
/// found are written. Not atomic: if it fails, the error names the entity and how many buckets are
/// written, and putting the entity again completes it. One request at a time. `table` must outlive
/// the call.
///
/// Format: zae-limiter 0.17.0 (data model 4.1, "cascade, parent fan-out", rules 10 and 14).
void PropagateParent(Table& table, const Keys& keys, PropagationTarget target, Deadline deadline,
                     Done<void> done);

}  // namespace weir::dynamo
