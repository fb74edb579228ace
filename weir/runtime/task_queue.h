// The pending tasks of a Scheduler.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "weir/runtime/scheduler.h"

namespace weir {

/// A time of the clock by which threads sleep. It does not count a suspension, and Instants do.
using SteadyTime = std::chrono::steady_clock::time_point;
/// Returns when a thread must wake for a task that is due at `when`: at most a year from now, and
/// not before now.
SteadyTime WakeTime(const Clock& clock, Instant when);

/// Stores posted tasks and timers in the order that Scheduler promises. Not thread-safe: a
/// scheduler calls it under its lock, and runs and destroys the tasks outside it.
class TaskQueue {
 public:
  /// `now` must not go backwards from call to call.
  void Post(Instant now, Task task);
  TimerId At(Instant when, Task task);
  /// Returns the task if it is still pending.
  std::optional<Task> Cancel(TimerId id);
  /// Removes and returns the first task in the order, if it is due.
  std::optional<Task> TakeDue(const Clock& clock);
  /// Returns the instant at which the first task is due; Instant{INT64_MAX} if there is none.
  Instant first_due() const;
  /// Returns an id for a timer that is not stored, because the scheduler is stopping.
  TimerId SkipId() { return TimerId{next_id_++}; }

 private:
  /// The order of all tasks: the instant, then the number of the call. The instant of a posted task
  /// is that of its Post.
  using Key = std::pair<Instant, std::uint64_t>;

  std::optional<Task> TakePost();
  std::optional<Task> TakeTimer();

  // In order, because the clock does not go backwards.
  std::deque<std::pair<Key, Task>> posts_;
  std::map<Key, Task> timers_;
  /// The instants of timers_, by timer id, for Cancel.
  std::unordered_map<std::uint64_t, Instant> instants_;
  std::uint64_t next_id_ = 1;
};

}  // namespace weir
