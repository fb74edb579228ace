#include "weir/runtime/loop.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "weir/base/mutex.h"

namespace weir {
namespace {

/// Bounds a sleep, so that an instant that is never reached does not overflow the arithmetic.
constexpr nanoseconds kLongestSleep = std::chrono::hours(24 * 365);

std::chrono::steady_clock::time_point WakeAt(nanoseconds from_now) {
  return std::chrono::steady_clock::now() + std::min(from_now, kLongestSleep);
}

}  // namespace

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
  /// The order of all tasks: the instant, then the number of the call. The instant of a posted task
  /// is that of its Post.
  using Key = std::pair<Instant, std::uint64_t>;

  void Run();
  /// Blocks until a task is due, and returns it. Returns nothing once the loop stops.
  std::optional<Task> Take() WEIR_EXCLUDES(mutex_);
  /// Returns the first task in the order of Key, if it is due.
  std::optional<Task> TakeDue() WEIR_REQUIRES(mutex_);
  std::optional<Task> TakePost() WEIR_REQUIRES(mutex_);
  std::optional<Task> TakeTimer() WEIR_REQUIRES(mutex_);
  /// Sleeps until the first timer, a call of WakeFor, or Stop.
  void Sleep() WEIR_REQUIRES(mutex_);
  /// Wakes the thread if it sleeps beyond `when`.
  void WakeFor(Instant when) WEIR_REQUIRES(mutex_);

  // Constant after construction.
  const Clock& clock_;

  Mutex mutex_;
  std::condition_variable_any wake_;
  // In order, because the clock does not go backwards and is read under the lock.
  std::deque<std::pair<Key, Task>> posts_ WEIR_GUARDED_BY(mutex_);
  std::map<Key, Task> timers_ WEIR_GUARDED_BY(mutex_);
  /// The instants of timers_, by timer id, for Cancel.
  std::unordered_map<std::uint64_t, Instant> instants_ WEIR_GUARDED_BY(mutex_);
  std::uint64_t next_id_ WEIR_GUARDED_BY(mutex_) = 1;
  /// Set while the thread sleeps: the instant at which it wakes.
  std::optional<Instant> asleep_until_ WEIR_GUARDED_BY(mutex_);
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;

  // The last member, because the thread uses all of the above as soon as it starts.
  std::thread thread_;
};

void Loop::State::Post(Task task) {
  MutexLock lock(mutex_);
  if (stopping_) return;
  const Instant now = clock_.Now();
  posts_.emplace_back(Key(now, next_id_++), std::move(task));
  WakeFor(now);
}

TimerId Loop::State::At(Instant when, Task task) {
  MutexLock lock(mutex_);
  const std::uint64_t id = next_id_++;
  if (stopping_) return TimerId{id};
  timers_.emplace(Key(when, id), std::move(task));
  instants_.emplace(id, when);
  WakeFor(when);
  return TimerId{id};
}

bool Loop::State::Cancel(TimerId id) {
  // Declared before the lock, so that the task is destroyed after the unlock. Stop does the same.
  Task cancelled;
  MutexLock lock(mutex_);
  const auto found = instants_.find(std::to_underlying(id));
  if (found == instants_.end()) return false;
  const auto timer = timers_.find(Key(found->second, found->first));
  cancelled = std::move(timer->second);
  timers_.erase(timer);
  instants_.erase(found);
  return true;
}

void Loop::State::Stop() {
  std::deque<std::pair<Key, Task>> posts;
  std::map<Key, Task> timers;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  thread_.join();
  MutexLock lock(mutex_);
  posts.swap(posts_);
  timers.swap(timers_);
  instants_.clear();
}

void Loop::State::Run() {
  while (std::optional<Task> task = Take()) (*task)();
}

std::optional<Task> Loop::State::Take() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (std::optional<Task> task = TakeDue()) return task;
    Sleep();
  }
  return std::nullopt;
}

std::optional<Task> Loop::State::TakeDue() {
  const bool timer_first =
      !timers_.empty() && (posts_.empty() || timers_.begin()->first < posts_.front().first);
  if (!timer_first) return TakePost();
  // A timer that precedes a post is due: the post's instant is in the past.
  const bool due = !posts_.empty() || timers_.begin()->first.first <= clock_.Now();
  return due ? TakeTimer() : std::nullopt;
}

std::optional<Task> Loop::State::TakePost() {
  if (posts_.empty()) return std::nullopt;
  std::optional<Task> task = std::move(posts_.front().second);
  posts_.pop_front();
  return task;
}

std::optional<Task> Loop::State::TakeTimer() {
  const auto first = timers_.begin();
  std::optional<Task> task = std::move(first->second);
  instants_.erase(first->first.second);
  timers_.erase(first);
  return task;
}

void Loop::State::Sleep() {
  const Instant until = timers_.empty() ? Instant{INT64_MAX} : timers_.begin()->first.first;
  asleep_until_ = until;
  wake_.wait_until(mutex_, WakeAt(until - clock_.Now()));
  asleep_until_.reset();
}

void Loop::State::WakeFor(Instant when) {
  if (asleep_until_ && when < *asleep_until_) wake_.notify_one();
}

Loop::Loop(const Clock& clock) : state_(std::make_unique<State>(clock)) {}

Loop::~Loop() { state_->Stop(); }

const Clock& Loop::clock() const { return state_->clock(); }

void Loop::Post(Task task) { state_->Post(std::move(task)); }

TimerId Loop::At(Instant when, Task task) { return state_->At(when, std::move(task)); }

bool Loop::Cancel(TimerId id) { return state_->Cancel(id); }

bool Loop::InLoopThread() const { return state_->InLoopThread(); }

}  // namespace weir
