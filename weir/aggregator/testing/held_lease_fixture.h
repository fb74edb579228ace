// A lease that is held, for tests of aggregators.
#pragma once

#include "weir/aggregator/lease/aggregator_lease.h"

namespace weir::dynamo {

/// Returns a lease that is held from `now` on for `lasts`.
inline AggregatorLease HeldLease(Instant now, milliseconds lasts = std::chrono::hours(1)) {
  AggregatorLease lease({.owner = "test", .lasts = lasts}, NoLog());
  lease.Start(now);
  lease.OnRead(std::optional<Item>(), now);
  lease.OnWrite(WriteAnswer{}, now);
  return lease;
}

}  // namespace weir::dynamo
