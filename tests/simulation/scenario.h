// A scenario: what a text file fixes of a run; the seed draws the rest.
#pragma once

#include <string>
#include <string_view>

#include "tests/simulation/seed_runs.h"
#include "weir/base/result.h"
#include "weir/sim/sim_dynamo.h"
#include "weir/sim/sim_network.h"

namespace weir::simulation {

struct Scenario {
  int processes = 1;
  nanoseconds run = std::chrono::seconds(2);
  milliseconds skew{0};         ///< the first process is ahead by so much
  bool exact = false;           ///< nothing may fail, and what is told is what was taken
  std::int64_t writes = 1'000;  ///< a second on one item, before its bucket is divided
  sim::NetworkFaults network;
  sim::DynamoFaults table;
};

/// Of all runs.
struct FaultCounts {
  sim::NetworkCounts network;
  std::uint64_t table_throttled = 0;
  std::uint64_t table_conflicts = 0;

  void Add(const sim::NetworkCounts& of_network, const sim::DynamoCounts& of_table);
};
/// Those that the scenario asks for.
void TellFaults(FaultReport& report, const Scenario& scenario, const FaultCounts& counts);

/// The format: scenario_text.h.
[[nodiscard]] Result<Scenario> ParseScenario(std::string_view text);

}  // namespace weir::simulation
