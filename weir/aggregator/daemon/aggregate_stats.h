// The counters and the state of an aggregator that runs as a daemon.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/base/time.h"

namespace weir::dynamo {

struct AggregateStats {
  std::uint64_t records = 0;         ///< applied records, those without usage included
  std::uint64_t skipped = 0;         ///< records that could not be counted; gaps cover them
  std::uint64_t updates = 0;         ///< of usage items
  std::uint64_t conflicts = 0;       ///< updates that were planned again
  std::uint64_t failed_batches = 0;  ///< failed tries of batches and of gaps
  std::uint64_t gaps = 0;            ///< stored gaps: of trimmed and of skipped records
  std::uint64_t refills = 0;
  std::uint64_t divisions = 0;          ///< that were requested
  std::uint64_t divisions_dropped = 0;  ///< because too many were in flight
  std::uint64_t refused = 0;            ///< damaged items, and items with unsupported features
  std::uint64_t archived = 0;           ///< audit events
  /// Series of failed requests to the stream or for its leases; throttled requests do not count.
  std::uint64_t request_failures = 0;

  // The state, at the time of the last event.
  Instant lease_held_until{INT64_MIN};
  std::uint64_t shards = 0;                    ///< of the stream, that this process reads
  std::uint64_t damaged_leases = 0;            ///< their shards are not read
  std::optional<UnixMillis> newest_applied{};  ///< creation time of the newest applied record
  std::optional<UnixMillis> oldest_waiting{};  ///< of the oldest record read but not yet applied

  friend bool operator==(const AggregateStats&, const AggregateStats&) = default;
};

}  // namespace weir::dynamo
