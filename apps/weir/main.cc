// The only place that wires real things together: the machine's clocks, a loop, signals, streams.
#include <unistd.h>

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

void RequestStop(int) { stop_requested = 1; }

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
                               .environment = Environment,
                               .interrupted = Interrupted};
  return static_cast<int>(weir::app::Run(std::vector<std::string>(argv + 1, argv + argc), world));
}
