#include "weir/zae_table/actor/round_trips.h"

#include <algorithm>

namespace weir::dynamo {

void RoundTrips::Add(nanoseconds duration, Instant now) {
  const MutexLock lock(mutex_);
  // After a pause, the durations from before it are dropped.
  if (last_end_ && now - *last_end_ > kValid) added_ = 0;
  latest_[added_++ % kKept] = duration;
  last_end_ = now;
  std::array<nanoseconds, kKept> sorted = latest_;
  const std::size_t known = std::min(added_, kKept);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(known / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(known));
  median_ = *middle;
}

std::optional<nanoseconds> RoundTrips::Median(Instant now) const {
  const MutexLock lock(mutex_);
  if (!last_end_ || now - *last_end_ > kValid) return std::nullopt;
  return median_;
}

}  // namespace weir::dynamo
