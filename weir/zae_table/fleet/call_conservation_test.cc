// Random calls over a bad network: the buckets store exactly the consumption that the results of
// the calls report, even if responses were late or lost and writes were throttled.
#include <gtest/gtest.h>

#include "weir/zae_table/testing/conservation_fixture.h"

namespace weir::dynamo {
namespace {

constexpr std::uint64_t kSeeds = 40;
constexpr int kCalls = 80;

class CallConservation : public testing::TestWithParam<ConservationTerms> {};

TEST_P(CallConservation, WhatIsStoredIsWhatCallersWereTold) {
  const ConservationTerms& terms = GetParam();
  ConservationTally sum;
  std::uint64_t without_forfeits = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    ConservedFleet fleet(seed, terms);
    fleet.AskForTakes(kCalls);
    ASSERT_TRUE(fleet.Run()) << "seed " << seed;
    EXPECT_EQ(fleet.Compare(), "");
    without_forfeits += fleet.Tally().forfeits == 0;
    sum += fleet.Tally();
  }
  EXPECT_EQ(sum.completed, sum.asked);
  EXPECT_EQ(sum.late, 0);
  // Each kind of result occurred, and forfeits are few.
  EXPECT_GE(without_forfeits, kSeeds * 3 / 4);
  EXPECT_GT(sum.admitted, 0);
  EXPECT_GT(sum.refused, 0);
  EXPECT_GT(sum.failed, 0);
  EXPECT_EQ(sum.contended > 0, terms.processes > 1);
  EXPECT_EQ(sum.flagged > 0, terms.processes > 1 || terms.network.lost > 0);
  EXPECT_EQ(sum.kept > 0, terms.keeps > 0);
  EXPECT_GT(sum.faults, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Fleets, CallConservation,
    testing::Values(
        ConservationTerms{.name = "Plain"}, ConservationTerms{.name = "Kept", .keeps = 1},
        ConservationTerms{.name = "KeptByOneProcess", .processes = 1, .keeps = 1},
        ConservationTerms{
            .name = "Throttled", .processes = 3, .keeps = 0.5, .network = {.throttled = 0.3}},
        ConservationTerms{.name = "Losing", .keeps = 0.3, .network = {.lost = 0.05}},
        ConservationTerms{
            .name = "Straying", .processes = 3, .keeps = 0.3, .network = {.stray = 0.02}},
        ConservationTerms{.name = "Undivided", .shards = 1, .keeps = 0.5}),
    [](const auto& run) { return run.param.name; });

}  // namespace
}  // namespace weir::dynamo
