#include "weir/zae_table/actor/round_trips.h"

#include <algorithm>

namespace weir::dynamo {

void RoundTrips::Add(nanoseconds duration, Instant now) {
  const MutexLock lock(mutex_);
  // After a pause the old durations are dropped, too.
  if (ended_ && now - *ended_ > kValid) count_ = 0;
  latest_[count_++ % kKept] = duration;
  ended_ = now;
  std::array<nanoseconds, kKept> sorted = latest_;
  const std::size_t known = std::min(count_, kKept);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(known / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(known));
  median_ = *middle;
}

std::optional<nanoseconds> RoundTrips::Median(Instant now) const {
  const MutexLock lock(mutex_);
  if (!ended_ || now - *ended_ > kValid) return std::nullopt;
  return median_;
}

}  // namespace weir::dynamo
