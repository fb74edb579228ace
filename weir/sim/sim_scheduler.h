// Simulated time: a clock and a scheduler that only move when a test says so.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/runtime/scheduler.h"

namespace weir::sim {

/// Starts at a large odd instant, so that code which assumes a time near zero fails early.
class SimClock final : public Clock {
 public:
  Instant Now() const override { return now_; }
  UnixMillis WallNow() const override { return wall_; }
  nanoseconds BootNow() const override { return boot_; }
  /// Moves all clocks. REQUIRES: d >= 0.
  void Advance(nanoseconds d);
  /// Suspends the machine for d: the monotonic clock stops, the wall clock goes on, and so does
  /// the time since boot if it is counted. REQUIRES: d >= 0.
  void Suspend(nanoseconds d, bool is_counted);
  /// Starts the machine again: the time since boot begins at zero.
  void Reboot() { boot_ = nanoseconds(0); }
  /// Sets the wall clock alone, forwards or backwards, as an operator does.
  void SetWall(UnixMillis wall);

 private:
  void AdvanceWall(nanoseconds d);

  Instant now_{86'400'000'000'007};
  nanoseconds boot_{7'200'011'000'000};
  UnixMillis wall_{1'767'225'600'013};
  nanoseconds wall_rest_{0};
};

/// Not thread-safe: a test and its tasks run on one thread. Tasks that are due at the same instant
/// run in the order they were scheduled, as scheduler.h promises. Where a seed is given they run in
/// an order drawn from it, posted tasks too, so that code which relies on an order that threads
/// would not keep fails early.
class SimScheduler final : public Scheduler {
 public:
  SimScheduler() = default;
  explicit SimScheduler(std::uint64_t seed) : shuffle_(true), rng_(seed) {}
  /// Destroys what is pending unrun.
  ~SimScheduler() override;

  const Clock& clock() const override { return clock_; }
  SimClock& sim_clock() { return clock_; }
  void Post(Task task) override;
  TimerId At(Instant when, Task task) override;
  bool Cancel(TimerId id) override;

  /// Runs what is due now, and what that schedules for now. Returns how many tasks ran.
  std::size_t RunReady();
  /// Moves time to the next task and runs it; false if there is none.
  bool RunNext();
  /// Moves time by d, running what falls due at its own instant on the way. Not from a task.
  void Advance(nanoseconds d);
  /// Runs until nothing is scheduled, at most `most` tasks; false if something still is.
  bool RunAll(std::size_t most = 1'000'000);
  std::size_t pending() const { return tasks_.size(); }

 private:
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
