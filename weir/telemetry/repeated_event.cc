#include "weir/telemetry/repeated_event.h"

#include <utility>

namespace weir {

std::optional<std::int64_t> RepeatedEvent::ShouldWrite(Instant now) {
  const MutexLock lock(mutex_);
  if (now < next_) {
    ++suppressed_;
    return std::nullopt;
  }
  next_ = now + interval_;
  return std::exchange(suppressed_, 0);
}

}  // namespace weir
