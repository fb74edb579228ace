#include "tests/simulation/seed_runs.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

namespace weir::simulation {

SeedRuns ReadArguments(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: " << argv[0] << " SCENARIO FIRST LAST\n";
    std::exit(2);
  }
  return {argv[1], std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10)};
}

Result<std::string> ReadScenario(const SeedRuns& runs) {
  std::ifstream in(runs.file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return Fail(Code::kNotFound, "cannot be read");
  return text.str();
}

std::uint64_t CountViolations(const SeedRuns& runs,
                              const std::function<std::vector<std::string>(std::uint64_t)>& run) {
  std::uint64_t violations = 0;
  for (std::uint64_t seed = runs.first; seed <= runs.last; ++seed) {
    for (const std::string& what : run(seed)) {
      ++violations;
      fmt::print("seed {}: {}\n  again: ./dev test --seed {} {}\n", seed, what, seed, runs.file);
    }
  }
  fmt::print("{}: {} seeds, {} violations\n", runs.file, runs.last - runs.first + 1, violations);
  return violations;
}

void FaultReport::Report(std::string_view name, double chance, std::uint64_t met) {
  if (chance <= 0) return;
  fmt::print("  {:<18} {}\n", name, met);
  complete_ = complete_ && met > 0;
}

int ExitCode(const SeedRuns& runs, std::uint64_t violations, bool complete) {
  const bool fired = complete || runs.first == runs.last;
  if (!fired) fmt::print("something that the scenario asks for never happened\n");
  return violations == 0 && fired ? 0 : 1;
}

int NoScenario(const SeedRuns& runs, const Error& why) {
  std::cerr << runs.file << ": " << why.message << '\n';
  return 2;
}

}  // namespace weir::simulation
