// A timer that fires at the earliest of the instants that were requested.
#pragma once

#include <optional>
#include <utility>

#include "weir/base/time.h"
#include "weir/runtime/scheduler.h"

namespace weir {

/// At most one task is scheduled. Not thread-safe: its owner locks. The scheduler must outlive it.
class EarliestTimer {
 public:
  explicit EarliestTimer(Scheduler& scheduler) : scheduler_(scheduler) {}

  /// Schedules `task` at `when` in place of the scheduled task, unless the scheduled task runs
  /// earlier.
  void FireAt(Instant when, Task task) {
    if (timer_ && at_ <= when) return;
    Cancel();
    at_ = when;
    timer_ = scheduler_.At(when, std::move(task));
  }
  /// To be called when the task runs.
  void MarkFired() { timer_.reset(); }
  void Cancel() {
    if (timer_) scheduler_.Cancel(*timer_);
    timer_.reset();
  }

 private:
  Scheduler& scheduler_;
  std::optional<TimerId> timer_;
  Instant at_;
};

}  // namespace weir
