// The label clock: what audit events, usage and entities are stamped with. It follows the wall
// clock, but only after that has agreed with itself for a while. Mechanism: docs/design/time.md.
#pragma once

#include "weir/base/mutex.h"
#include "weir/base/time.h"
#include "weir/store/bucket_time.h"
#include "weir/telemetry/log.h"

namespace weir {

/// How the label clock's correction follows samples of the wall clock: it changes if ten samples,
/// no two of them within a second, differ from C by more than 2 s each and from each other by less
/// than 1 s. A value without I/O; not thread-safe.
class LabelCorrection {
 public:
  explicit LabelCorrection(milliseconds correction = {}) : correction_(correction) {}

  /// C = T + correction().
  milliseconds correction() const { return correction_; }
  /// The wall clock showed `wall` at bucket time `now`.
  void Sample(UnixMillis now, UnixMillis wall);

 private:
  milliseconds correction_;
  int count_ = 0;          // samples of the run
  milliseconds lowest_{};  // of wall - T in the run
  milliseconds highest_{};
  UnixMillis last_{};  // T of the latest sample of the run
};

/// Thread-safe. The clock of `time` must outlive it.
class LabelClock {
 public:
  /// `log`, which must outlive it, gets "clock.jumped" (warning: by_ms) when the correction follows
  /// a wall clock that was set.
  explicit LabelClock(BucketTime time, milliseconds correction = {}, Log& log = NoLog())
      : time_(time), log_(log), correction_(correction) {}

  /// Each call is a sample of the wall clock.
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
