#include "weir/transport/event_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/runtime/callback_scope.h"
#include "weir/runtime/task_queue.h"

namespace weir::transport {
namespace {

namespace asio = boost::asio;

constexpr int kTasksInARow = 64;
constexpr SteadyTime kNoAlarm = SteadyTime::max();

}  // namespace

class EventLoop::State {
 public:
  explicit State(const Clock& loop_clock) : clock(loop_clock) {}

  void StartThread() {
    thread_ = std::thread([this] { Run(); });
  }
  void Post(Task task) WEIR_EXCLUDES(mutex_);
  TimerId At(Instant when, Task task) WEIR_EXCLUDES(mutex_);
  bool Cancel(TimerId id) WEIR_EXCLUDES(mutex_);
  void Stop() WEIR_EXCLUDES(mutex_);
  bool InLoopThread() const { return std::this_thread::get_id() == thread_.get_id(); }

  const Clock& clock;
  asio::io_context io{1};

 private:
  void Run();
  /// Runs tasks that are due. Returns true if others may be due.
  bool RunTasks() WEIR_EXCLUDES(mutex_);
  /// Returns the next task that is due. If there is none, notes that the thread will sleep.
  std::optional<Task> Take() WEIR_EXCLUDES(mutex_);
  bool IsStopping() WEIR_EXCLUDES(mutex_);
  /// Wakes the thread if it would sleep beyond `when`.
  void WakeFor(Instant when) WEIR_REQUIRES(mutex_);
  /// Sets the alarm, unless it rings early enough already. On the loop's thread only.
  void SetAlarm(Instant first);

  asio::executor_work_guard<asio::io_context::executor_type> work_{io.get_executor()};
  asio::steady_timer alarm_{io};
  /// When the alarm rings; set on the loop's thread only.
  std::atomic<SteadyTime> alarm_at_ = kNoAlarm;

  Mutex mutex_;
  TaskQueue tasks_ WEIR_GUARDED_BY(mutex_);
  /// The thread may be asleep, until the alarm, and was not woken.
  bool may_sleep_ WEIR_GUARDED_BY(mutex_) = false;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

void EventLoop::State::Post(Task task) {
  const MutexLock lock(mutex_);
  if (stopping_) return;
  const Instant now = clock.Now();
  tasks_.Post(now, std::move(task));
  WakeFor(now);
}

TimerId EventLoop::State::At(Instant when, Task task) {
  const MutexLock lock(mutex_);
  if (stopping_) return tasks_.SkipId();
  const TimerId id = tasks_.At(when, std::move(task));
  WakeFor(when);
  return id;
}

bool EventLoop::State::Cancel(TimerId id) {
  // Declared before the lock, so that the task is destroyed after the unlock. Stop does the same.
  std::optional<Task> cancelled;
  const MutexLock lock(mutex_);
  cancelled = tasks_.Cancel(id);
  return cancelled.has_value();
}

void EventLoop::State::Stop() {
  TaskQueue unrun;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  asio::post(io, [] {});
  thread_.join();
  const MutexLock lock(mutex_);
  std::swap(unrun, tasks_);
}

// The loop's own thread looks for tasks after each handler, so it needs no waking.
void EventLoop::State::WakeFor(Instant when) {
  if (!may_sleep_ || InLoopThread() || WakeTime(clock, when) >= alarm_at_.load()) return;
  may_sleep_ = false;
  asio::post(io, [] {});
}

void EventLoop::State::Run() {
  const CallbackScope scope;
  while (!IsStopping()) RunTasks() ? io.poll_one() : io.run_one();
}

bool EventLoop::State::IsStopping() {
  const MutexLock lock(mutex_);
  return stopping_;
}

bool EventLoop::State::RunTasks() {
  for (int i = 0; i < kTasksInARow; ++i) {
    std::optional<Task> task = Take();
    if (!task) return false;
    (*task)();
  }
  return true;
}

std::optional<Task> EventLoop::State::Take() {
  Instant first;
  {
    const MutexLock lock(mutex_);
    if (stopping_) return std::nullopt;
    if (std::optional<Task> task = tasks_.TakeDue(clock)) return task;
    first = tasks_.first_due();
    may_sleep_ = true;
  }
  SetAlarm(first);
  return std::nullopt;
}

// An alarm that rings too early is set again. Each request postpones timers of its connection, so
// this is cheaper than postponing the alarm each time.
void EventLoop::State::SetAlarm(Instant first) {
  const SteadyTime at = WakeTime(clock, first);
  if (at >= alarm_at_.load()) return;
  alarm_at_ = at;
  alarm_.expires_at(at);
  alarm_.async_wait([this](const boost::system::error_code& error) {
    if (!error) alarm_at_ = kNoAlarm;
  });
}

Result<std::unique_ptr<EventLoop>> EventLoop::Start(const Clock& clock) {
  try {
    auto state = std::make_unique<State>(clock);
    state->StartThread();
    return std::unique_ptr<EventLoop>(new EventLoop(std::move(state)));
  } catch (const std::runtime_error& error) {  // the common base of Boost's and std's system_error
    return Fail(Code::kUnavailable,
                fmt::format("no event loop: the system has no thread or descriptor left: {}",
                            error.what()));
  }
}

EventLoop::EventLoop(std::unique_ptr<State> state) : state_(std::move(state)) {}

EventLoop::~EventLoop() { state_->Stop(); }

const Clock& EventLoop::clock() const { return state_->clock; }

void EventLoop::Post(Task task) { state_->Post(std::move(task)); }

TimerId EventLoop::At(Instant when, Task task) { return state_->At(when, std::move(task)); }

bool EventLoop::Cancel(TimerId id) { return state_->Cancel(id); }

bool EventLoop::InLoopThread() const { return state_->InLoopThread(); }

void EventLoop::RunAndWait(Task task) {
  std::promise<void> done;
  Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

asio::io_context& EventLoop::io() { return state_->io; }

Result<EventLoops> StartLoops(const Clock& clock, std::size_t count) {
  EventLoops loops;
  for (std::size_t i = 0; i < count; ++i) {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<EventLoop> loop, EventLoop::Start(clock));
    loops.push_back(std::move(loop));
  }
  return loops;
}

}  // namespace weir::transport
