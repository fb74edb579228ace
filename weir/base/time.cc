#include "weir/base/time.h"

#include <ctime>

namespace weir {

Instant SystemClock::Now() const {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<nanoseconds>(since).count()};
}

UnixMillis SystemClock::WallNow() const {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::floor<milliseconds>(since).count()};
}

nanoseconds SystemClock::BootNow() const {
  std::timespec at{};
  clock_gettime(CLOCK_BOOTTIME, &at);  // fails only for an unknown clock or a bad pointer
  return std::chrono::seconds(at.tv_sec) + nanoseconds(at.tv_nsec);
}

}  // namespace weir
