// Runs a scenario of a fleet on hosts whose wall clocks are an hour apart, with a client of
// zae-limiter with a wrong clock, with many seeds, and checks each run against its bound.
//
//     clocks_simulation SCENARIO FIRST LAST
//
// Exit 1 if a run broke a promise, or if a fault that the scenario asks for never happened.
#include "tests/simulation/scenario_text.h"
#include "tests/simulation/seed_runs.h"
#include "weir/dynamo/bucket_call.h"
#include "weir/dynamo/fleet_clock_oracle_fixture.h"

namespace weir::simulation {
namespace {

struct ClockScenario {
  nanoseconds ahead{0};   ///< by how much the clock of the client of zae-limiter is wrong
  nanoseconds behind{0};  ///< or this much
  sim::NetworkFaults network;
};

struct ClockCounts {
  sim::NetworkCounts network;
  std::uint64_t set_back = 0;
  std::uint64_t moved_ahead = 0;
  std::uint64_t compared = 0;
  std::uint64_t admitted = 0;
};

Result<ClockScenario> ParseClockScenario(std::string_view text) {
  using sim::NetworkFaults;
  constexpr auto kNetwork = &ClockScenario::network;
  static const Setters<ClockScenario> setters{
      {"ahead", [](ClockScenario& s, std::string_view v) { return ReadTime(v, s.ahead); }},
      {"behind", [](ClockScenario& s, std::string_view v) { return ReadTime(v, s.behind); }},
      {"trip",
       [](ClockScenario& s, std::string_view v) { return ReadTime(v, s.network.longest_trip); }},
      {"lose_request", ChanceIn(kNetwork, &NetworkFaults::lose_request)},
      {"lose_answer", ChanceIn(kNetwork, &NetworkFaults::lose_answer)},
      {"duplicate", ChanceIn(kNetwork, &NetworkFaults::duplicate)},
  };
  return ParseLines(text, setters);
}

std::vector<std::string> RunClocks(const ClockScenario& scenario, std::uint64_t seed,
                                   ClockCounts& counts) {
  using std::chrono::duration_cast;
  using std::chrono::hours;
  const dynamo::ClockFleetTerms terms{
      .hosts = {hours(1), hours(0), hours(-1)},
      .foreign = duration_cast<milliseconds>(scenario.ahead - scenario.behind),
      .faults = scenario.network};
  const dynamo::ClockFleetRecord record = dynamo::RunClockFleet(seed, terms);
  const auto trips = duration_cast<milliseconds>(2 * scenario.network.longest_trip);
  dynamo::ClockVerdict verdict = dynamo::JudgeClockFleet(record, dynamo::kDatedAnewAfter + trips);
  counts.network += record.met;
  counts.set_back += static_cast<std::uint64_t>(verdict.set_back);
  counts.moved_ahead += static_cast<std::uint64_t>(verdict.moved_ahead);
  counts.compared += static_cast<std::uint64_t>(verdict.compared);
  counts.admitted += static_cast<std::uint64_t>(record.admitted);
  if (record.unanswered > 0) verdict.broken.emplace_back("a call was not answered");
  return std::move(verdict.broken);
}

bool TellClocks(const ClockScenario& scenario, const ClockCounts& counts) {
  const double ahead = scenario.ahead > nanoseconds(0) ? 1 : 0;
  FaultReport report;
  report.Tell("lose_request", scenario.network.lose_request, counts.network.lost_requests);
  report.Tell("lose_answer", scenario.network.lose_answer, counts.network.lost_answers);
  report.Tell("duplicate", scenario.network.duplicate, counts.network.duplicates);
  report.Tell("set_back", ahead, counts.set_back);
  report.Tell("moved_ahead", ahead, counts.moved_ahead);
  report.Tell("compared", 1, counts.compared);
  report.Tell("admitted", 1, counts.admitted);
  return report.complete();
}

}  // namespace
}  // namespace weir::simulation

int main(int argc, char** argv) {
  using namespace weir::simulation;
  return RunSeeds(ReadArguments(argc, argv),
                  Simulation<ClockScenario, ClockCounts>{
                      .parse = ParseClockScenario, .run = RunClocks, .tell = TellClocks});
}
