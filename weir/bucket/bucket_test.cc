#include "weir/bucket/bucket.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr UnixMillis kStart(1'767'225'600'013);

Bucket Full(std::initializer_list<Quota> quotas) {
  Bucket bucket{.time = kStart, .meters = {}};
  for (const Quota& quota : quotas) bucket.meters.push_back(FullMeter(quota));
  return bucket;
}

TEST(Quota, NamesTheFieldThatIsOutOfRange) {
  EXPECT_TRUE(Validate(PerSecond(1)).has_value());
  EXPECT_TRUE(Validate({kMaxMillitokens, kMaxMillitokens, kMaxPeriodMillis}).has_value());
  EXPECT_EQ(Validate({0, 1, 1}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(Validate({0, 1, 1}).error().message,
            "capacity is 0 millitokens, allowed are 1 to 10000000000000000");
  EXPECT_EQ(Validate({1, -7, 1}).error().message,
            "amount is -7 millitokens, allowed are 1 to 10000000000000000");
  EXPECT_EQ(Validate({1, 1, kMaxPeriodMillis + 1}).error().message,
            "period is 31622400001 ms, allowed are 1 to 31622400000");
  EXPECT_FALSE(Validate({kMaxMillitokens + 1, 1, 1}).has_value());
  EXPECT_FALSE(Validate({1, 1, 0}).has_value());
}

// Fails if: a number that does not fit becomes a small or negative limit.
TEST(Quota, ANumberOfTokensThatDoesNotFitIsRefused) {
  for (const std::int64_t tokens : {INT64_MAX, INT64_MAX / 1000 + 1, std::int64_t{1} << 62}) {
    EXPECT_EQ(Validate(PerSecond(tokens)).error().message,
              "capacity is 9223372036854775807 millitokens, allowed are 1 to 10000000000000000");
    EXPECT_FALSE(Validate(PerSecond(1).Burst(tokens)).has_value());
    EXPECT_FALSE(Validate(PerSecond(-tokens)).has_value());
  }
}

TEST(Quota, BurstChangesTheCapacityAlone) {
  EXPECT_EQ(PerMinute(60), (Quota{60'000, 60'000, 60'000}));
  EXPECT_EQ(PerSecond(1000).Burst(100), (Quota{100'000, 1'000'000, 1000}));
  EXPECT_EQ(PerHour(1).period, 3'600'000);
  EXPECT_EQ(PerDay(1).period, 86'400'000);
}

TEST(Bucket, StartsFullAndAdmitsItsCapacityAtOnce) {
  Bucket bucket = Full({PerMinute(5)});
  const std::int64_t five[] = {5000};
  const std::int64_t one_milli[] = {1};
  EXPECT_TRUE(Take(bucket, five, kStart));
  EXPECT_FALSE(Take(bucket, one_milli, kStart));
  EXPECT_EQ(bucket.meters[0].consumed, 5000);
}

TEST(Bucket, TakesFromAllLimitsOrFromNone) {
  Bucket bucket = Full({PerMinute(10), PerMinute(2)});
  const std::int64_t amounts[] = {3000, 2000};
  EXPECT_TRUE(Take(bucket, amounts, kStart));
  const Bucket before = bucket;
  EXPECT_FALSE(Take(bucket, amounts, kStart));
  EXPECT_EQ(bucket, before);
  EXPECT_EQ(RetryAfter(bucket, amounts), milliseconds(60'000));
}

TEST(Bucket, WaitsForTheSlowestLimit) {
  Bucket bucket = Full({PerSecond(10), PerDay(1)});
  const std::int64_t all[] = {10'000, 1000};
  ASSERT_TRUE(Take(bucket, all, kStart));
  const std::int64_t first_only[] = {1000, 0};
  EXPECT_EQ(RetryAfter(bucket, first_only), milliseconds(100));
  EXPECT_EQ(RetryAfter(bucket, all), milliseconds(86'400'000));
  EXPECT_EQ(FullAt(bucket), kStart + milliseconds(86'400'000));
}

TEST(Bucket, CountsTakesAndAdjustsAsConsumed) {
  Meter meter = FullMeter(PerMinute(10));
  Debit(meter, 4000);
  Adjust(meter, 500);
  Adjust(meter, -1500);
  EXPECT_EQ(meter.consumed, 3000);
  EXPECT_EQ(meter.tokens, 7000);
}

TEST(Bucket, ConsumedSaturates) {
  Meter meter = FullMeter(PerMinute(10));
  meter.consumed = INT64_MAX - 1;
  Debit(meter, 2);
  EXPECT_EQ(meter.consumed, INT64_MAX);
  meter.consumed = INT64_MIN + 1;
  Adjust(meter, -2);
  EXPECT_EQ(meter.consumed, INT64_MIN);
}

TEST(Bucket, DebtGoesToItsFloorAndNoFurther) {
  Meter meter = FullMeter(PerMinute(10));
  EXPECT_TRUE(CanAdjust(meter, kMaxDebt + 10'000));
  EXPECT_FALSE(CanAdjust(meter, kMaxDebt + 10'001));
  EXPECT_FALSE(CanAdjust(meter, INT64_MAX));
  EXPECT_TRUE(CanAdjust(meter, INT64_MIN));
}

TEST(Bucket, AGiveBackIsAlwaysPossible) {
  Meter meter = FullMeter(Quota{kMaxMillitokens, 1, 1});
  Adjust(meter, kMaxDebt + kMaxMillitokens);
  ChangeQuota(meter, Quota{1, 1, 1});
  ASSERT_LT(meter.tokens, -kMaxDebt);
  EXPECT_GT(meter.tokens, kLowestBalance);
  EXPECT_FALSE(CanAdjust(meter, 1));
  EXPECT_TRUE(CanAdjust(meter, 0));
  EXPECT_TRUE(CanAdjust(meter, -1));
}

TEST(Bucket, TheLongestWaitIsToldAsSuch) {
  Meter meter = FullMeter(Quota{kMaxMillitokens, 1, kMaxPeriodMillis});
  EXPECT_EQ(RetryAfter(meter, kMaxMillitokens), milliseconds(0));
  Debit(meter, kMaxMillitokens);
  EXPECT_EQ(RetryAfter(meter, kMaxMillitokens), kLongestWait);
}

TEST(Bucket, EveryWaitBelowTheLongestIsKept) {
  Meter meter = FullMeter(Quota{1'000'000, 1, 100'000'000});
  Debit(meter, 1'000'000);
  const milliseconds wait = RetryAfter(meter, 1'000'000);
  ASSERT_EQ(wait.count(), 100'000'000'000'000);
  Meter early = meter;
  Refill(early, wait.count() - 1);
  EXPECT_EQ(RetryAfter(early, 1'000'000), milliseconds(1));
  Refill(meter, wait.count());
  EXPECT_EQ(RetryAfter(meter, 1'000'000), milliseconds(0));
}

TEST(Bucket, TimesAtTheEndsOfTheRangeOnlyFillIt) {
  Bucket bucket = Full({PerDay(1)});
  bucket.time = UnixMillis(INT64_MIN);
  const std::int64_t one[] = {1000};
  EXPECT_TRUE(Take(bucket, one, UnixMillis(INT64_MIN)));
  Refill(bucket, UnixMillis(INT64_MAX));
  EXPECT_EQ(bucket.meters[0].tokens, 1000);
}

TEST(Bucket, NewParametersKeepWhatIsUsed) {
  Meter meter = FullMeter(PerMinute(10));
  Debit(meter, 4000);
  ChangeQuota(meter, PerMinute(100));
  EXPECT_EQ(meter.tokens, 96'000);
  ChangeQuota(meter, PerMinute(3));
  EXPECT_EQ(meter.tokens, -1000);
}

TEST(EarnedIn, IsWhatComesBackWhetherOrNotThereIsRoom) {
  const Meter full = FullMeter({.capacity = 10, .amount = 3, .period = 7});
  EXPECT_EQ(EarnedIn(full, 7).whole, 3);
  EXPECT_EQ(EarnedIn(full, 7).rounded_up, 3);
  EXPECT_EQ(EarnedIn(full, 700).whole, 300) << "far beyond the capacity";
  EXPECT_EQ(EarnedIn(full, 1).whole, 0);
  EXPECT_EQ(EarnedIn(full, 1).rounded_up, 1) << "three sevenths";
  EXPECT_EQ(EarnedIn(full, 0).rounded_up, 0);
}

}  // namespace
}  // namespace weir
