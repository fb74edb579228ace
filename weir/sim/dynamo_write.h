// One write of the simulated DynamoDB, alone, in a batch or in a transaction.
#pragma once

#include <optional>
#include <string>

#include "weir/sim/dynamo_condition.h"
#include "weir/sim/dynamo_update.h"
#include "weir/sim/dynamo_world.h"

namespace weir::sim {

struct ItemWrite {
  enum class Kind { kPut, kUpdate, kDelete, kCheck };

  Kind kind = Kind::kPut;
  DynamoTable* table = nullptr;
  ItemKey key;
  Item attributes;  ///< the whole item of a put, otherwise the key
  Update update;
  std::optional<Condition> condition;
  bool old_on_failure = false;  ///< ReturnValuesOnConditionCheckFailure
};

/// Reads what the structures of all writes share. Refuses what can never be applied.
ItemWrite ReadWrite(ItemWrite::Kind kind, DynamoWorld& world, const Fields& fields);

/// Why a write is throttled, in the words of ThrottlingReasons.
struct SpentRange {
  std::string reason;
  std::string resource;  ///< of RefuseForThroughput
};
/// The table's range of the write, if it has no units left; it is counted.
std::optional<SpentRange> FindSpentTableRange(DynamoWorld& world, const ItemWrite& write);
/// The same of the indexes that the change from the item that is there to `after` is written to.
std::optional<SpentRange> FindSpentIndexRange(DynamoWorld& world, const ItemWrite& write,
                                              const std::optional<Item>& after);
/// What a write that was made, or whose condition failed, takes from its ranges. `image`: the item
/// after it; before it if it was deleted.
void ConsumeRanges(DynamoWorld& world, const ItemWrite& write, const WriteCost& cost,
                   const std::optional<Item>& image, double times = 1);

/// Whether its condition holds now.
bool ConditionHolds(const ItemWrite& write);

/// The item after it; nothing: none. kInvalidArgument, in AWS's words, if it does not fit the item
/// that is there or makes one that may not be.
Result<std::optional<Item>> ImageAfter(const ItemWrite& write);

}  // namespace weir::sim
