#include "weir/bucket/meter_times.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/bucket/testing/arbitrary.h"
#include "weir/bucket/testing/reference_bucket.h"

namespace weir {
namespace {

constexpr UnixMillis kMeterStart{1'767'225'600'013};

TEST(MeterTimes, AMeterThatIsFullSoonLacksWhatComesUntilThen) {
  const Quota quota = PerMinute(60);
  EXPECT_EQ(MeterFullIn(quota, milliseconds(0)), FullMeter(quota));
  EXPECT_EQ(MeterFullIn(quota, milliseconds(10'000)).tokens, 50'000);
  EXPECT_EQ(MeterFullIn(quota, milliseconds(60'000)).tokens, 0);
  EXPECT_EQ(MeterFullIn(quota, milliseconds(60'001)).tokens, 0) << "empty, but not in debt";
  EXPECT_EQ(MeterFullIn(quota, kLongestWait).tokens, 0);
}

TEST(MeterTimes, TimeThatRunsBackwardsGivesNothing) {
  Meter meter = MeterFullIn(PerMinute(60), milliseconds(10'000));
  const Meter before = meter;
  Refill(meter, kMeterStart, kMeterStart - milliseconds(5));
  EXPECT_EQ(meter, before);
  Refill(meter, UnixMillis{INT64_MIN}, UnixMillis{INT64_MAX});
  EXPECT_EQ(meter, FullMeter(PerMinute(60)));
}

// Fails if: the tokens are rounded up, the remainder is dropped, or the balance is negative.
RC_GTEST_PROP(MeterTimes, IsFullExactlyWhenItShouldBe, ()) {
  const Quota quota = AnyQuota();
  const WideInt fill = WideInt{quota.capacity} * quota.period / quota.amount;
  const auto most = static_cast<std::int64_t>(std::min(fill, WideInt{kMaxPeriodMillis}));
  RC_PRE(most > 0);
  const milliseconds left(LogUniformUpTo(most));
  const Meter meter = MeterFullIn(quota, left);
  RC_ASSERT(meter.tokens >= 0);
  RC_ASSERT(meter.remainder >= 0);
  RC_ASSERT(meter.remainder < quota.period);
  RC_ASSERT(FullAt(meter, kMeterStart) == kMeterStart + left);
}

TEST(MeterTimes, TheLeastBalanceThatIsFullInTimeMayBeDebt) {
  const Quota quota = PerMinute(60);
  EXPECT_EQ(LeastFullIn(quota, milliseconds(-1)), 60'000);
  EXPECT_EQ(LeastFullIn(quota, milliseconds(0)), 60'000);
  EXPECT_EQ(LeastFullIn(quota, milliseconds(60'000)), 0);
  EXPECT_EQ(LeastFullIn(quota, milliseconds(100'000)), -40'000);
  EXPECT_EQ(LeastFullIn({kMaxMillitokens, kMaxMillitokens, 1}, kLongestWait), -kMaxDebt);
}

// Fails if: the balance is rounded down, so that it takes longer, or up.
RC_GTEST_PROP(MeterTimes, FromTheLeastBalanceItIsFullInTimeAndFromLessItIsNot, ()) {
  const Quota quota = AnyQuota();
  const milliseconds left(LogUniformUpTo(kMaxPeriodMillis));
  Meter meter = FullMeter(quota);
  meter.tokens = LeastFullIn(quota, left);
  RC_ASSERT(RetryAfter(meter, quota.capacity) <= left);
  RC_PRE(meter.tokens > -kMaxDebt);
  --meter.tokens;
  RC_ASSERT(RetryAfter(meter, quota.capacity) > left);
}

}  // namespace
}  // namespace weir
