// The process of a command in a test: streams in memory, simulated time, and variables of the test.
// For tests only.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/command.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::app {

class WorldTest : public testing::Test {
 protected:
  explicit WorldTest(std::map<std::string, std::string> environment = {})
      : environment_(std::move(environment)) {}

  /// Runs a command. Afterwards `out_` and `err_` have its output only.
  Exit RunArgs(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    return app::Run(args, process_);
  }

  std::map<std::string, std::string> environment_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  sim::SimScheduler scheduler_;
  int looks_ = 1'000'000;  ///< the number of checks until the process is interrupted
  ProcessContext process_{
      .clock = scheduler_.clock(),
      .scheduler = scheduler_,
      .in = in_,
      .out = out_,
      .err = err_,
      .environment = [this](const std::string& name) -> std::optional<std::string> {
        const auto found = environment_.find(name);
        if (found == environment_.end()) return std::nullopt;
        return found->second;
      },
      .interrupted = [this] { return --looks_ < 0; }};
};

}  // namespace weir::app
