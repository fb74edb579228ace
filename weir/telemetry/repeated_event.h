// Keeps an event that repeats from filling the log.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/base/mutex.h"
#include "weir/base/time.h"

namespace weir {

/// Lets one event of a kind be written in each interval, and counts those that are left out.
/// Thread-safe.
class RepeatedEvent {
 public:
  explicit RepeatedEvent(nanoseconds interval) : interval_(interval) {}

  /// How many were left out since the last that was written, which is a field of the event as
  /// "suppressed"; nothing: this one is to be left out, too.
  std::optional<std::int64_t> Take(Instant now);

 private:
  const nanoseconds interval_;
  Mutex mutex_;
  Instant next_ WEIR_GUARDED_BY(mutex_){INT64_MIN};
  std::int64_t suppressed_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
