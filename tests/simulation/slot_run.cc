#include "tests/simulation/slot_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tests/simulation/release_oracle.h"
#include "tests/simulation/slot_events.h"
#include "tests/simulation/slot_fleet.h"
#include "tests/simulation/slot_oracle.h"

namespace weir::simulation {
namespace {

void Count(const SlotEvents& events, EventCounts& counts) {
  const QueueCounts& queue = events.queue().counts;
  counts.queue.refused += queue.refused;
  counts.queue.lost_responses += queue.lost_responses;
  counts.queue.duplicates += queue.duplicates;
  counts.queue.reordered += queue.reordered;
  counts.ends += events.ends().size();
  counts.crashes += static_cast<std::uint64_t>(events.crashes());
  counts.stops += static_cast<std::uint64_t>(events.stops());
}

void Count(const SlotFleet& fleet, SlotCounts& counts) {
  counts.faults.Add(fleet.CountFaults(), fleet.table_counts());
  counts.admitted += static_cast<std::uint64_t>(fleet.history().admitted);
  counts.refused += fleet.history().refusals.size();
  counts.crashes += static_cast<std::uint64_t>(fleet.history().crashes);
  counts.events.late_indexes += fleet.table_counts().late_indexes;
  if (fleet.events() != nullptr) Count(*fleet.events(), counts.events);
}

}  // namespace

std::vector<std::string> RunPlanted(const Scenario& scenario, EventBug bug, std::uint64_t seed,
                                    SlotCounts& counts) {
  SlotFleet fleet(scenario, seed, bug);
  std::vector<std::string> broken;
  if (!fleet.Run()) broken.emplace_back("something was still scheduled at the end");
  const SlotHistory& history = fleet.history();
  if (history.asked != history.completed) {
    broken.push_back(fmt::format("{} calls, {} answers", history.asked, history.completed));
  }
  Count(fleet, counts);
  if (fleet.events() != nullptr) {
    std::ranges::move(BrokenReleases(fleet.table(), *fleet.events(), counts.events.measured),
                      std::back_inserter(broken));
  }
  std::ranges::move(fleet.Settle(), std::back_inserter(broken));
  const milliseconds allowance = rate_limiter_py::SlotStoreOptions().skew + scenario.skew;
  std::ranges::move(BrokenPromises(fleet, allowance), std::back_inserter(broken));
  return broken;
}

}  // namespace weir::simulation
