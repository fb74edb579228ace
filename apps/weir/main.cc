// Connects the program to a real clock, a loop, SIGINT and SIGTERM, and the standard streams.
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/command.h"
#include "apps/weir/terminal/standard_input.h"
#include "apps/weir/terminal/stop_request.h"
#include "weir/base/time.h"
#include "weir/runtime/loop.h"

namespace {

weir::app::StopRequest stop_request;

std::int64_t MonotonicNanos() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The signal handler: async-signal-safe calls only.
void RequestStop(int signal) {
  const int saved = errno;
  if (!stop_request.Note(signal, MonotonicNanos())) {
    std::signal(signal, SIG_DFL);
    raise(signal);
  }
  errno = saved;
}

void CatchSignal(int signal) {
  struct sigaction action = {};
  action.sa_handler = RequestStop;
  sigaction(signal, &action, nullptr);
}

// Installs the handlers at the first call: a verb that never calls it ends by the signals' default.
bool IsInterrupted() {
  static const bool caught = [] {
    CatchSignal(SIGINT);
    CatchSignal(SIGTERM);
    return true;
  }();
  return caught && stop_request.is_made();
}

void ReleaseSignals() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool IsHurried() {
  stop_request.AwaitSecond();
  return stop_request.is_hurried();
}

/// Returns user@host, or an empty text if the system does not know the user.
std::string UserAtHost() {
  const passwd* user = getpwuid(geteuid());
  std::array<char, 256> host{};
  if (user == nullptr || gethostname(host.data(), host.size() - 1) != 0) return "";
  return std::string(user->pw_name) + '@' + host.data();
}

std::optional<std::string> ReadVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

// A write over the limit of the file size (RLIMIT_FSIZE) then returns EFBIG. A command of `weir
// reserve` would inherit SIG_IGN, but does not inherit a handler.
void CatchFileSizeSignal() {
  struct sigaction action = {};
  sigaction(SIGXFSZ, nullptr, &action);
  if (action.sa_handler != SIG_DFL) return;
  action.sa_handler = [](int) {};
  sigaction(SIGXFSZ, &action, nullptr);
}

weir::app::Exit RunProcess(const std::vector<std::string>& args) {
  const weir::SystemClock clock;
  weir::Loop loop(clock);
  weir::app::InterruptibleInput input(STDIN_FILENO, IsInterrupted);
  std::istream in(&input);
  const weir::app::ProcessContext process{
      .clock = clock,
      .scheduler = loop,
      .in = in,
      .out = std::cout,
      .err = std::cerr,
      .err_is_terminal = isatty(STDERR_FILENO) != 0,
      .in_is_terminal = isatty(STDIN_FILENO) != 0,
      .user = UserAtHost(),
      .environment = ReadVariable,
      .interrupted = IsInterrupted,
      .release_signals = ReleaseSignals,
      .signal = [] { return stop_request.signal(); },
      .hurried = IsHurried,
      .in_descriptor = STDIN_FILENO,
      .watch_input = [&](std::function<bool()> look) { input.Watch(std::move(look)); }};
  return weir::app::Run(args, process);
}

}  // namespace

int main(int argc, char** argv) {
  CatchFileSizeSignal();
  const std::vector<std::string> args(argv + 1, argv + argc);
  try {
    return static_cast<int>(RunProcess(args));
  } catch (const std::exception& problem) {
    return static_cast<int>(weir::app::FailWithException(args, problem, std::cerr));
  }
}
