// The operations of DynamoDB Streams.
#pragma once

#include <nlohmann/json.hpp>

#include "weir/sim/dynamodb/dynamo_world.h"

namespace weir::sim {

// Each takes the body of a request and returns the body of the response, or throws a Refusal.
nlohmann::json DescribeStream(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json GetShardIterator(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json GetStreamRecords(DynamoWorld& world, const nlohmann::json& body);

/// Returns whether the service has removed the record because of its age.
bool IsTrimmed(const DynamoWorld& world, const StreamRecord& record);

}  // namespace weir::sim
