// Runs a scenario under many seeds and holds each run against what must be true of every run.
//
//     fleet_simulation SCENARIO FIRST LAST
//
// Exit 1 if a run broke something, or if a fault that the scenario asks for never happened.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tests/simulation/scenario.h"
#include "tests/simulation/seed_runs.h"
#include "weir/dynamo/fleet_ttl_fixture.h"
#include "weir/dynamo/fleet_workload_fixture.h"

namespace weir::simulation {
namespace {

using dynamo::Fleet;
using dynamo::FleetTally;
using dynamo::FleetWorkload;

struct Counts {
  FaultCounts faults;
  std::uint64_t table_unprocessed = 0;
  std::int64_t admitted = 0;
  std::int64_t denied = 0;
  std::uint64_t divisions = 0;
};

void Count(const Fleet& fleet, Counts& counts) {
  counts.faults.Add(fleet.CountFaults(), fleet.server().counts());
  counts.table_unprocessed += fleet.server().counts().unprocessed;
  counts.divisions += fleet.ReadDivisions().size();
}

/// What a write may be late: from the time that it is dated by to the instant at which it counts.
milliseconds Slack(const Scenario& scenario) {
  const nanoseconds trips = 2 * scenario.network.longest_trip;
  if (trips == nanoseconds(0)) return scenario.skew;
  return scenario.skew + dynamo::kDatedAnewAfter + std::chrono::duration_cast<milliseconds>(trips);
}

std::vector<std::string> Broken(const Scenario& scenario, const Fleet& fleet,
                                const FleetTally& tally, bool ended) {
  std::vector<std::string> broken =
      OverAdmissions(fleet.ReadMovements(), dynamo::FleetQuotas(), Slack(scenario));
  std::ranges::move(Minted(fleet.ReadDivisions()), std::back_inserter(broken));
  std::ranges::move(EarlyTtls(fleet, Slack(scenario)), std::back_inserter(broken));
  if (!ended) broken.emplace_back("something was still scheduled at the end");
  if (tally.answered != tally.asked) {
    broken.push_back(fmt::format("{} calls, {} answers", tally.asked, tally.answered));
  }
  if (!scenario.exact) return broken;
  if (tally.failed > 0) {
    broken.push_back(fmt::format("{} calls failed, the last: {}", tally.failed, tally.failure));
  }
  if (ChildrenConsumed(fleet) != tally.told) broken.emplace_back("told is not what was taken");
  return broken;
}

std::vector<std::string> RunOnce(const Scenario& scenario, std::uint64_t seed, Counts& counts) {
  Fleet fleet(seed, scenario.writes * 1000);
  for (int i = 0; i < scenario.processes; ++i) {
    fleet.Join(i == 0 ? scenario.skew : milliseconds(0)).network().faults = scenario.network;
  }
  fleet.server().faults = scenario.table;
  FleetWorkload workload(fleet, seed, scenario.run);
  const bool ended = workload.Run();
  Count(fleet, counts);
  counts.admitted += workload.tally().admitted;
  counts.denied += workload.tally().refused;
  return Broken(scenario, fleet, workload.tally(), ended);
}

/// False if a fault that is asked for never happened.
bool Tell(const Scenario& scenario, const Counts& counts) {
  FaultReport report;
  TellFaults(report, scenario, counts.faults);
  report.Tell("table_unprocessed", scenario.table.unprocessed, counts.table_unprocessed);
  report.Tell("divisions", scenario.writes < 1'000 ? 1 : 0, counts.divisions);
  report.Tell("admitted", 1, static_cast<std::uint64_t>(counts.admitted));
  report.Tell("refused", 1, static_cast<std::uint64_t>(counts.denied));
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
