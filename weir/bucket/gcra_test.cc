#include "weir/bucket/gcra.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/bucket/testing/arbitrary.h"
#include "weir/bucket/testing/reference_bucket.h"

namespace weir {
namespace {

constexpr std::uint64_t kTenYears = 10ULL * 365 * 24 * 3600 * 1'000'000'000;

// Returns the exact interval between two tokens, in time units of 1/`units` ns.
Fraction ExactCost(const Quota& quota, std::uint64_t units) {
  return Fraction(WideInt{quota.period} * 1'000'000 * kMillitokens * units, quota.amount);
}

TEST(Gcra, IsExactWhereTheIntervalIsAWholeNumberOfUnits) {
  struct Case {
    Quota quota;
    std::uint32_t units;
    std::uint64_t cost;
  };
  const Case cases[] = {
      {PerSecond(1000), 1, 1'000'000},    {PerSecond(3), 3, 1'000'000'000},
      {PerSecond(7), 7, 1'000'000'000},   {PerSecond(53), 53, 1'000'000'000},
      {PerSecond(1'000'000'000), 1, 1},   {PerSecond(1'250'000'000), 5, 4},
      {PerSecond(10'000'000'000), 10, 1}, {PerMinute(7), 7, 60'000'000'000},
      {PerHour(1), 1, 3'600'000'000'000}, {Quota{5'000, 1'500, 1000}, 3, 2'000'000'000},
  };
  for (const Case& c : cases) {
    const Gcra gcra = Gcra::For(c.quota).value();
    EXPECT_EQ(gcra.units_per_nano, c.units);
    EXPECT_EQ(gcra.cost, c.cost);
    EXPECT_EQ(gcra.rate_error, 0);
  }
}

TEST(Gcra, TellsByHowMuchAnAwkwardRateIsSlower) {
  const Gcra thousands = Gcra::For(PerSecond(1013)).value();
  EXPECT_GT(thousands.rate_error, 0);
  EXPECT_LT(thousands.rate_error, 1e-8);
  const Gcra gigabytes = Gcra::For(PerSecond(std::int64_t{1} << 30)).value();
  EXPECT_GT(gigabytes.rate_error, 0);
  EXPECT_LT(gigabytes.rate_error, 6e-4);
}

TEST(Gcra, KeepsAFractionOfATokenOfCapacity) {
  const Gcra gcra = Gcra::For(Quota{2'500, 1'000, 1000}).value();
  EXPECT_EQ(gcra.capacity, 2);
  EXPECT_EQ(gcra.span, 2'500'000'000);
}

TEST(Gcra, RefusesWhatItCannotKeep) {
  const auto message = [](const Quota& quota) { return Gcra::For(quota).error().message; };
  EXPECT_EQ(message({0, 1, 1}), "capacity is 0 millitokens, allowed are 1 to 10000000000000000");
  EXPECT_EQ(message({999, 1000, 1}),
            "capacity is 999 millitokens, a limiter inside the process counts whole tokens: at "
            "least 1000");
  EXPECT_EQ(message(PerDay(1).Burst(40'000)),
            "capacity takes more than 100 years to come back, allowed are 100 years");
  EXPECT_EQ(message(PerSecond(1'000'000'000'000)),
            "amount is 1000000000000000 millitokens in 1000 ms, too fast for a limiter inside the "
            "process: at most about 50 tokens a nanosecond");
  EXPECT_EQ(Gcra::For({999, 1000, 1}).error().code, Code::kInvalidArgument);
}

TEST(GcraDeathTest, RequireEndsTheProgramWithTheReason) {
  EXPECT_DEATH((void)Gcra::Require({0, 1, 1}), "capacity is 0 millitokens");
}

TEST(Gcra, AfterItsLifetimeGivesWhatIsLeftAndNothingComesBack) {
  const Gcra gcra = Gcra::For(PerSecond(3).Burst(2)).value();
  const auto life = static_cast<std::int64_t>(gcra.life_nanos);
  std::uint64_t word = 0;
  EXPECT_TRUE(gcra.Take(word, gcra.At(life), 1));
  EXPECT_EQ(gcra.RetryAfter(word, life, 2), kNever);
  EXPECT_TRUE(gcra.Take(word, gcra.At(INT64_MAX), 1));
  EXPECT_FALSE(gcra.Take(word, gcra.At(INT64_MAX), 1));
  EXPECT_EQ(gcra.Available(word, gcra.At(INT64_MAX)), 0);
}

TEST(Gcra, BeforeItsOriginItIsAsAtIt) {
  const Gcra gcra = Gcra::For(PerSecond(3)).value();
  EXPECT_EQ(gcra.At(-1), 0);
  EXPECT_EQ(gcra.At(INT64_MIN), 0);
  EXPECT_EQ(gcra.At(5), 15);
}

// Fails if: the cost is rounded down, or the span is that of the whole tokens only.
RC_GTEST_PROP(GcraProperty, CostIsNeverBelowTheExactIntervalAndTheErrorIsTold, ()) {
  const Quota quota = AnyQuota();
  const Result<Gcra> gcra = Gcra::For(quota);
  RC_PRE(gcra.has_value());
  const Fraction exact = ExactCost(quota, gcra->units_per_nano);
  RC_ASSERT(Fraction(gcra->cost) >= exact);
  RC_ASSERT(Fraction(gcra->cost) < exact + Fraction(1));
  RC_ASSERT((gcra->rate_error == 0) == (Fraction(gcra->cost) == exact));
  RC_ASSERT(gcra->rate_error <= 0.1F);
  RC_ASSERT(WideInt{gcra->span} == Fraction(WideInt{quota.capacity} * gcra->cost, 1000).floor());
}

// Fails if: units are chosen regardless of the fill time, or the lifetime ignores that a word may
// be a whole span ahead.
RC_GTEST_PROP(GcraProperty, LivesTenYearsWithoutLeavingTheWord, ()) {
  const Result<Gcra> gcra = Gcra::For(AnyQuota());
  RC_PRE(gcra.has_value());
  RC_ASSERT(gcra->life_nanos >= kTenYears);
  const WideInt last = WideInt{gcra->life_nanos} * gcra->units_per_nano;
  RC_ASSERT(last + 2 * WideInt{gcra->span} <= WideInt{UINT64_MAX});
  std::uint64_t word = 0;
  const std::uint64_t end = gcra->At(INT64_MAX);
  RC_ASSERT(gcra->Take(word, end, static_cast<std::int64_t>(gcra->capacity)));
  RC_ASSERT(word >= end);
  RC_ASSERT(word - end <= gcra->span);
}

// Fails if: a coarser cost is preferred to a more exact one, or the search ends before the last
// unit.
RC_GTEST_PROP(GcraProperty, NoOtherUnitIsNearer, ()) {
  Quota quota = AnyQuota();
  quota.capacity = kMillitokens;
  const Result<Gcra> gcra = Gcra::For(quota);
  RC_PRE(gcra.has_value());
  const auto excess = [&](std::uint64_t units, std::uint64_t cost) {
    return WideInt{cost} * quota.amount - WideInt{units} * quota.period * 1'000'000'000;
  };
  // Here a refill from empty to full takes at most a year, so that with 48 units of 1/48 ns the
  // word still lasts ten years and two spans.
  RC_PRE(WideInt{quota.capacity} * quota.period / quota.amount < 365LL * 86'400'000);
  for (std::uint64_t units = 1; units <= 48; ++units) {
    const auto cost = static_cast<std::uint64_t>(ExactCost(quota, units).ceil());
    RC_ASSERT(excess(units, cost) * gcra->units_per_nano >=
              excess(gcra->units_per_nano, gcra->cost) * WideInt{units});
  }
}

}  // namespace
}  // namespace weir
