// The time between two events of a process that may have been suspended in between.
#pragma once

#include <algorithm>

#include "weir/base/time.h"

namespace weir::dynamo {

struct ClockReading {
  Instant at;
  UnixMillis wall;
};

inline ClockReading ReadClocks(const Clock& clock) {
  return {.at = clock.Now(), .wall = clock.WallNow()};
}

/// Returns the time between two readings, by the clock that shows the longer one: the monotonic
/// clock may stop while a virtual machine is paused, and the wall clock may be set back.
inline nanoseconds LongestBetween(const ClockReading& from, const ClockReading& to) {
  return std::max(to.at - from.at, nanoseconds(to.wall - from.wall));
}

}  // namespace weir::dynamo
