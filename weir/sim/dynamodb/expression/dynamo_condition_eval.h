// Evaluates a condition on an item.
#pragma once

#include "weir/sim/dynamodb/expression/dynamo_condition.h"
#include "weir/sim/dynamodb/expression/dynamo_value.h"

namespace weir::sim {

/// Returns whether the item satisfies the condition; a missing item is passed as an empty one.
/// Every comparison of a missing value, or of two values of different types, is false, except <>.
bool Holds(const Condition& condition, const Item& item);

}  // namespace weir::sim
