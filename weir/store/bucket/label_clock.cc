#include "weir/store/bucket/label_clock.h"

#include <algorithm>

namespace weir {
namespace {

constexpr int kSamples = 10;
constexpr milliseconds kSpacing{1000};  // ten samples take about 10 s
constexpr milliseconds kTolerance{2000};
constexpr milliseconds kAgreement{1000};

}  // namespace

void LabelCorrection::Sample(UnixMillis now, UnixMillis wall) {
  const milliseconds offset = wall - now;
  const milliseconds error = offset - correction_;
  if (error >= -kTolerance && error <= kTolerance) {
    count_ = 0;
    return;
  }
  // The samples since the last agreement with C, all within kAgreement of each other, form a run. A
  // sample that does not fit starts a new run.
  const bool is_in_run =
      count_ > 0 && std::max(highest_, offset) - std::min(lowest_, offset) < kAgreement;
  if (!is_in_run) {
    count_ = 1;
    lowest_ = highest_ = offset;
    last_ = now;
    return;
  }
  // A sample within a second of the last counted one extends the range, but does not count.
  lowest_ = std::min(lowest_, offset);
  highest_ = std::max(highest_, offset);
  if (now - last_ < kSpacing) return;
  last_ = now;
  if (++count_ < kSamples) return;
  correction_ = offset;
  count_ = 0;
}

UnixMillis LabelClock::Now() {
  const UnixMillis now = time_.Now();
  const UnixMillis wall = time_.clock().WallNow();
  milliseconds before{0};
  milliseconds after{0};
  {
    const MutexLock lock(mutex_);
    before = correction_.correction();
    correction_.Sample(now, wall);
    after = correction_.correction();
  }
  if (after != before) {
    const LogField by{"by_ms", std::int64_t{(after - before).count()}};
    log_.Write(LogLevel::kWarning, "clock.jumped", {&by, 1});
  }
  return now + after;
}

milliseconds LabelClock::correction() const {
  const MutexLock lock(mutex_);
  return correction_.correction();
}

}  // namespace weir
