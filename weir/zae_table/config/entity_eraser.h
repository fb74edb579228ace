// Deletes the records that an entity leaves in the table.
#pragma once

#include <string>

#include "weir/dynamodb/table.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Deletes the partitions of the entity's buckets with all of their items, and the items of its own
/// partition except its own item and its configurations. Works page by page and is not atomic: if
/// it fails, it must be repeated. The buckets are found by an index, which may lag, so a bucket
/// that was created shortly before may remain. `table` must outlive the call.
void EraseRecords(Table& table, const Keys& keys, const std::string& entity, Deadline deadline,
                  Done<void> done);

}  // namespace weir::dynamo
