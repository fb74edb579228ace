// One write of the simulated DynamoDB: alone, in a batch or in a transaction.
#pragma once

#include <optional>
#include <string>

#include "weir/sim/dynamodb/dynamo_world.h"
#include "weir/sim/dynamodb/expression/dynamo_condition.h"
#include "weir/sim/dynamodb/expression/dynamo_update.h"

namespace weir::sim {

struct ItemWrite {
  enum class Kind { kPut, kUpdate, kDelete, kCheck };

  Kind kind = Kind::kPut;
  DynamoTable* table = nullptr;
  ItemKey key;
  Item attributes;  ///< the whole item of a put; otherwise the key
  Update update;
  std::optional<Condition> condition;
  bool old_on_failure = false;  ///< ReturnValuesOnConditionCheckFailure
};

/// Reads the fields that all writes share. Refuses a write that can never be applied.
ItemWrite ReadWrite(ItemWrite::Kind kind, DynamoWorld& world, const Fields& fields);

/// The reason for throttling a write, in the words of ThrottlingReasons.
struct SpentRange {
  std::string reason;
  std::string resource;  ///< in the form of RefuseForThroughput's `resource`
};
/// Returns the table's range of the write if it has no units left, and counts the throttled write.
std::optional<SpentRange> FindSpentTableRange(DynamoWorld& world, const ItemWrite& write);
/// The same for the indexes that the change from the current item to `after` affects.
std::optional<SpentRange> FindSpentIndexRange(DynamoWorld& world, const ItemWrite& write,
                                              const std::optional<Item>& after);
/// Charges the ranges for a write that was applied or whose condition failed. `image` is the item
/// after the write, or before it if the write deleted the item.
void ConsumeRanges(DynamoWorld& world, const ItemWrite& write, const WriteCost& cost,
                   const std::optional<Item>& image, double times = 1);

/// Returns whether the condition of the write holds now.
bool ConditionHolds(const ItemWrite& write);

/// Returns the item after the write, or nothing if the write deletes it. Returns kInvalidArgument,
/// with AWS's message, if the write does not fit the current item or its result is not a valid
/// item.
Result<std::optional<Item>> ImageAfter(const ItemWrite& write);

}  // namespace weir::sim
