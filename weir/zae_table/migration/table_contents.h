// Counts the items of a table that the present schema does not have, or that Weir does not support.
#pragma once

#include <cstdint>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/deadline.h"
#include "weir/zae_table/migration/bounded_lines.h"

namespace weir::dynamo {

struct TableContents {
  std::uint64_t scanned = 0;         ///< the number of items that were read
  bool complete = true;              ///< all items of the table were read
  std::uint64_t legacy_limits = 0;   ///< items with one limit each, from before 0.8
  std::uint64_t unread_limits = 0;   ///< items with a legacy limit's sort key that name no limit
  std::uint64_t legacy_buckets = 0;  ///< buckets in the partitions of entities, from before 0.9
  std::uint64_t no_namespace = 0;    ///< items with keys from before namespaces
  /// Limits, entities and buckets that Weir leaves out of listings: the item and the reason, such
  /// as the feature that it uses.
  BoundedLines unreadable{};
};

/// Counts one item.
void AddTo(TableContents& contents, const Item& item);

/// Reads at most `max_items` items, page by page. The items are read in the order of a scan, so
/// which of them are read is not defined. `table` must outlive the call.
void ReadContents(Table& table, std::uint64_t max_items, Deadline deadline,
                  Done<TableContents> done);

}  // namespace weir::dynamo
