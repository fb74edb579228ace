// Takes and returns whose writes arrive late or without a response: each counts once, or its caller
// knows that it may not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/fleet_callers_fixture.h"
#include "weir/zae_table/testing/fleet_oracle_fixture.h"
#include "weir/zae_table/testing/fleet_workload_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;
using ::testing::IsEmpty;

// The promise of the design: once; twice only if the decision says so.
constexpr LedgerTerms kOnceOrFlagged{.charges = 2, .late = seconds(1)};

struct LateTerms {
  int processes = 4;
  nanoseconds run = seconds(3);
  sim::NetworkFaults network = kUsualTrips;
  nanoseconds stop{0};  // the pause of the first process, after a third of the run
  LedgerTerms bounds = kOnceOrFlagged;
  std::uint64_t seeds = 4;
};

void ExpectNothingTwice(const LateTerms& terms) {
  for (std::uint64_t seed = 1; seed <= terms.seeds; ++seed) {
    Fleet fleet(seed);
    for (int i = 0; i < terms.processes; ++i) fleet.Join().network().faults = terms.network;
    FleetWorkload workload(fleet, seed, terms.run, {.probe = 0.4, .hasty = 0.2});
    if (terms.stop > nanoseconds(0)) {
      fleet.scheduler().Advance(terms.run / 3);
      fleet.processes().front()->StopUntil(fleet.scheduler().clock().Now() + terms.stop);
    }
    EXPECT_TRUE(workload.Run());
    EXPECT_GT(workload.tally().probed, 0);
    EXPECT_THAT(CompareWithTable(workload.ledger(), fleet, terms.bounds).broken, IsEmpty())
        << "seed " << seed;
  }
}

sim::NetworkFaults Losing() {
  sim::NetworkFaults faults = kUsualTrips;
  faults.lose_response = 0.05;
  faults.lose_request = 0.02;
  return faults;
}

TEST(FleetLateWrites, NothingCountsTwiceIfWritesArriveUpToAMinuteLate) {
  sim::NetworkFaults faults = kUsualTrips;
  faults.stray = 0.1;
  faults.longest_stray = seconds(60);
  ExpectNothingTwice({.network = faults});
}

TEST(FleetLateWrites, NothingCountsTwiceIfAnswersAreLost) {
  ExpectNothingTwice({.network = Losing()});
}

TEST(FleetLateWrites, NothingCountsTwiceWithFortyWritersOnAnItem) {
  ExpectNothingTwice({.processes = 40, .run = seconds(1), .network = Losing()});
}

// Meanwhile others write to the same items, so they may claim the slots of the stopped process.
TEST(FleetLateWrites, NothingCountsTwiceIfAProcessStopsForThirtySeconds) {
  ExpectNothingTwice(
      {.processes = 20, .run = seconds(24), .network = Losing(), .stop = seconds(30), .seeds = 1});
}

}  // namespace
}  // namespace weir::dynamo
