// The operations PutItem, UpdateItem, DeleteItem and BatchWriteItem.
#pragma once

#include <nlohmann/json.hpp>

#include "weir/sim/dynamodb/dynamo_world.h"

namespace weir::sim {

// Each takes the body of a request and returns the body of the response, or throws a Refusal.
nlohmann::json PutItem(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json UpdateItem(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json DeleteItem(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json BatchWriteItem(DynamoWorld& world, const nlohmann::json& body);

}  // namespace weir::sim
