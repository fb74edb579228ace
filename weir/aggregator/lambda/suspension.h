// The time between two events of a process that may have been suspended in between.
#pragma once

#include <algorithm>

#include "weir/base/time.h"

namespace weir::dynamo {

struct ClockReading {
  Instant at;
  UnixMillis wall;
  nanoseconds boot{0};
};

inline ClockReading ReadClocks(const Clock& clock) {
  return {.at = clock.Now(), .wall = clock.WallNow(), .boot = clock.BootNow()};
}

/// Returns the longest time between two readings by any of the clocks: the monotonic clock may stop
/// during a suspension, and the wall clock may be set back.
inline nanoseconds LongestBetween(const ClockReading& from, const ClockReading& to) {
  return std::max({to.at - from.at, nanoseconds(to.wall - from.wall), to.boot - from.boot});
}

}  // namespace weir::dynamo
