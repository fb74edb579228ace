// The earliest of several times for which a state machine waits.
#pragma once

#include <initializer_list>
#include <optional>

#include "weir/base/time.h"

namespace weir {

/// Returns the earliest of these times; nothing if none is set.
constexpr std::optional<Instant> EarliestOf(std::initializer_list<std::optional<Instant>> times) {
  std::optional<Instant> earliest;
  for (const std::optional<Instant>& time : times) {
    if (time && (!earliest || *time < *earliest)) earliest = time;
  }
  return earliest;
}

}  // namespace weir
