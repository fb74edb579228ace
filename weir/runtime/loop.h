// The one Scheduler that is backed by a thread.
#pragma once

#include <memory>

#include "weir/runtime/scheduler.h"

namespace weir {

/// Runs tasks on a thread of its own, which sleeps until the next one is due.
///
/// The destructor lets the task that runs finish, joins the thread, and destroys the other tasks
/// unrun, on the thread that destroys the loop. It must not be called from a task. A task that is
/// given to the loop while it is being destroyed (by a task, or by what a task owns) is destroyed
/// unrun as well.
class Loop final : public Scheduler {
 public:
  /// `clock` must outlive it, and must be a real one: the thread sleeps by the machine's monotonic
  /// clock.
  explicit Loop(const Clock& clock);
  ~Loop() override;

  const Clock& clock() const override;
  void Post(Task task) override;
  TimerId At(Instant when, Task task) override;
  bool Cancel(TimerId id) override;
  /// True in a task of this loop.
  bool InLoopThread() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace weir
