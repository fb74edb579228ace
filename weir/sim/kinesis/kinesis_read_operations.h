// The operations GetShardIterator and GetRecords.
#pragma once

#include <nlohmann/json.hpp>

#include "weir/sim/kinesis/kinesis_world.h"

namespace weir::sim {

// Each takes the body of a request and returns the body of the response (null: none), or throws a
// Refusal.
nlohmann::json GetShardIterator(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json GetRecords(KinesisWorld& world, const nlohmann::json& body);

}  // namespace weir::sim
