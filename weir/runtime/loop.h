// The one Scheduler that is backed by a thread.
#pragma once

#include <memory>

#include "weir/runtime/scheduler.h"

namespace weir {

/// Runs tasks on a thread of its own, which sleeps until the next one is due. The destructor lets
/// the task that runs finish, destroys the others unrun, and joins the thread; it must not be called
/// from a task.
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
  bool InLoopThread() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace weir
