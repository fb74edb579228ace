#include "weir/service/rate_units.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::service {
namespace {

using std::chrono::milliseconds;

TEST(RateOf, StatesWholeRatesExactly) {
  EXPECT_EQ(RateOf(PerSecond(10)), (StatedRate{10, RateUnit::kSecond, 1}));
  EXPECT_EQ(RateOf(PerMinute(100)), (StatedRate{100, RateUnit::kMinute, 1}));
  EXPECT_EQ(RateOf(PerPeriod(5, std::chrono::seconds(30))), (StatedRate{5, RateUnit::kSecond, 30}));
  EXPECT_EQ(RateOf(PerPeriod(5, std::chrono::hours(24 * 7))), (StatedRate{5, RateUnit::kWeek, 1}));
  EXPECT_EQ(RateOf(PerPeriod(5, std::chrono::hours(24 * 60))),
            (StatedRate{5, RateUnit::kMonth, 2}));
  EXPECT_EQ(RateOf(PerPeriod(5, std::chrono::hours(24 * 365))),
            (StatedRate{5, RateUnit::kYear, 1}));
}

TEST(RateOf, RoundsDownWhatHasNoUnit) {
  EXPECT_EQ(RateOf(PerPeriod(1, milliseconds(300))), (StatedRate{3, RateUnit::kSecond, 1}));
  EXPECT_EQ(RateOf({.capacity = 1'000, .amount = 500, .period = 1'000}),
            (StatedRate{30, RateUnit::kMinute, 1}));
}

TEST(RateOf, ALimitThatBlocksHasNoRequests) { EXPECT_EQ(RateOf({}).requests, 0U); }

TEST(QuotaOf, RefusesWhatItCannotState) {
  EXPECT_FALSE(QuotaOf({1, RateUnit::kUnknown, 1}));
  EXPECT_FALSE(QuotaOf({1, RateUnit::kMinute, 0}));
  EXPECT_FALSE(QuotaOf({1, RateUnit::kYear, 2}));
  // A product that wraps to 235 days.
  EXPECT_FALSE(QuotaOf({1, RateUnit::kYear, 584'942'418}));
  EXPECT_FALSE(QuotaOf({1, RateUnit::kMonth, UINT32_MAX}));
  EXPECT_FALSE(QuotaOf({1, static_cast<RateUnit>(99), 1}));
}

TEST(QuotaOf, NoRequestsBlock) {
  EXPECT_TRUE(Blocks({.name = "requests", .quota = *QuotaOf({0, RateUnit::kMinute, 1})}));
}

RC_GTEST_PROP(RateUnitsProperty, ARateIsTheSameAfterBothConversions, ()) {
  const StatedRate rate{*rc::gen::inRange<std::uint32_t>(1, UINT32_MAX),
                        static_cast<RateUnit>(*rc::gen::inRange(1, 6)),
                        *rc::gen::inRange<std::uint32_t>(1, 12)};
  const auto quota = QuotaOf(rate);
  RC_ASSERT(quota.has_value());
  const auto back = QuotaOf(RateOf(*quota));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == *quota);
}

}  // namespace
}  // namespace weir::service
