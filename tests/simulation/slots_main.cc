// Runs a scenario of slots under many seeds and holds each run against what must be true of every
// run.
//
//     slots_simulation SCENARIO FIRST LAST
//
// Exit 1 if a run broke something, or if a fault that the scenario asks for never happened.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tests/simulation/scenario.h"
#include "tests/simulation/seed_runs.h"
#include "tests/simulation/slot_oracle.h"

namespace weir::simulation {
namespace {

struct Counts {
  FaultCounts faults;
  std::uint64_t admitted = 0;
  std::uint64_t refused = 0;
  std::uint64_t crashes = 0;
};

void Count(const SlotFleet& fleet, Counts& counts) {
  counts.faults.Add(fleet.CountFaults(), fleet.table_counts());
  counts.admitted += static_cast<std::uint64_t>(fleet.history().admitted);
  counts.refused += fleet.history().refusals.size();
  counts.crashes += static_cast<std::uint64_t>(fleet.history().crashes);
}

std::vector<std::string> RunOnce(const Scenario& scenario, std::uint64_t seed, Counts& counts) {
  SlotFleet fleet(scenario, seed);
  std::vector<std::string> broken;
  if (!fleet.Run()) broken.emplace_back("something was still scheduled at the end");
  const SlotHistory& history = fleet.history();
  if (history.asked != history.answered) {
    broken.push_back(fmt::format("{} calls, {} answers", history.asked, history.answered));
  }
  Count(fleet, counts);
  std::ranges::move(fleet.Settle(), std::back_inserter(broken));
  const milliseconds allowance = rate_limiter_py::SlotStoreOptions().skew + scenario.skew;
  std::ranges::move(BrokenPromises(fleet, allowance), std::back_inserter(broken));
  return broken;
}

/// False if a fault that is asked for never happened.
bool Tell(const Scenario& scenario, const Counts& counts) {
  FaultReport report;
  TellFaults(report, scenario, counts.faults);
  report.Tell("reorder", scenario.network.longest_trip > nanoseconds(0) ? 1 : 0,
              counts.faults.network.reordered);
  report.Tell("admitted", 1, counts.admitted);
  report.Tell("refused", 1, counts.refused);
  report.Tell("crashes", 1, counts.crashes);
  return report.complete();
}

}  // namespace
}  // namespace weir::simulation

int main(int argc, char** argv) {
  using namespace weir::simulation;
  return RunSeeds(
      ReadArguments(argc, argv),
      Simulation<Scenario, Counts>{.parse = ParseScenario, .run = RunOnce, .tell = Tell});
}
