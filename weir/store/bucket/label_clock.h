// The label clock, which gives audit events, usage and entities their times. It follows the wall
// clock, but only after the wall clock has been consistent for a while. Mechanism:
// docs/design/time.md.
#pragma once

#include "weir/base/bucket_time.h"
#include "weir/base/mutex.h"
#include "weir/base/time.h"
#include "weir/telemetry/log.h"

namespace weir {

/// Decides when the label clock C follows samples of the wall clock. C is corrected when ten
/// samples in a row, each at least a second after the one before, differ from C by more than 2 s
/// each and from each other by less than 1 s. A value without I/O; not thread-safe.
class LabelCorrection {
 public:
  explicit LabelCorrection(milliseconds correction = {}) : correction_(correction) {}

  /// Returns C - T, where T is bucket time.
  milliseconds correction() const { return correction_; }
  /// Records that the wall clock showed `wall` at bucket time `now`.
  void Sample(UnixMillis now, UnixMillis wall);

 private:
  milliseconds correction_;
  int count_ = 0;          // the samples of the present run
  milliseconds lowest_{};  // the lowest difference wall - T in the run
  milliseconds highest_{};
  UnixMillis last_{};  // T of the latest counted sample of the run
};

/// Thread-safe. The clock of `time` must outlive it.
class LabelClock {
 public:
  /// `log` receives "clock.jumped" (warning: by_ms) when the correction follows a wall clock that
  /// was set. It must outlive this object.
  explicit LabelClock(BucketTime time, milliseconds correction = {}, Log& log = NoLog())
      : time_(time), log_(log), correction_(correction) {}

  /// Returns C. Each call takes a sample of the wall clock.
  UnixMillis Now();
  milliseconds correction() const;
  const BucketTime& time() const { return time_; }

 private:
  const BucketTime time_;
  Log& log_;
  mutable Mutex mutex_;
  LabelCorrection correction_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
