// Runs callbacks one after the other: none within another one, and not too many at a time.
#pragma once

#include <vector>

#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// Runs the tasks on this thread. If it is called by a task that RunInTurn runs, the tasks run
/// after that one: a caller that asks again from its callback is not answered within it, however
/// often it does so. After kMostInTurn tasks in a row the others are posted to their schedulers, so
/// that a thread that came with one answer does not serve all callers. Under no lock; `scheduler`
/// must live until the tasks that are passed have run. A task that throws ends the process.
/// Thread-safe.
void RunInTurn(std::vector<Task> tasks, Scheduler& scheduler) noexcept;
inline constexpr std::size_t kMostInTurn = 256;

struct TurnTask {
  Task run;
  Scheduler* scheduler;  ///< of RunInTurn
};

/// While it lives, tasks that are to run on this thread wait, and run at its end.
class HeldTurn {
 public:
  HeldTurn() noexcept;
  ~HeldTurn();
  HeldTurn(const HeldTurn&) = delete;
  HeldTurn& operator=(const HeldTurn&) = delete;

 private:
  std::vector<TurnTask> tasks_;
  bool holds_;  // no other turn runs on this thread, or is held
};

}  // namespace weir::dynamo
