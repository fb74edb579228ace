#include "weir/runtime/loop.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <optional>
#include <thread>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/runtime/callback_scope.h"
#include "weir/runtime/task_queue.h"

namespace weir {

class Loop::State {
 public:
  explicit State(const Clock& clock) : clock_(clock), thread_([this] { Run(); }) {}

  void Post(Task task) WEIR_EXCLUDES(mutex_);
  TimerId At(Instant when, Task task) WEIR_EXCLUDES(mutex_);
  bool Cancel(TimerId id) WEIR_EXCLUDES(mutex_);
  void Stop() WEIR_EXCLUDES(mutex_);

  const Clock& clock() const { return clock_; }
  bool InLoopThread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  void Run();
  /// Blocks until a task is due, and returns it. Returns nothing once the loop stops.
  std::optional<Task> Take() WEIR_EXCLUDES(mutex_);
  /// Sleeps until the first timer, a call of WakeFor, or Stop.
  void Sleep() WEIR_REQUIRES(mutex_);
  /// Wakes the thread if it sleeps beyond `when`.
  void WakeFor(Instant when) WEIR_REQUIRES(mutex_);

  // Constant after construction.
  const Clock& clock_;

  Mutex mutex_;
  std::condition_variable_any wake_;
  TaskQueue tasks_ WEIR_GUARDED_BY(mutex_);
  /// Set while the thread sleeps: when it wakes.
  std::optional<SteadyTime> asleep_until_ WEIR_GUARDED_BY(mutex_);
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;

  // The last member, because the thread uses all of the above as soon as it starts.
  std::thread thread_;
};

void Loop::State::Post(Task task) {
  MutexLock lock(mutex_);
  if (stopping_) return;
  const Instant now = clock_.Now();
  tasks_.Post(now, std::move(task));
  WakeFor(now);
}

TimerId Loop::State::At(Instant when, Task task) {
  MutexLock lock(mutex_);
  if (stopping_) return tasks_.SkipId();
  const TimerId id = tasks_.At(when, std::move(task));
  WakeFor(when);
  return id;
}

bool Loop::State::Cancel(TimerId id) {
  // Declared before the lock, so that the task is destroyed after the unlock. Stop does the same.
  std::optional<Task> cancelled;
  MutexLock lock(mutex_);
  cancelled = tasks_.Cancel(id);
  return cancelled.has_value();
}

void Loop::State::Stop() {
  TaskQueue unrun;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  thread_.join();
  MutexLock lock(mutex_);
  std::swap(unrun, tasks_);
}

void Loop::State::Run() {
  const CallbackScope scope;
  while (std::optional<Task> task = Take()) (*task)();
}

std::optional<Task> Loop::State::Take() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (std::optional<Task> task = tasks_.TakeDue(clock_)) return task;
    Sleep();
  }
  return std::nullopt;
}

void Loop::State::Sleep() {
  const SteadyTime until = WakeTime(clock_, tasks_.first_due());
  asleep_until_ = until;
  wake_.wait_until(mutex_, until);
  asleep_until_.reset();
}

void Loop::State::WakeFor(Instant when) {
  if (asleep_until_ && WakeTime(clock_, when) < *asleep_until_) wake_.notify_one();
}

Loop::Loop(const Clock& clock) : state_(std::make_unique<State>(clock)) {}

Loop::~Loop() { state_->Stop(); }

const Clock& Loop::clock() const { return state_->clock(); }

void Loop::Post(Task task) { state_->Post(std::move(task)); }

TimerId Loop::At(Instant when, Task task) { return state_->At(when, std::move(task)); }

bool Loop::Cancel(TimerId id) { return state_->Cancel(id); }

bool Loop::InLoopThread() const { return state_->InLoopThread(); }

}  // namespace weir
