// A scheduler whose time is set by a trace.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <utility>

#include "weir/base/done.h"
#include "weir/base/mutex.h"
#include "weir/runtime/scheduler.h"

namespace weir::app {

/// A clock that moves only in AdvanceTo. Tasks run on the thread that calls AdvanceTo or Await.
/// Only one thread may call these two; all other functions are as thread-safe as those of
/// Scheduler.
class TraceScheduler final : public Scheduler, private Clock {
 public:
  explicit TraceScheduler(UnixMillis start) : now_(start.value) {}

  const Clock& clock() const override { return *this; }
  void Post(Task task) override;
  TimerId At(Instant when, Task task) override;
  bool Cancel(TimerId id) override;

  /// Runs the tasks that are due up to `to`, each at its own instant, and sets the time to `to`.
  /// Time does not go backwards: an earlier `to` means now.
  void AdvanceTo(UnixMillis to);

  /// Like weir::Await, but runs due tasks while it waits.
  template <class T, class Start>
  Result<T> Await(Start start) {
    Result<T> awaited = Fail(Code::kInternal, "no result");
    bool is_done = false;
    start(Done<T>([this, &awaited, &is_done](Result<T> result) {
      const MutexLock lock(mutex_);
      awaited = std::move(result);
      is_done = true;
      changed_.notify_all();
    }));
    RunUntil([&is_done] { return is_done; });
    return awaited;
  }

 private:
  using TaskKey = std::pair<Instant, TimerId>;

  Instant Now() const override;
  UnixMillis WallNow() const override { return {now_.load(std::memory_order_relaxed)}; }
  TimerId Add(Instant when, Task task) WEIR_REQUIRES(mutex_);
  /// Runs due tasks, and waits for more, until `done` returns true. `done` is called under the
  /// lock.
  void RunUntil(const std::function<bool()>& done);
  /// Runs the first due task without the lock. Returns false if none is due.
  bool RunFirstIfDue() WEIR_REQUIRES(mutex_);

  std::atomic<std::int64_t> now_;  ///< Unix milliseconds; only the advancing thread writes it
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<TaskKey, Task> tasks_ WEIR_GUARDED_BY(mutex_);
  std::uint64_t last_id_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::app
