// Update expressions.
#pragma once

#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/sim/dynamo_expression.h"
#include "weir/sim/dynamo_path.h"
#include "weir/sim/dynamo_value.h"

namespace weir::sim {

/// What is on the right of a SET's equals sign, or the value of ADD and DELETE.
struct NewValue {
  enum class Kind { kValue, kPath, kIfNotExists, kListAppend, kPlus, kMinus };
  Kind kind = Kind::kValue;
  Value value;                  ///< of kValue
  Path path;                    ///< of kPath, kIfNotExists
  std::vector<NewValue> parts;  ///< one of kIfNotExists, two of the last three
};

struct UpdateAction {
  enum class Kind { kSet, kAdd, kDelete, kRemove };
  Kind kind = Kind::kSet;
  Path path;
  NewValue value;  ///< none of kRemove
};

/// A parsed UpdateExpression. No two of its paths overlap. A value.
struct Update {
  std::vector<UpdateAction> actions;
};

Result<Update> ParseUpdate(std::string_view text, Placeholders& placeholders);

/// The item after the update. Whatever an action reads it reads in the old item. kInvalidArgument,
/// with AWS's words, if it does not fit the item.
Result<Item> Apply(const Update& update, const Item& old);

}  // namespace weir::sim
