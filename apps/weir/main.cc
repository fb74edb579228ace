// The only place that wires real things together: the machine's clocks, a loop, signals, streams.
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/command.h"
#include "apps/weir/standard_input.h"
#include "weir/base/time.h"
#include "weir/runtime/loop.h"

namespace {

volatile std::sig_atomic_t stop_requested = 0;

void RequestStop(int signal) { stop_requested = signal; }

/// The second signal ends the process as usual.
void CatchOnce(int signal) {
  struct sigaction action = {};
  action.sa_handler = RequestStop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(signal, &action, nullptr);
}

bool Interrupted() {
  static const bool caught = [] {
    CatchOnce(SIGINT);
    CatchOnce(SIGTERM);
    return true;
  }();
  return caught && stop_requested != 0;
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
  const weir::app::World world{.clock = clock,
                               .scheduler = loop,
                               .in = in,
                               .out = std::cout,
                               .err = std::cerr,
                               .err_is_terminal = isatty(STDERR_FILENO) != 0,
                               .in_is_terminal = isatty(STDIN_FILENO) != 0,
                               .user = UserAtHost(),
                               .environment = Environment,
                               .interrupted = Interrupted,
                               .signal = [] { return static_cast<int>(stop_requested); }};
  return static_cast<int>(weir::app::Run(std::vector<std::string>(argv + 1, argv + argc), world));
}
