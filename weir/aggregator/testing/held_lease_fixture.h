// A lease that is held, for tests of aggregators.
#pragma once

#include "weir/aggregator/lease/aggregator_lease.h"

namespace weir::dynamo {

/// Returns a lease that is held from `now` on for `lifetime`.
inline AggregatorLease HeldLease(Instant now, milliseconds lifetime = std::chrono::hours(1)) {
  AggregatorLease lease({.owner = "test", .lifetime = lifetime}, NoLog());
  lease.Start(now);
  lease.OnRead(std::optional<Item>(), now);
  lease.OnWrite(WriteResponse{}, now);
  return lease;
}

}  // namespace weir::dynamo
