// The operations PutRecords and PutRecord.
#pragma once

#include <nlohmann/json.hpp>

#include "weir/sim/kinesis/kinesis_world.h"

namespace weir::sim {

// Each takes the body of a request and returns the body of the response (null: none), or throws a
// Refusal.
nlohmann::json PutRecords(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json PutRecord(KinesisWorld& world, const nlohmann::json& body);

}  // namespace weir::sim
