// The properties that every run on a stream must have.
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/kinesis_stream.h"
#include "weir/sim/kinesis/kinesis_delivery.h"

namespace weir::simulation {

/// Returns all records that a consumer delivers, read over the wire: each shard to its end, parents
/// before their children (rules: weir/sim/kinesis/kinesis_delivery.h).
std::vector<sim::Delivery> Consume(sim::SimServer& server);

/// Returns a message for each violation, at most a few. Ends the faults of the server.
///
/// Each record has one result, at most kinesis::kLastWait after it expires. A record that is
/// reported as stored is delivered once and unchanged, at the position in its result; a failed
/// record is not delivered. Exceptions to this are allowed only if the result has maybe_duplicate.
/// An ordered producer keeps the order of each hash key.
std::vector<std::string> Violations(StreamRun& run, bool ended);

}  // namespace weir::simulation
