// The operation Query.
#pragma once

#include <nlohmann/json.hpp>

#include "weir/sim/dynamodb/dynamo_world.h"

namespace weir::sim {

/// Takes the body of a request and returns the body of the response, or throws a Refusal.
nlohmann::json Query(DynamoWorld& world, const nlohmann::json& body);

}  // namespace weir::sim
