#include "weir/aws/http/io_loop.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "weir/runtime/callback_scope.h"

namespace weir::internal {
namespace {

constexpr Instant kNever{INT64_MAX};

}  // namespace

Result<std::unique_ptr<IoLoop>> IoLoop::Start(const Clock& clock, Task on_time) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::unique_ptr<IoLoop> loop(new IoLoop(clock, std::move(on_time), epoll, wake));
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake}};
  if (epoll < 0 || wake < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event) != 0) {
    return Fail(Code::kUnavailable, "the system has no descriptor for a loop of the network");
  }
  try {
    loop->thread_ = std::thread([self = loop.get()] { self->Run(); });
  } catch (const std::system_error& error) {
    return Fail(Code::kUnavailable,
                fmt::format("no thread for a loop of the network: {}", error.code().message()));
  }
  return loop;
}

IoLoop::IoLoop(const Clock& clock, Task on_time, int epoll, int wake)
    : clock_(clock), on_time_(std::move(on_time)), epoll_(epoll), wake_(wake) {}

IoLoop::~IoLoop() {
  if (epoll_ >= 0) close(epoll_);
  if (wake_ >= 0) close(wake_);
}

void IoLoop::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  Wake();
  thread_.join();
}

bool IoLoop::Watch(int descriptor, std::shared_ptr<IoHandler> handler) {
  const MutexLock lock(mutex_);
  handlers_.insert_or_assign(descriptor, std::move(handler));
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                    .data = {.fd = descriptor}};
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0) return true;
  handlers_.erase(descriptor);
  return false;
}

void IoLoop::Unwatch(int descriptor) {
  std::shared_ptr<IoHandler> released;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  const auto found = handlers_.find(descriptor);
  if (found == handlers_.end()) return;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
  released = std::move(found->second);
  handlers_.erase(found);
}

void IoLoop::Post(Task task) {
  {
    const MutexLock lock(mutex_);
    posted_.push_back(std::move(task));
  }
  Wake();
}

void IoLoop::WakeAt(Instant at) {
  {
    const MutexLock lock(mutex_);
    const bool sooner = at < wake_at_;
    wake_at_ = at;
    // The loop's thread reads the new time before it waits again.
    if (!sooner || std::this_thread::get_id() == thread_.get_id()) return;
  }
  Wake();
}

void IoLoop::Wake() {
  const std::uint64_t one = 1;
  // Fails only if the counter is full; then the thread has not woken yet.
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
}

void IoLoop::Run() {
  const CallbackScope scope;
  std::array<epoll_event, 64> events{};
  while (const std::optional<Instant> until = RunDue()) {
    const int count = epoll_wait(epoll_, events.data(), events.size(), MillisTo(*until));
    for (int i = 0; i < count; ++i) DispatchEvent(events[static_cast<std::size_t>(i)].data.fd);
  }
}

std::optional<Instant> IoLoop::RunDue() {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      if (stopping_) return std::nullopt;
      if (wake_at_ == kNever || clock_.Now() < wake_at_) return wake_at_;
      // `on_time` may set another time, even one that has already come: so this is a loop.
      wake_at_ = kNever;
    }
    on_time_();
  }
}

/// Rounds up, so that the wait does not end before `until`. Returns -1 for kNever.
int IoLoop::MillisTo(Instant until) const {
  constexpr std::int64_t kNanosPerMilli = 1'000'000, kMaxMillis = 3'600'000;
  if (until == kNever) return -1;
  const std::int64_t left = (until - clock_.Now()).count();
  return static_cast<int>(
      std::clamp((left + kNanosPerMilli - 1) / kNanosPerMilli, std::int64_t{0}, kMaxMillis));
}

void IoLoop::DispatchEvent(int descriptor) {
  if (descriptor == wake_) return RunPosted();
  std::shared_ptr<IoHandler> handler;
  {
    const MutexLock lock(mutex_);
    if (const auto found = handlers_.find(descriptor); found != handlers_.end()) {
      handler = found->second;
    }
  }
  // A descriptor that was closed in the meantime may now be that of another connection, whose
  // handler tolerates a call without a change.
  if (handler != nullptr) handler->OnReady();
}

void IoLoop::RunPosted() {
  std::uint64_t count = 0;
  // Read before the tasks are taken: a task that is posted in between wakes the thread again.
  [[maybe_unused]] const ssize_t taken = read(wake_, &count, sizeof(count));
  std::vector<Task> posted;
  {
    const MutexLock lock(mutex_);
    posted.swap(posted_);
  }
  for (Task& task : posted) task();
}

}  // namespace weir::internal
