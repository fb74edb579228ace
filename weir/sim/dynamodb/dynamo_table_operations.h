// The operations on whole tables.
#pragma once

#include <nlohmann/json.hpp>

#include "weir/sim/dynamodb/dynamo_world.h"

namespace weir::sim {

// Each takes the body of a request and returns the body of the response, or throws a Refusal.
nlohmann::json CreateTable(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json DescribeTable(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json DeleteTable(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json UpdateTimeToLive(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json DescribeTimeToLive(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json UpdateContinuousBackups(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json DescribeContinuousBackups(DynamoWorld& world, const nlohmann::json& body);

}  // namespace weir::sim
