// Update expressions.
#pragma once

#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/sim/dynamodb/expression/dynamo_expression.h"
#include "weir/sim/dynamodb/expression/dynamo_path.h"
#include "weir/sim/dynamodb/expression/dynamo_value.h"

namespace weir::sim {

/// The right side of a SET, or the value of ADD and DELETE.
struct NewValue {
  enum class Kind { kValue, kPath, kIfNotExists, kListAppend, kPlus, kMinus };
  Kind kind = Kind::kValue;
  Value value;                  ///< the value of kValue
  Path path;                    ///< the path of kPath, kIfNotExists
  std::vector<NewValue> parts;  ///< one for kIfNotExists, two for the last three kinds
};

struct UpdateAction {
  enum class Kind { kSet, kAdd, kDelete, kRemove };
  Kind kind = Kind::kSet;
  Path path;
  NewValue value;  ///< unused for kRemove
};

/// A parsed UpdateExpression. No two of its paths overlap.
struct Update {
  std::vector<UpdateAction> actions;
};

Result<Update> ParseUpdate(std::string_view text, Placeholders& placeholders);

}  // namespace weir::sim
