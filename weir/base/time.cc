#include "weir/base/time.h"

namespace weir {

Instant SystemClock::Now() const {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<nanoseconds>(since).count()};
}

UnixMillis SystemClock::WallNow() const {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::floor<milliseconds>(since).count()};
}

}  // namespace weir
