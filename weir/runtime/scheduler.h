// When code runs: now, or at an instant. The seam between protocols and real or simulated time.
#pragma once

#include <cstdint>
#include <functional>

#include "weir/base/time.h"

namespace weir {

using Task = std::move_only_function<void()>;

/// Names one pending task of one Scheduler. 0 is never used.
enum class TimerId : std::uint64_t {};

/// Runs tasks one after the other, each outside any lock, and destroys each, with what it owns,
/// before the next one runs, outside any lock too. All calls may come from any thread, also from
/// within a task. Tasks must not throw and must not block. Implementations: Loop (runtime/loop.h, a
/// thread) and SimScheduler (sim/, stepped by a test).
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// The clock that `At` counts on.
  virtual const Clock& clock() const = 0;
  /// Runs `task` as soon as may be: as At(clock().Now()), so after those posted before and after
  /// the timers that are due, and ahead of those that become due later.
  virtual void Post(Task task) = 0;
  /// Runs `task` at `when` or as soon as may be after it; equal instants in order of the calls.
  virtual TimerId At(Instant when, Task task) = 0;
  /// True if the task had not started; then it never runs, and is destroyed before this returns
  /// or soon after. False if it ran, runs, or was cancelled before.
  virtual bool Cancel(TimerId id) = 0;
};

}  // namespace weir
