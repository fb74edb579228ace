// The operations ListShards, DescribeStreamSummary, CreateStream, SplitShard and MergeShards.
#pragma once

#include <nlohmann/json.hpp>

#include "weir/sim/kinesis/kinesis_world.h"

namespace weir::sim {

// Each takes the body of a request and returns the body of the response (null: none), or throws a
// Refusal.
nlohmann::json ListShards(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json DescribeStreamSummary(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json CreateStream(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json SplitShard(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json MergeShards(KinesisWorld& world, const nlohmann::json& body);

}  // namespace weir::sim
