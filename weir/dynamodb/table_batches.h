// Batches: reads and deletions of any number of items. Keys that a busy table leaves undone are
// sent again after a pause (batch_backoff.h).
#pragma once

#include <optional>
#include <vector>

#include "weir/base/done.h"
#include "weir/dynamodb/table_access.h"
#include "weir/dynamodb/table_key.h"
#include "weir/dynamodb/value.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

/// The implementations of Table::BatchGet and Table::DeleteAll.
void GetBatch(TableAccess& table, std::vector<TableKey> keys, Deadline deadline,
              Done<std::vector<std::optional<Item>>> done);
void DeleteBatch(TableAccess& table, std::vector<TableKey> keys, Deadline deadline,
                 Done<void> done);

}  // namespace weir::dynamo
