// Applies an update to an item.
#pragma once

#include "weir/base/result.h"
#include "weir/sim/dynamodb/expression/dynamo_update.h"
#include "weir/sim/dynamodb/expression/dynamo_value.h"

namespace weir::sim {

/// Returns the item after the update. All actions read the old item. Returns kInvalidArgument, with
/// AWS's message, if the update does not fit the item.
Result<Item> Apply(const Update& update, const Item& old);

}  // namespace weir::sim
