// One process whose callers each have a bucket of their own, below one parent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/fleet_callers_fixture.h"

namespace weir::dynamo {
namespace {

TEST(FleetSharedParent, SixtyFourChildrenShareTheWritesOnTheirParent) {
  Fleet fleet(6);
  FleetProcess& process = fleet.Join();
  process.network().faults = kUsualTrips;
  const TargetPtr parent = OneLimit("team", PerSecond(100'000).Burst(1'000'000));
  FleetCallers callers(fleet, std::chrono::seconds(5));
  for (int i = 0; i < 64; ++i) {
    const TargetPtr child = OneLimit(fmt::format("user-{}", i), PerSecond(10'000).Burst(1'000'000));
    callers.AskInTurn(process, {.charges = {{child, {kMillitokens}}, {parent, {kMillitokens}}}});
  }
  fleet.scheduler().RunAll(100'000'000);
  const CallerTally sum = callers.Sum();
  EXPECT_EQ(sum.failed + sum.refused, 0);
  EXPECT_GT(sum.admitted, 64 * 100);
  EXPECT_LE(static_cast<double>(WritesOn(fleet, "team")), 0.1 * static_cast<double>(sum.admitted));
  EXPECT_EQ(StoredTakes(fleet, "rps"), 2 * sum.admitted * kMillitokens);
}

}  // namespace
}  // namespace weir::dynamo
