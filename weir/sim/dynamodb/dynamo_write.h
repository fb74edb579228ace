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
  Item item_or_key;  ///< the whole item of a put; otherwise the key
  Update update;
  std::optional<Condition> condition;
  bool old_on_failure = false;  ///< ReturnValuesOnConditionCheckFailure
};

/// Reads the fields that all writes share. Refuses a write that can never be applied.
ItemWrite ReadWrite(ItemWrite::Kind kind, DynamoWorld& world, const RequestFields& fields);

/// Returns whether the condition of the write holds now.
bool ConditionHolds(const ItemWrite& write);

/// Returns the item after the write, or nothing if the write deletes it. Returns kInvalidArgument,
/// with AWS's message, if the write does not fit the current item or its result is not a valid
/// item.
Result<std::optional<Item>> ImageAfter(const ItemWrite& write);

}  // namespace weir::sim
