// One run of a scenario of slots, held against what must be true of every run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/event_daemon.h"
#include "tests/simulation/scenario.h"

namespace weir::simulation {

/// Of scenarios with jobs.
struct EventCounts {
  QueueCounts queue;
  std::uint64_t ends = 0;
  std::uint64_t crashes = 0;  ///< of daemons
  std::uint64_t stops = 0;
  std::uint64_t late_indexes = 0;  ///< DynamoCounts::late_indexes
  std::uint64_t measured = 0;      ///< as BrokenReleases
};

/// What happened, in all runs.
struct SlotCounts {
  FaultCounts faults;
  std::uint64_t admitted = 0;
  std::uint64_t refused = 0;
  std::uint64_t crashes = 0;  ///< of processes that hold slots
  EventCounts events;
};

/// What was broken: BrokenPromises, BrokenReleases, calls without an answer.
std::vector<std::string> RunPlanted(const Scenario& scenario, EventBug bug, std::uint64_t seed,
                                    SlotCounts& counts);
inline std::vector<std::string> RunSlots(const Scenario& scenario, std::uint64_t seed,
                                         SlotCounts& counts) {
  return RunPlanted(scenario, EventBug::kNone, seed, counts);
}

}  // namespace weir::simulation
