// Simulated time for code that blocks.
#pragma once

#include "weir/sim/sim_scheduler.h"

namespace weir::sim {

/// Runs every task at once and moves the clock to the task's time: for callers that block until a
/// result is there.
class ImmediateScheduler final : public Scheduler {
 public:
  /// The clock must outlive it.
  explicit ImmediateScheduler(SimClock& clock) : clock_(clock) {}
  const Clock& clock() const override { return clock_; }
  void Post(Task task) override { task(); }
  TimerId At(Instant when, Task task) override {
    if (when > clock_.Now()) clock_.Advance(when - clock_.Now());
    task();
    return TimerId{1};
  }
  bool Cancel(TimerId) override { return false; }

 private:
  SimClock& clock_;
};

}  // namespace weir::sim
