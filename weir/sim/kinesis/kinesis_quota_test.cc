#include "weir/sim/kinesis/kinesis_quota.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <utility>
#include <vector>

namespace weir::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr Instant kMidSecond{5 * kSecond + 300'000'000};

TEST(ShardQuota, HoldsASecondsWorthAndGetsItBackByTheNanosecond) {
  ShardQuota quota({.records_per_second = 10, .bytes_per_second = 1000}, kMidSecond);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(quota.Take(1, kMidSecond));
  EXPECT_FALSE(quota.Take(1, kMidSecond));
  EXPECT_FALSE(quota.Take(1, kMidSecond + nanoseconds(99'999'999)));
  EXPECT_TRUE(quota.Take(1, kMidSecond + nanoseconds(100'000'000)));
  EXPECT_FALSE(quota.Take(1, kMidSecond + nanoseconds(100'000'000)));
}

TEST(ShardQuota, WhatIsRefusedCostsNothingAndASmallerOneStillFits) {
  ShardQuota quota({.records_per_second = 10, .bytes_per_second = 1000}, kMidSecond);
  EXPECT_TRUE(quota.Take(900, kMidSecond));
  EXPECT_FALSE(quota.Take(101, kMidSecond));
  EXPECT_TRUE(quota.Take(100, kMidSecond));
}

TEST(ShardQuota, WhatIsLargerThanASecondPassesAloneAndIsOwed) {
  ShardQuota quota({.records_per_second = 10, .bytes_per_second = 1000}, kMidSecond);
  EXPECT_TRUE(quota.Take(3000, kMidSecond));
  EXPECT_FALSE(quota.Take(1, kMidSecond + std::chrono::seconds(2)));
  EXPECT_TRUE(quota.Take(1000, kMidSecond + std::chrono::seconds(3)));
}

TEST(ShardQuota, WindowsCountAnewWithEachSecondOfTheClock) {
  ShardQuota quota({.records_per_second = 2, .bytes_per_second = 1000, .fixed_windows = true},
                   kMidSecond);
  EXPECT_TRUE(quota.Take(1, kMidSecond));
  EXPECT_TRUE(quota.Take(1, Instant{6 * kSecond - 1}));
  EXPECT_FALSE(quota.Take(1, Instant{6 * kSecond - 1}));
  EXPECT_TRUE(quota.Take(1, Instant{6 * kSecond})) << "three within two nanoseconds";
  EXPECT_TRUE(quota.Take(1, Instant{6 * kSecond}));
  EXPECT_FALSE(quota.Take(1, Instant{6 * kSecond}));
}

// Between any two instants, at most one second's quota plus the refill of that time passes. Fails
// if: the refill is counted twice, or a refused record moves the time without refilling.
RC_GTEST_PROP(ShardQuotaProperty, NeverMoreThanASecondsWorthAndTheRate, ()) {
  const KinesisLimits limits{.records_per_second = 5, .bytes_per_second = 700};
  ShardQuota quota(limits, kMidSecond);
  std::vector<std::pair<Instant, std::int64_t>> passed;
  Instant now = kMidSecond;
  for (int i = 0; i < 60; ++i) {
    now = now + nanoseconds(*rc::gen::inRange<std::int64_t>(0, kSecond / 4));
    const auto bytes = *rc::gen::inRange<std::int64_t>(0, 400);
    if (quota.Take(bytes, now)) passed.emplace_back(now, bytes);
  }
  for (std::size_t first = 0; first < passed.size(); ++first) {
    std::int64_t bytes = 0;
    for (std::size_t last = first; last < passed.size(); ++last) {
      bytes += passed[last].second;
      const std::int64_t time = (passed[last].first - passed[first].first).count();
      const auto records = static_cast<std::int64_t>(last - first + 1);
      RC_ASSERT(records * kSecond <= 5 * (kSecond + time));
      RC_ASSERT(bytes * kSecond <= 700 * (kSecond + time));
    }
  }
}

}  // namespace
}  // namespace weir::sim
