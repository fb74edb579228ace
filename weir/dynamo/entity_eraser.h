// Takes away what an entity leaves behind.
#pragma once

#include <string>

#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"

namespace weir::dynamo {

/// Deletes the partitions of the entity's buckets, whatever is in them, and what stands in its own
/// partition, but neither its own item nor configurations. Page by page, not atomic, to be repeated
/// where it fails. Buckets are found by an index, which may lag: one that was created just before
/// may stay. `table` must outlive the call.
void EraseRecords(Table& table, const Keys& keys, const std::string& entity, Deadline deadline,
                  Done<void> done);

}  // namespace weir::dynamo
