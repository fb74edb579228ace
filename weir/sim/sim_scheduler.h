// Simulated time: a clock and a scheduler that a test moves.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/runtime/scheduler.h"

namespace weir::sim {

/// Starts at a large odd instant: code that assumes a time near zero fails early.
class SimClock final : public Clock {
 public:
  Instant Now() const override { return now_; }
  UnixMillis WallNow() const override { return wall_; }
  nanoseconds BootNow() const override { return boot_; }
  /// Returns for how long the machine was suspended, as far as the other clocks counted it.
  nanoseconds suspended() const { return suspended_; }
  /// Moves all clocks. REQUIRES: d >= 0.
  void Advance(nanoseconds d);
  /// Suspends the machine for d: the wall clock continues, and so do the other clocks if
  /// `is_counted`. Tasks that become due run later, as after a real suspension. REQUIRES: d >= 0.
  void Suspend(nanoseconds d, bool is_counted);
  /// Restarts the machine: the time since boot begins at zero.
  void Reboot() { boot_ = nanoseconds(0); }
  /// Sets only the wall clock, forwards or backwards, as an operator does.
  void SetWall(UnixMillis wall);

 private:
  void AdvanceWall(nanoseconds d);

  Instant now_{86'400'000'000'007};
  nanoseconds boot_{7'200'011'000'000};
  nanoseconds suspended_{0};
  UnixMillis wall_{1'767'225'600'013};
  // the part of a millisecond that the wall clock does not show
  nanoseconds wall_rest_{0};
};

/// Not thread-safe: a test and its tasks run on one thread. Tasks that are due at the same instant
/// run in the order in which they were scheduled, as scheduler.h promises. With a seed they run in
/// an order drawn from it, posted tasks included: code that relies on an order that threads would
/// not keep fails early.
class SimScheduler final : public Scheduler {
 public:
  SimScheduler() = default;
  explicit SimScheduler(std::uint64_t seed) : shuffle_(true), rng_(seed) {}
  /// Destroys pending tasks without running them.
  ~SimScheduler() override;

  const Clock& clock() const override { return clock_; }
  SimClock& sim_clock() { return clock_; }
  void Post(Task task) override;
  TimerId At(Instant when, Task task) override;
  bool Cancel(TimerId id) override;

  /// Runs the tasks that are due now, and those that they schedule for now. Returns how many tasks
  /// ran.
  std::size_t RunReady();
  /// Moves time to the next task and runs it. Returns false if there is none.
  bool RunNext();
  /// Moves time by d and runs each task that becomes due at its own instant. Do not call it from a
  /// task.
  void Advance(nanoseconds d);
  /// Runs tasks until none is scheduled, at most `most`. Returns false if some remain.
  bool RunAll(std::size_t most = 1'000'000);
  std::size_t pending() const { return tasks_.size(); }

 private:
  // The time of a task and its rank among the tasks of that time.
  using Key = std::pair<Instant, std::uint64_t>;

  bool IsDue(Instant when) const { return !tasks_.empty() && tasks_.begin()->first.first <= when; }

  SimClock clock_;
  bool shuffle_ = false;
  Rng rng_{0};
  std::uint64_t next_id_ = 1;
  std::map<Key, std::pair<TimerId, Task>> tasks_;
  std::map<TimerId, Key> keys_;
};

}  // namespace weir::sim
