// Writes that consume units of the ranges of partition keys.
#pragma once

#include <optional>
#include <string>

#include "weir/base/time.h"
#include "weir/sim/dynamodb/consumption_report.h"
#include "weir/sim/dynamodb/dynamo_write.h"

namespace weir::sim {

/// The reason for throttling a write, in the words of ThrottlingReasons.
struct SpentRange {
  std::string reason;
  std::string resource;  ///< in the form of RefuseForThroughput's `resource`
};
/// Returns the table's range of the write if it has no units left, and counts the throttled write.
std::optional<SpentRange> FindSpentTableRange(DynamoWorld& world, const ItemWrite& write);
/// Like FindSpentTableRange, but for the indexes that the change from the current item to `after`
/// affects.
std::optional<SpentRange> FindSpentIndexRange(DynamoWorld& world, const ItemWrite& write,
                                              const std::optional<Item>& after);
/// A change that a write makes.
struct ItemChange {
  std::optional<Item> after;  ///< the item after the write; nothing: the write deletes the item
  nanoseconds lag{0};         ///< the delay of the indexes
  double price = 1;           ///< the factor of the cost: 2 in a transaction
};
/// Applies a write: changes the item, charges the ranges of the table and of its indexes, and adds
/// the cost to `report`.
void ApplyWrite(DynamoWorld& world, const ItemWrite& write, const ItemChange& change,
                ConsumptionReport& report);
/// Charges a write that changes nothing: a condition that was only checked or that failed. `price`
/// is as in ItemChange.
void ChargeUnchanged(DynamoWorld& world, const ItemWrite& write, ConsumptionReport& report,
                     double price = 1);

}  // namespace weir::sim
