// An empty bucket, with 40,000 requests a second from one process.
#include <gtest/gtest.h>

#include "weir/zae_table/testing/fleet_callers_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;

constexpr int kAskers = 40;
constexpr std::int64_t kRefusalSeconds = 3;

TEST(FleetRefusals, AnEmptyBucketIsReadOnceForEachSecondAndEachRefusalComesInTime) {
  Fleet fleet(7);
  FleetProcess& process = fleet.Join();
  process.network().faults = kUsualTrips;
  const TargetPtr target = OneLimit("acme", PerMinute(1).Burst(5));
  FleetCallers first(fleet, milliseconds(200));
  first.AskEvery(process, OneToken(target), milliseconds(20));
  fleet.scheduler().RunAll();
  ASSERT_EQ(first.Sum().admitted, 5);

  const std::uint64_t reads = Reads(fleet);
  const std::uint64_t requests = fleet.server().counts().AllRequests();
  FleetCallers callers(fleet, seconds(kRefusalSeconds));
  for (int i = 0; i < kAskers; ++i) {
    callers.AskEvery(process, OneToken(target, milliseconds(50)), milliseconds(1),
                     std::chrono::microseconds(25) * i);
  }
  fleet.scheduler().RunAll(100'000'000);
  const CallerTally sum = callers.Sum();
  EXPECT_EQ(sum.refused, kAskers * 1'000 * kRefusalSeconds);
  EXPECT_LE(sum.longest, milliseconds(50));
  // The read begins when the image has half of its greatest age, one second.
  EXPECT_LE(Reads(fleet) - reads, 2U * kRefusalSeconds + 1);
  EXPECT_LE(fleet.server().counts().AllRequests() - requests, 2U * kRefusalSeconds + 1);
}

}  // namespace
}  // namespace weir::dynamo
