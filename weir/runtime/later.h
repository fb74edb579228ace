// An instant some time from now, however long that is.
#pragma once

#include <cstdint>

#include "weir/base/time.h"

namespace weir {

/// `wait` after `at`; the last instant there is, Instant{INT64_MAX}, where that is beyond it.
/// REQUIRES: at.nanos >= 0, wait >= 0.
inline Instant Later(Instant at, milliseconds wait) {
  constexpr nanoseconds kMilli = milliseconds(1);
  if (wait.count() >= (INT64_MAX - at.nanos) / kMilli.count()) return Instant{INT64_MAX};
  return at + wait;
}

}  // namespace weir
