// Bucket time: T = base + B, B being the machine's time since boot. Mechanism: docs/design/time.md.
#pragma once

#include <chrono>

#include "weir/base/time.h"

namespace weir {

/// A stored time up to this far ahead of T stays, and nothing is refilled until T reaches it. One
/// that is further ahead was written under a wrong clock and is set to T.
inline constexpr milliseconds kMostAhead{60'000};

/// Starts from one or more readings of the wall clock and never follows it afterwards. A value; the
/// clock must outlive it. Thread-safe if the clock is.
class BucketTime {
 public:
  /// `base` is the time at which B was zero.
  BucketTime(const Clock& clock, UnixMillis base) : clock_(&clock), base_(base) {}
  /// By one reading of the wall clock, so that T is the wall time now.
  static BucketTime FromWall(const Clock& clock);
  /// By the median of three readings, so that a single wrong one has no effect.
  static BucketTime FromMedian(const Clock& clock);

  /// Whole milliseconds. Never goes backwards until the machine is started again.
  UnixMillis Now() const { return base_ + std::chrono::floor<milliseconds>(clock_->BootNow()); }
  UnixMillis base() const { return base_; }
  const Clock& clock() const { return *clock_; }

 private:
  const Clock* clock_;
  UnixMillis base_;
};

/// True if a stored time is so far ahead that it is to be set to T.
inline bool IsFarAhead(UnixMillis stored, UnixMillis now) { return stored > now + kMostAhead; }

}  // namespace weir
