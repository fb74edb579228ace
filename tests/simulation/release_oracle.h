// The properties of jobs' slots that every run with events must have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/slot_events.h"
#include "weir/sim/dynamodb/dynamo_table.h"

namespace weir::simulation {

/// Without a trouble, a slot is free within this time after its job's event can be received.
inline constexpr milliseconds kFreeWithin{10'000};

/// Returns a message for each of these violations:
/// - When the run is over, a slot is held that is bound to a job and was claimed before an end of
///   that job. A slot of rate-limiter-py's clients has no time of claiming: each end counts.
/// - A message that reports such an end could be received at an instant outside of all troubles, no
///   trouble began within the next 10 seconds, and a slot that was bound before that instant was
///   still held after these. If a message could first be received during a trouble, the end of the
///   trouble counts, unless the message was received before. If the event had been received before,
///   only slots that the index shows count: a repetition makes one request and then joins the
///   requests of the pending event.
/// - A bound slot was released before its job ended, or was claimed after the second of the end.
/// - Messages are left in the queue or became dead letters, or one was received more often than
///   once for each end of a job, each daemon that ended, and each failed call to the queue.
/// - The queue was called as no client should call it.
///
/// Adds to `measured` how often a slot had to be free within the 10 seconds.
std::vector<std::string> BrokenReleases(const sim::DynamoTable& table, const SlotEvents& events,
                                        std::uint64_t& measured);

}  // namespace weir::simulation
