// The Scheduler that is backed by a thread of its own and needs nothing else.
#pragma once

#include <memory>

#include "weir/base/api.h"
#include "weir/runtime/scheduler.h"

namespace weir {

/// Runs tasks on a thread of its own, which sleeps until the next one is due.
///
/// The destructor lets the running task finish, joins the thread, and destroys the other tasks
/// unrun, on the thread that destroys the loop. It must not be called from a task. A task that is
/// added while the loop is being destroyed (by a task, or by the destructor of an object that a
/// task owns) is destroyed unrun as well.
class WEIR_API Loop final : public Scheduler {
 public:
  /// `clock` must outlive the loop and must be a real clock: the thread sleeps by the machine's
  /// monotonic clock.
  explicit Loop(const Clock& clock);
  ~Loop() override;

  const Clock& clock() const override;
  void Post(Task task) override;
  TimerId At(Instant when, Task task) override;
  bool Cancel(TimerId id) override;
  /// Returns true in a task of this loop.
  bool InLoopThread() const;

 private:
  class WEIR_INTERNAL State;
  std::unique_ptr<State> state_;
};

}  // namespace weir
