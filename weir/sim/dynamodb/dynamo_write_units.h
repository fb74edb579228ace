// The write units that a write consumes of its partition keys: that of the table and those of
// indexes.
#pragma once

#include <optional>
#include <string>

#include "weir/base/time.h"
#include "weir/sim/dynamodb/consumption_report.h"
#include "weir/sim/dynamodb/dynamo_write.h"

namespace weir::sim {

/// The reason for throttling a write, in the words of ThrottlingReasons.
struct SpentPartition {
  std::string reason;
  std::string resource;  ///< in the form of RefuseForThroughput's `resource`
};
/// Returns why the write is throttled if its partition key in the table has no units left, and
/// counts the throttled write.
std::optional<SpentPartition> FindSpentTablePartition(DynamoWorld& world, const ItemWrite& write);
/// Like FindSpentTablePartition, but for the indexes that the change from the current item to
/// `after` affects.
std::optional<SpentPartition> FindSpentIndexPartition(DynamoWorld& world, const ItemWrite& write,
                                                      const std::optional<Item>& after);
/// A change that a write makes.
struct ItemChange {
  std::optional<Item> after;  ///< the item after the write; nothing: the write deletes the item
  nanoseconds lag{0};         ///< the delay of the indexes
  double price = 1;           ///< the factor of the cost: 2 in a transaction
};
/// Applies a write: changes the item, charges its partition keys in the table and in the indexes,
/// and adds the cost to `report`.
void ApplyWrite(DynamoWorld& world, const ItemWrite& write, const ItemChange& change,
                ConsumptionReport& report);
/// Charges a write that changes nothing: a condition that was only checked or that failed. `price`
/// is as in ItemChange.
void ChargeUnchanged(DynamoWorld& world, const ItemWrite& write, ConsumptionReport& report,
                     double price = 1);

}  // namespace weir::sim
