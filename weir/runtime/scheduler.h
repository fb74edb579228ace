// Decides when code runs: now, or at an instant. Protocols use this interface with real or
// simulated time.
#pragma once

#include <cstdint>
#include <functional>

#include "weir/base/api.h"
#include "weir/base/time.h"

namespace weir {

using Task = std::move_only_function<void()>;

/// Identifies one pending task of one Scheduler. 0 is never used.
enum class TimerId : std::uint64_t {};

/// Runs tasks one after the other. Each task is destroyed, with the objects that it owns, before
/// the next one runs. Tasks are run and destroyed outside any lock. All calls may come from any
/// thread, also from within a task. Tasks must not throw and must not block. Implementations: Loop
/// (runtime/loop.h, a thread), EventLoop (transport/event_loop.h, a thread that waits for sockets
/// too) and SimScheduler (sim/, stepped by a test).
class WEIR_API Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// Returns the clock that `At` uses.
  virtual const Clock& clock() const = 0;
  /// Runs `task` as soon as possible. Equivalent to At(clock().Now()): the task runs after the
  /// tasks that were posted before it and after the timers that are due, and before timers that
  /// become due later.
  virtual void Post(Task task) = 0;
  /// Runs `task` at `when`, or as soon as possible after it. Tasks of equal instants run in the
  /// order of the calls.
  virtual TimerId At(Instant when, Task task) = 0;
  /// Returns true if the task had not started; then it never runs, and is destroyed before Cancel
  /// returns or soon after. Returns false if it has run, is running, or was cancelled before.
  virtual bool Cancel(TimerId id) = 0;
};

}  // namespace weir
