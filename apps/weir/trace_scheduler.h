// Time that a trace tells.
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

/// A clock that stands until AdvanceTo, and tasks that run on the thread that advances it or waits
/// on it. AdvanceTo and Await are for one thread; all else as Scheduler says.
class TraceScheduler final : public Scheduler, private Clock {
 public:
  explicit TraceScheduler(UnixMillis start) : now_(start.value) {}

  const Clock& clock() const override { return *this; }
  void Post(Task task) override;
  TimerId At(Instant when, Task task) override;
  bool Cancel(TimerId id) override;

  /// Runs what is due up to `to`, each task at its own instant; then it is `to`. Time does not go
  /// backwards: an earlier `to` is now.
  void AdvanceTo(UnixMillis to);

  /// As weir::Await, but runs what is due now while it waits.
  template <class T, class Start>
  Result<T> Await(Start start) {
    Result<T> answer = Fail(Code::kInternal, "not answered");
    bool answered = false;
    start(Done<T>([this, &answer, &answered](Result<T> result) {
      const MutexLock lock(mutex_);
      answer = std::move(result);
      answered = true;
      changed_.notify_all();
    }));
    RunUntil([&answered] { return answered; });
    return answer;
  }

 private:
  using TaskKey = std::pair<Instant, TimerId>;

  Instant Now() const override;
  UnixMillis WallNow() const override { return {now_.load(std::memory_order_relaxed)}; }
  TimerId Add(Instant when, Task task) WEIR_REQUIRES(mutex_);
  /// Runs due tasks, and waits for more, until `done`, which is asked under the lock.
  void RunUntil(const std::function<bool()>& done);
  /// Runs it without the lock. False: nothing is due.
  bool RunFirstIfDue() WEIR_REQUIRES(mutex_);

  std::atomic<std::int64_t> now_;  ///< Unix milliseconds; written by the advancing thread only
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<TaskKey, Task> tasks_ WEIR_GUARDED_BY(mutex_);
  std::uint64_t last_id_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::app
