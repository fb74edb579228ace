// Runs aggregators on a simulated table and its stream under many seeds. After each run, the usage
// of each window must be what the clients consumed, and each expired audit event be in one object.
//
//     aggregator_simulation SCENARIO FIRST LAST
//
// Exits with 1 if a run violated this, or if a fault of the scenario never happened.
#include "tests/simulation/scenario_text.h"
#include "tests/simulation/seed_runs.h"
#include "weir/aggregator/testing/aggregator_world_fixture.h"

namespace weir::simulation {
namespace {

using dynamo::AggregatorWorld;
using dynamo::WorldFaults;

struct AggregatorScenario {
  int steps = 1'200;
  WorldFaults faults{0, 0, 0, 0, 0, 0, 0};
};

auto FaultOf(double WorldFaults::* field) { return ChanceIn(&AggregatorScenario::faults, field); }

Result<AggregatorScenario> ParseAggregators(std::string_view text) {
  static const Setters<AggregatorScenario> setters = {
      {"steps", [](AggregatorScenario& s,
                   std::string_view value) { return ReadWithin(value, 1, 1'000'000, s.steps); }},
      {"lost_response", FaultOf(&WorldFaults::lost_response)},
      {"throttle", FaultOf(&WorldFaults::throttle)},
      {"late", FaultOf(&WorldFaults::late)},
      {"redelivery", FaultOf(&WorldFaults::redelivery)},
      {"crash", FaultOf(&WorldFaults::crash)},
      {"pause", FaultOf(&WorldFaults::pause)},
      {"split", FaultOf(&WorldFaults::split)}};
  return ParseLines(text, setters);
}

std::vector<std::string> RunOnce(const AggregatorScenario& scenario, std::uint64_t seed,
                                 AggregatorWorld::Tally& counts) {
  AggregatorWorld world(seed, scenario.faults);
  world.Run(scenario.steps);
  world.Quiesce();
  std::vector<std::string> findings = world.Findings();
  counts += world.tally();
  return findings;
}

/// Reports the faults. Returns false if a fault of the scenario never happened.
bool Tell(const AggregatorScenario& scenario, const AggregatorWorld::Tally& counts) {
  const WorldFaults& faults = scenario.faults;
  FaultReport report;
  report.Report("lost_response", faults.lost_response, counts.lost_responses);
  report.Report("throttle", faults.throttle, counts.throttles);
  report.Report("late", faults.late, counts.late_writes);
  report.Report("redelivery", faults.redelivery, counts.redeliveries);
  report.Report("crash", faults.crash, counts.crashes);
  report.Report("pause", faults.pause, counts.pauses);
  report.Report("split", faults.split, counts.splits);
  report.Report("take-over", faults.crash, counts.takeovers);
  report.Report("conflicts", faults.late, counts.conflicts);
  report.Report("failed batches", faults.throttle, counts.failed_batches);
  report.Report("batches", 1, counts.batches);
  report.Report("archived", 1, counts.archived);
  return report.complete();
}

}  // namespace
}  // namespace weir::simulation

int main(int argc, char** argv) {
  using namespace weir::simulation;
  return RunSeeds(ReadArguments(argc, argv),
                  Simulation<AggregatorScenario, AggregatorWorld::Tally>{
                      .parse = ParseAggregators, .run = RunOnce, .tell = Tell});
}
