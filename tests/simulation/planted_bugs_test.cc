// The simulation of slots finds each planted bug of a daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/simulation/seed_runs.h"
#include "tests/simulation/slot_run.h"

namespace weir::simulation {
namespace {

constexpr std::uint64_t kPlantedSeeds = 20;

Scenario EventsScenario() {
  const auto text =
      ReadScenario({.file = WEIR_SOURCE_DIR "/tests/simulation/scenarios/slots_events.txt"});
  return ParseScenario(text.value()).value();
}

/// Returns the violations of the first seed that finds the bug, or none.
std::vector<std::string> FirstBroken(EventBug bug, SlotCounts& counts) {
  const Scenario scenario = EventsScenario();
  for (std::uint64_t seed = 1; seed <= kPlantedSeeds; ++seed) {
    auto broken = RunPlanted(scenario, bug, seed, counts);
    if (!broken.empty()) return broken;
  }
  return {};
}

TEST(SlotPlantedBugs, ADaemonWithoutOneKeepsItsPromises) {
  SlotCounts counts;
  EXPECT_THAT(FirstBroken(EventBug::kNone, counts), testing::IsEmpty());
  const EventCounts& events = counts.events;
  EXPECT_GT(events.crashes, 0U);
  EXPECT_GT(events.stops, 0U);
  EXPECT_GT(events.late_indexes, 0U);
  EXPECT_GT(events.queue.duplicates, 0U);
  EXPECT_GT(events.queue.reordered, 0U);
  EXPECT_GT(events.queue.refused, 0U);
  EXPECT_GT(events.queue.lost_responses, 0U);
  EXPECT_GT(events.measured, 0U);
}

TEST(SlotPlantedBugs, EachIsFound) {
  for (const auto& [name, bug] :
       {std::pair("writes no tombstone after a release", EventBug::kNoTombstoneAfterRelease),
        std::pair("deletes a message before it is settled", EventBug::kDeletesBeforeSettled)}) {
    SlotCounts counts;
    EXPECT_THAT(FirstBroken(bug, counts),
                testing::Contains(testing::HasSubstr("is held in the end")))
        << "not found: a daemon that " << name;
  }
}

}  // namespace
}  // namespace weir::simulation
