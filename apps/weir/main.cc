// The only place that wires real things together: the machine's clocks, a loop, signals, streams.
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/command.h"
#include "apps/weir/standard_input.h"
#include "weir/base/time.h"
#include "weir/runtime/loop.h"

namespace {

constexpr std::int64_t kRepetition = 1'000'000'000;

volatile std::sig_atomic_t stop_requested = 0;
volatile std::sig_atomic_t is_second_awaited = 0;
volatile std::sig_atomic_t hurry_requested = 0;
std::atomic<std::int64_t> stop_requested_at = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t MonotonicNanos() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * kRepetition + now.tv_nsec;
}

/// timeout(1) signals its child and then the group of both: a repetition within a second is the
/// same request. A later one ends the process as usual, unless a verb waits for it.
void RequestStop(int signal) {
  const int saved = errno;
  const std::int64_t now = MonotonicNanos();
  if (stop_requested == 0) {
    stop_requested = signal;
    stop_requested_at = now;
  } else if (now - stop_requested_at < kRepetition) {
  } else if (is_second_awaited != 0 && hurry_requested == 0) {
    hurry_requested = 1;
  } else {
    std::signal(signal, SIG_DFL);
    raise(signal);
  }
  errno = saved;
}

void Catch(int signal) {
  struct sigaction action = {};
  action.sa_handler = RequestStop;
  sigaction(signal, &action, nullptr);
}

bool Interrupted() {
  static const bool caught = [] {
    Catch(SIGINT);
    Catch(SIGTERM);
    return true;
  }();
  return caught && stop_requested != 0;
}

bool Hurried() {
  is_second_awaited = 1;
  return hurry_requested != 0;
}

/// user@host; empty if the system does not know the user.
std::string UserAtHost() {
  const passwd* user = getpwuid(geteuid());
  std::array<char, 256> host{};
  if (user == nullptr || gethostname(host.data(), host.size() - 1) != 0) return "";
  return std::string(user->pw_name) + '@' + host.data();
}

std::optional<std::string> Environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const weir::SystemClock clock;
  weir::Loop loop(clock);
  weir::app::InterruptibleInput input(STDIN_FILENO, Interrupted);
  std::istream in(&input);
  const weir::app::World world{
      .clock = clock,
      .scheduler = loop,
      .in = in,
      .out = std::cout,
      .err = std::cerr,
      .err_is_terminal = isatty(STDERR_FILENO) != 0,
      .in_is_terminal = isatty(STDIN_FILENO) != 0,
      .user = UserAtHost(),
      .environment = Environment,
      .interrupted = Interrupted,
      .signal = [] { return static_cast<int>(stop_requested); },
      .hurried = Hurried,
      .in_descriptor = STDIN_FILENO,
      .watch_input = [&](std::function<bool()> look) { input.Watch(std::move(look)); }};
  return static_cast<int>(weir::app::Run(std::vector<std::string>(argv + 1, argv + argc), world));
}
