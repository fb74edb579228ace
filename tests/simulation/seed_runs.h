// What the programs of this folder share: seeds one after the other, violations as they are told.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir::simulation {

struct SeedRuns {
  std::string file;  ///< the scenario
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// From the arguments of main: SCENARIO FIRST LAST. Exits with a word on how to use it where they
/// are others.
SeedRuns ReadArguments(int argc, char** argv);
/// The text of the scenario; kNotFound where it cannot be read.
[[nodiscard]] Result<std::string> ReadScenario(const SeedRuns& runs);
/// Runs each seed and prints what was broken, with the command that runs it again; how many there
/// were.
std::uint64_t CountViolations(
    const SeedRuns& runs, const std::function<std::vector<std::string>(std::uint64_t seed)>& run);

/// Prints how often each fault happened, and remembers whether one that was asked for never did.
class FaultReport {
 public:
  void Tell(std::string_view name, double chance, std::uint64_t met);
  /// All that were asked for happened.
  bool complete() const { return complete_; }

 private:
  bool complete_ = true;
};

/// What main returns: 1 for violations, or for a fault that never happened in more than one seed.
int ExitCode(const SeedRuns& runs, std::uint64_t violations, bool complete);
/// The same where there is no scenario: 2, and says why.
int NoScenario(const SeedRuns& runs, const Error& why);

template <class Scenario, class Counts>
struct Simulation {
  Result<Scenario> (*parse)(std::string_view text);
  /// What was broken; what happened is added to the counts.
  std::vector<std::string> (*run)(const Scenario& scenario, std::uint64_t seed, Counts& counts);
  /// False if a fault that is asked for never happened.
  bool (*tell)(const Scenario& scenario, const Counts& counts);
};

/// All that such a program does, and what its main returns.
template <class Scenario, class Counts>
int RunSeeds(const SeedRuns& runs, const Simulation<Scenario, Counts>& simulation) {
  const Result<std::string> text = ReadScenario(runs);
  if (!text) return NoScenario(runs, text.error());
  const Result<Scenario> scenario = simulation.parse(*text);
  if (!scenario) return NoScenario(runs, scenario.error());
  Counts counts;
  const std::uint64_t violations = CountViolations(
      runs, [&](std::uint64_t seed) { return simulation.run(*scenario, seed, counts); });
  return ExitCode(runs, violations, simulation.tell(*scenario, counts));
}

}  // namespace weir::simulation
