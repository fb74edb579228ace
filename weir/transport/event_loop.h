// A Scheduler whose thread also waits for sockets.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "weir/base/result.h"
#include "weir/runtime/scheduler.h"

namespace boost::asio {
class io_context;  // NOLINT(readability-identifier-naming): a library's
}  // namespace boost::asio

namespace weir::transport {

/// Runs tasks and handlers of descriptors on a thread of its own, which sleeps until one of them is
/// ready. After 64 tasks in a row the sockets have their turn, so that neither holds up the other.
///
/// The destructor lets the running task finish, joins the thread, and destroys the other tasks
/// unrun, on the thread that destroys the loop. It must not be called from a task, and not before
/// the descriptors of the loop (fd_watch.h) are gone. A task that is added while the loop is being
/// destroyed is destroyed unrun as well.
class EventLoop final : public Scheduler {
 public:
  /// `clock` must outlive the loop. The thread sleeps, by the machine's monotonic clock, for the
  /// time that remains by `clock`. If the two clocks differ, a call of Post makes the loop read
  /// `clock` again. Returns kUnavailable if the system has no descriptor or thread.
  static Result<std::unique_ptr<EventLoop>> Start(const Clock& clock);
  ~EventLoop() override;

  const Clock& clock() const override;
  void Post(Task task) override;
  TimerId At(Instant when, Task task) override;
  bool Cancel(TimerId id) override;
  /// Returns true in a task or handler of this loop.
  bool InLoopThread() const;
  /// Runs `task` on the loop and returns when it has ended. Not to be called on a loop's thread.
  void RunAndWait(Task task);

  /// For fd_watch.cc only.
  boost::asio::io_context& io();

 private:
  class State;
  explicit EventLoop(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The loops of a program, each with a thread.
using EventLoops = std::vector<std::unique_ptr<EventLoop>>;

/// Starts `count` loops. REQUIRES: count >= 1.
Result<EventLoops> StartLoops(const Clock& clock, std::size_t count);

}  // namespace weir::transport
