#include "apps/weir/terminal/signal_pipe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

namespace weir::app {
namespace {

// The handler writes signals to this pipe, on any thread. It is never closed: a signal may arrive
// at any time.
std::array<int, 2> signal_pipe = {-1, -1};

std::int64_t MonotonicTime() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// A write of this size is atomic (PIPE_BUF). If the pipe is full, the reader wakes up anyway.
void Note(const CaughtSignal& caught) {
  [[maybe_unused]] const ssize_t written = write(signal_pipe[1], &caught, sizeof caught);
}

void Handle(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  const bool is_sent = info->si_code == SI_USER || info->si_code == SI_QUEUE;
  Note({.number = signal, .sender = is_sent ? info->si_pid : 0, .at = MonotonicTime()});
  errno = saved;
}

}  // namespace

bool IsCaught(int signal) {
  struct sigaction action = {};
  sigaction(signal, nullptr, &action);
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == Handle;
}

Status CatchSignals(std::span<const int> signals) {
  if (signal_pipe[0] < 0 && pipe2(signal_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Fail(Code::kResourceExhausted,
                fmt::format("no pipe for signals: {}", std::strerror(errno)));
  }
  struct sigaction action = {};
  action.sa_sigaction = Handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int signal : signals) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    // Signals that nohup(1) and similar programs ignore remain ignored, for a child too.
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  return {};
}

std::optional<CaughtSignal> ReadSignal() {
  CaughtSignal caught;
  if (read(signal_pipe[0], &caught, sizeof caught) != sizeof caught) return std::nullopt;
  return caught;
}

void AwaitSignal(nanoseconds most) {
  constexpr std::int64_t kLongest = 1'000'000'000;
  pollfd events{.fd = signal_pipe[0], .events = POLLIN, .revents = 0};
  const auto wait = std::chrono::ceil<milliseconds>(std::max(most, nanoseconds(0))).count();
  poll(&events, 1, static_cast<int>(std::min(wait, kLongest)));
}

void WakeAwaitSignal() { Note({}); }

void ReleaseCaughtSignals(std::span<const int> signals) {
  for (const int number : signals) {
    if (!IsCaught(number)) continue;
    signal(number, SIG_IGN);  // discards pending signals
    signal(number, SIG_DFL);
  }
}

}  // namespace weir::app
