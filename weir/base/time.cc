#include "weir/base/time.h"

#include <ctime>

namespace weir {

Instant SystemClock::Now() const {
  std::timespec at{};
  clock_gettime(CLOCK_BOOTTIME, &at);  // fails only for an unknown clock or a bad pointer
  return {nanoseconds(std::chrono::seconds(at.tv_sec)).count() + at.tv_nsec};
}

UnixMillis SystemClock::WallNow() const {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::floor<milliseconds>(since).count()};
}

}  // namespace weir
