#include "weir/model/reserved_allowance.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(ReserveAllowance, TakesWhatTheRateBringsInTheLifetimeOffTheCapacity) {
  const auto limits = ReserveAllowance({{"rps", PerSecond(1000), milliseconds(500)}});
  EXPECT_EQ(limits[0].quota, PerSecond(1000).Burst(500));
  EXPECT_EQ(limits[0].allowance, milliseconds(500));
  EXPECT_EQ(ReservedFor(limits[0]), 500'000);
}

TEST(ReserveAllowance, RoundsUp) {
  const auto limits = ReserveAllowance({{"x", {10'000, 1, 3}, milliseconds(10)}});
  EXPECT_EQ(limits[0].quota.capacity, 9'996) << "3.33 millitokens come back in 10 ms";
}

TEST(ReserveAllowance, LeavesALimitAloneThatIsTooSmallToSpareIt) {
  const Limit half{"x", PerSecond(1000), milliseconds(501)};
  const Limit token{"x", {1'500, 1'000, 1'000}, milliseconds(501)};
  for (const Limit& small : {half, token, Limit{"x", {1, 1, 1}, milliseconds(1)}}) {
    const auto limits = ReserveAllowance({small});
    EXPECT_EQ(limits[0].quota, small.quota);
    EXPECT_EQ(limits[0].allowance, milliseconds(0));
  }
  EXPECT_EQ(ReserveAllowance({{"x", {1'500, 1'000, 1'000}, milliseconds(500)}})[0].quota.capacity,
            1'000);
}

TEST(ReserveAllowance, LeavesLimitsWithoutAnAllowanceAlone) {
  const std::vector<Limit> limits{{"rpm", PerMinute(3)}, {"tpm", PerHour(9).Burst(1)}};
  EXPECT_EQ(ReserveAllowance(limits), limits);
}

}  // namespace
}  // namespace weir
