// The log of the events of a stream's reader.
#pragma once

#include "weir/dynamodb/streams/consumer_step.h"
#include "weir/telemetry/log.h"

namespace weir::dynamo {

/// Writes "aggregator.lease_damaged" (error: stream_shard, message) or
/// "aggregator.requests_failing" (warning: stream_shard, message), and nothing for other events.
void WriteEvent(Log& log, const ConsumerEvent& event);

}  // namespace weir::dynamo
