// Reads attribute values in responses.
#pragma once

#include "weir/codec/json_members.h"
#include "weir/dynamodb/value.h"

namespace weir::dynamo {

/// Converts an object of names and attribute values to an item. Throws as json_members.h describes.
Item ReadAttributes(JsonObject fields);

}  // namespace weir::dynamo
