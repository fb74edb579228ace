// Runs callbacks one after the other on a thread: no callback runs within another one, and only a
// bounded number in a row.
#pragma once

#include <vector>

#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// Runs the tasks on this thread. If RunInTurn already runs on this thread, or a DeferredCallbacks
/// lives on it, the tasks are queued behind the current ones and RunInTurn returns at once. So a
/// caller that makes a new call in its callback does not get the result within that callback, and
/// the stack does not grow.
///
/// After kMaxInTurn tasks in a row the remaining tasks are posted to their schedulers, so that the
/// thread that delivers one response does not run the callbacks of all callers. The caller must
/// hold no lock. `scheduler` must outlive the tasks. A task that throws ends the process.
/// Thread-safe.
void RunInTurn(std::vector<Task> tasks, Scheduler& scheduler) noexcept;
inline constexpr std::size_t kMaxInTurn = 256;

struct TurnTask {
  Task run;
  Scheduler* scheduler;  ///< the one that was passed to RunInTurn with the task
};

/// Delays the tasks of RunInTurn on this thread until its destructor, which runs them. Does nothing
/// if another turn runs, or is held, on this thread.
class DeferredCallbacks {
 public:
  DeferredCallbacks() noexcept;
  ~DeferredCallbacks();
  DeferredCallbacks(const DeferredCallbacks&) = delete;
  DeferredCallbacks& operator=(const DeferredCallbacks&) = delete;

 private:
  std::vector<TurnTask> tasks_;
  bool holds_;  // this object holds the turn of the thread
};

}  // namespace weir::dynamo
