// Results that callers of a fleet get by their deadlines, and the effect of their late writes,
// while responses are lost or late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/fleet_callers_fixture.h"
#include "weir/zae_table/testing/fleet_oracle_fixture.h"
#include "weir/zae_table/testing/fleet_workload_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;
using ::testing::IsEmpty;

LedgerFindings RunLosing(std::uint64_t seed, double lost_responses, const WorkloadOdds& odds,
                         const LedgerTerms& terms) {
  Fleet fleet(seed);
  for (int i = 0; i < 4; ++i) {
    fleet.Join().network().faults = kUsualTrips;
    fleet.processes().back()->network().faults.lose_response = lost_responses;
  }
  FleetWorkload workload(fleet, seed, seconds(3), odds);
  EXPECT_TRUE(workload.Run());
  EXPECT_GT(workload.tally().probed, 0);
  return CompareWithTable(workload.ledger(), fleet, terms);
}

TEST(FleetDeadlines, D11EachCallIsAnsweredByItsDeadline) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const LedgerFindings findings = RunLosing(seed, 0.05, {.hasty = 0.2}, {});
    EXPECT_LE(findings.late, milliseconds(1)) << "seed " << seed;
  }
}

// Once, or twice if the decision says so. Only probes, so that the charges of each decision are
// known.
TEST(FleetDeadlines, D2ADecisionIsChargedTwiceAtMostHoweverManyAnswersAreLost) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const LedgerFindings findings = RunLosing(seed, 0.4, {.only_probes = true, .hasty = 0.2},
                                              {.charges = 2, .late = seconds(1)});
    EXPECT_THAT(findings.broken, IsEmpty()) << "seed " << seed;
    EXPECT_LE(findings.charges, 2) << "seed " << seed;
  }
}

// If a limiter admits requests whose result comes too late, the stored takes are those that callers
// use.
TEST(FleetDeadlines, WhatIsKeptAfterTheDeadlineStaysTaken) {
  Fleet fleet(12);
  FleetProcess& process = fleet.Join();
  process.network().faults = kUsualTrips;
  process.network().faults.tail = 0.2;
  process.network().faults.longest_tail = seconds(2);
  FleetCallers callers(fleet, seconds(10));
  CallerTerms terms = OneToken(OneLimit("acme", PerSecond(100).Burst(10'000)), milliseconds(100));
  terms.keeps = true;
  for (int i = 0; i < 4; ++i) {
    callers.AskEvery(process, terms, milliseconds(40), milliseconds(10 * i));
  }
  fleet.scheduler().RunAll();
  const CallerTally sum = callers.Sum();
  EXPECT_GT(sum.failed, 0);
  EXPECT_EQ(sum.refused, 0);
  EXPECT_EQ(StoredTakes(fleet, "rps"), (sum.admitted + sum.failed) * kMillitokens);
}

}  // namespace
}  // namespace weir::dynamo
