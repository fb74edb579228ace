// The sum of an instant and a wait, without overflow.
#pragma once

#include <cstdint>

#include "weir/base/time.h"

namespace weir {

/// Returns the instant `wait` after `at`, or the last one, Instant{INT64_MAX}, if the sum is beyond
/// it. REQUIRES: at.nanos >= 0, wait >= 0.
inline Instant AddSaturated(Instant at, milliseconds wait) {
  constexpr nanoseconds kMilli = milliseconds(1);
  if (wait.count() >= (INT64_MAX - at.nanos) / kMilli.count()) return Instant{INT64_MAX};
  return at + wait;
}

}  // namespace weir
