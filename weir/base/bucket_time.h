// Bucket time: T = base + B, where B is the machine's time since boot. Mechanism:
// docs/design/time.md.
#pragma once

#include <chrono>

#include "weir/base/api.h"
#include "weir/base/time.h"

namespace weir {

/// In memory and in a file, a stored time that is ahead of T by at most this stays unchanged, and
/// tokens are not refilled until T reaches it. A time further ahead was written under a wrong
/// clock, and is set to T.
inline constexpr milliseconds kMaxAhead{60'000};

/// Takes its base from one or more readings of the wall clock, and does not follow the wall clock
/// afterwards. A value; the clock must outlive it. Thread-safe if the clock is.
class WEIR_API BucketTime {
 public:
  /// `base` is the time at which B was 0.
  BucketTime(const Clock& clock, UnixMillis base) : clock_(&clock), base_(base) {}
  /// Takes one reading of the wall clock, so that T is the wall time now.
  static BucketTime FromWall(const Clock& clock);
  /// Takes the median of three readings, so that a single wrong reading has no effect.
  static BucketTime FromMedian(const Clock& clock);

  /// Returns T in whole milliseconds. It does not go backwards until the machine is restarted.
  UnixMillis Now() const { return base_ + std::chrono::floor<milliseconds>(clock_->BootNow()); }
  UnixMillis base() const { return base_; }
  const Clock& clock() const { return *clock_; }

 private:
  const Clock* clock_;
  UnixMillis base_;
};

/// Returns true if a stored time is so far ahead that it must be set to T.
inline bool IsFarAhead(UnixMillis stored, UnixMillis now) { return stored > now + kMaxAhead; }

}  // namespace weir
