// Two aggregators on one table under faults: usage is exact, and each audit event archived once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/aggregator/testing/aggregator_world_fixture.h"

namespace weir::dynamo {
namespace {

using testing::IsEmpty;

void ExpectExact(std::uint64_t seed, const WorldFaults& faults, AggregatorWorld::Tally& sum) {
  AggregatorWorld world(seed, faults);
  world.Run(1'200);
  world.Quiesce();
  EXPECT_THAT(world.Findings(), IsEmpty()) << "seed " << seed;
  sum += world.tally();
}

// Fails if: a change is counted twice or not at all, in any window, after a redelivery, a lost or
// late response, a crash between any two steps, a take-over or a split of a shard of the stream; or
// if an audit event is archived twice or not at all.
TEST(AggregatorSimulation, UsageIsExactUnderFaults) {
  AggregatorWorld::Tally sum;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) ExpectExact(seed, {}, sum);
  EXPECT_GT(sum.batches, 1'000U);
  EXPECT_GT(sum.failed_batches, 20U);
  EXPECT_GT(sum.crashes, 100U);
  EXPECT_GT(sum.takeovers, 50U);
  EXPECT_GT(sum.late_writes, 100U);
  EXPECT_GT(sum.conflicts, 100U);
  EXPECT_GT(sum.throttles, 100U);
  EXPECT_GT(sum.lost_responses, 100U);
  EXPECT_GT(sum.redeliveries, 100U);
  EXPECT_GT(sum.pauses, 100U);
  EXPECT_GT(sum.splits, 50U);
}

TEST(AggregatorSimulation, UsageIsExactWithoutFaults) {
  AggregatorWorld::Tally sum;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) ExpectExact(seed, {0, 0, 0, 0, 0, 0, 0}, sum);
}

}  // namespace
}  // namespace weir::dynamo
