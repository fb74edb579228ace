// Prevents a repeated event from filling the log.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/base/mutex.h"
#include "weir/base/time.h"

namespace weir {

/// Lets one event of a kind be written in each interval, and counts the suppressed ones.
/// Thread-safe.
class RepeatedEvent {
 public:
  explicit RepeatedEvent(nanoseconds interval) : interval_(interval) {}

  /// If this event is to be written, returns the number of events that were suppressed since the
  /// last written one (the field "suppressed"). Returns nothing if this event is to be suppressed.
  std::optional<std::int64_t> ShouldWrite(Instant now);

 private:
  const nanoseconds interval_;
  Mutex mutex_;
  Instant next_ WEIR_GUARDED_BY(mutex_){INT64_MIN};
  std::int64_t suppressed_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
