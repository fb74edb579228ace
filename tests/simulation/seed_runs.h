// The common part of the simulation programs: they run seeds one after the other and print
// violations.
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

/// Reads SCENARIO FIRST LAST from the arguments of main. Prints the usage and exits for other
/// arguments.
SeedRuns ReadArguments(int argc, char** argv);
/// Returns the text of the scenario, or kNotFound if it cannot be read.
[[nodiscard]] Result<std::string> ReadScenario(const SeedRuns& runs);
/// Runs each seed and prints its violations, with the command that repeats the run. Returns their
/// number.
std::uint64_t CountViolations(
    const SeedRuns& runs, const std::function<std::vector<std::string>(std::uint64_t seed)>& run);

/// Prints how often each fault happened, and records whether a fault of the scenario never did.
class FaultReport {
 public:
  void Report(std::string_view name, double chance, std::uint64_t met);
  /// Returns whether all faults of the scenario happened.
  bool complete() const { return complete_; }

 private:
  bool complete_ = true;
};

/// Returns the exit code: 1 for violations, or for a fault that never happened in more than one
/// seed.
int ExitCode(const SeedRuns& runs, std::uint64_t violations, bool complete);
/// Prints why there is no scenario and returns the exit code 2.
int NoScenario(const SeedRuns& runs, const Error& why);

template <class Scenario, class Counts>
struct Simulation {
  Result<Scenario> (*parse)(std::string_view text);
  /// Returns the violations of a run, and adds its events to the counts.
  std::vector<std::string> (*run)(const Scenario& scenario, std::uint64_t seed, Counts& counts);
  /// Reports the counts. Returns false if a fault of the scenario never happened.
  bool (*tell)(const Scenario& scenario, const Counts& counts);
};

/// Runs the whole program and returns its exit code.
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
