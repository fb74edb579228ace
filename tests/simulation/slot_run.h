// One run of a scenario of slots, checked for the properties that every run must have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/event_daemon.h"
#include "tests/simulation/scenario.h"

namespace weir::simulation {

/// The counts of scenarios with jobs.
struct EventCounts {
  QueueCounts queue;
  std::uint64_t ends = 0;
  std::uint64_t crashes = 0;  ///< how often daemons crash
  std::uint64_t stops = 0;
  std::uint64_t late_indexes = 0;  ///< see DynamoCounts::late_indexes
  std::uint64_t measured = 0;      ///< see BrokenReleases
};

/// The counts of all runs.
struct SlotCounts {
  FaultCounts faults;
  std::uint64_t admitted = 0;
  std::uint64_t refused = 0;
  std::uint64_t crashes = 0;  ///< how often processes that hold slots crash
  EventCounts events;
};

/// Returns the violations: those of BrokenPromises and BrokenReleases, and calls without a result.
std::vector<std::string> RunPlanted(const Scenario& scenario, EventBug bug, std::uint64_t seed,
                                    SlotCounts& counts);
inline std::vector<std::string> RunSlots(const Scenario& scenario, std::uint64_t seed,
                                         SlotCounts& counts) {
  return RunPlanted(scenario, EventBug::kNone, seed, counts);
}

}  // namespace weir::simulation
