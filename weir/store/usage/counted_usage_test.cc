#include "weir/store/usage/counted_usage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

namespace weir {
namespace {

const BucketKey kBucket{"acme", "gpt-4", 0};
constexpr UnixMillis kFirst{490'897 * kHourMillis};

std::int64_t SumOf(const UsageCounters& counters) {
  return std::accumulate(
      counters.begin(), counters.end(), std::int64_t{0},
      [](std::int64_t sum, const auto& counter) { return sum + counter.second; });
}

// Fails if: requests with limits of ever other names let the use of a bucket grow.
TEST(BucketUse, NamesBeyondTheMaximumCountTogether) {
  BucketUse use;
  OpenHour(use, {}, kFirst);
  for (int i = 0; i < 1000; ++i) {
    CountNamed(use, {.limit = fmt::format("job-{}", i), .used = 7, .overdrawn = 1}, 1);
  }
  CountNamed(use, {.limit = "job-3", .used = 5}, 1);
  CountNamed(use, {.limit = "rpm", .overdrawn = 2}, 0);
  const std::vector<HourOfUse> hours = HoursOf(use, {});
  ASSERT_EQ(hours.size(), 1U);
  EXPECT_EQ(hours[0].events, 1001);
  ASSERT_EQ(hours[0].limits.size(), kMaxNamesInHour + 2);
  EXPECT_EQ(hours[0].limits[3], (LimitUse{"job-3", 12, 1}));
  const std::int64_t others = 1000 - static_cast<std::int64_t>(kMaxNamesInHour);
  EXPECT_EQ(hours[0].limits[kMaxNamesInHour],
            (LimitUse{std::string(kOtherLimits), 7 * others, others}));
  EXPECT_EQ(hours[0].limits.back(), (LimitUse{"rpm", 0, 2})) << "a configured limit counts apart";
}

// Fails if: a month collects the names of all its hours, or loses the use of those it does not.
TEST(CountedUsage, AMonthHasAMaximumOfNamesAndTheWholeUse) {
  UsageRemainder remainder;
  UsageSnapshot month;
  for (int hour = 0; hour < 1600; ++hour) {
    const HourOfUse use{.start = kFirst + milliseconds(hour % 24 * kHourMillis),
                        .events = 2,
                        .limits = {{.limit = "rpm", .used = 1'500},
                                   {.limit = fmt::format("job-{}", hour), .used = 2'400}}};
    AddCounted(month, SnapshotsOf(kBucket, {&use, 1}, remainder).back());
    ASSERT_LE(remainder.size(), kMaxUsageNames + 1);
  }
  EXPECT_EQ(month.used.size(), kMaxUsageNames + 1);
  EXPECT_EQ(month.used.at("rpm"), 2400);
  EXPECT_EQ(month.used.at("job-0"), 2);
  EXPECT_EQ(month.events, 3200);
  EXPECT_EQ(1000 * SumOf(month.used) + SumOf(remainder), 1600 * (1'500 + 2'400));
}

}  // namespace
}  // namespace weir
