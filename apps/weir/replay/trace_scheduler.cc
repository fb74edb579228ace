#include "apps/weir/replay/trace_scheduler.h"

#include <algorithm>

namespace weir::app {
namespace {

constexpr std::int64_t kNanosPerMilli = 1'000'000;

/// Returns the time at which a task that is due at `when` runs, in whole milliseconds.
UnixMillis MomentOf(Instant when) {
  return {when.nanos / kNanosPerMilli + (when.nanos % kNanosPerMilli > 0 ? 1 : 0)};
}

}  // namespace

Instant TraceScheduler::Now() const { return {WallNow().value * kNanosPerMilli}; }

TimerId TraceScheduler::Add(Instant when, Task task) {
  const TimerId id{++last_id_};
  tasks_.emplace(TaskKey(when, id), std::move(task));
  changed_.notify_all();
  return id;
}

void TraceScheduler::Post(Task task) {
  const MutexLock lock(mutex_);
  Add(Now(), std::move(task));
}

TimerId TraceScheduler::At(Instant when, Task task) {
  const MutexLock lock(mutex_);
  return Add(when, std::move(task));
}

bool TraceScheduler::Cancel(TimerId id) {
  // Destroyed after the lock is released: its destructor may call this scheduler.
  Task cancelled;
  const MutexLock lock(mutex_);
  const auto found = std::find_if(tasks_.begin(), tasks_.end(),
                                  [id](const auto& entry) { return entry.first.second == id; });
  if (found == tasks_.end()) return false;
  cancelled = std::move(found->second);
  tasks_.erase(found);
  return true;
}

bool TraceScheduler::RunFirstIfDue() {
  if (tasks_.empty() || tasks_.begin()->first.first > Now()) return false;
  Task task = std::move(tasks_.begin()->second);
  tasks_.erase(tasks_.begin());
  mutex_.unlock();
  task();
  // The task's state may call this scheduler when it is destroyed, so it is destroyed without the
  // lock.
  task = nullptr;
  mutex_.lock();
  return true;
}

void TraceScheduler::RunUntil(const std::function<bool()>& done) {
  const MutexLock lock(mutex_);
  while (!done()) {
    if (!RunFirstIfDue()) changed_.wait(mutex_);
  }
}

// Moves the time to each task's instant before the task runs. Tasks may add tasks.
void TraceScheduler::AdvanceTo(UnixMillis to) {
  const MutexLock lock(mutex_);
  const UnixMillis until = std::max(to, WallNow());
  while (!tasks_.empty() && MomentOf(tasks_.begin()->first.first) <= until) {
    now_ = std::max(WallNow(), MomentOf(tasks_.begin()->first.first)).value;
    RunFirstIfDue();
  }
  now_ = until.value;
}

}  // namespace weir::app
