// What must be true of every run on a stream.
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/kinesis_stream.h"
#include "weir/sim/kinesis_delivery.h"

namespace weir::simulation {

/// Everything that a consumer delivers, read over the wire: each shard to its end, parents before
/// their children (rules: weir/sim/kinesis_delivery.h).
std::vector<sim::Delivery> Consume(sim::SimServer& server);

/// A message for each thing that is not as it must be, at most a few. Ends the faults of the
/// server.
///
/// Each record has one result, by its expiry and the answer to what was sent. What is told to be
/// stored is delivered, as it was put, from the place that the result names; what failed is not;
/// that does not hold, and one is delivered twice, only where the result says so. An ordered
/// producer keeps the order of each hash key.
std::vector<std::string> Broken(StreamRun& run, bool ended);

}  // namespace weir::simulation
