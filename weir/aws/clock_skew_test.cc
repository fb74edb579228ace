#include "weir/aws/clock_skew.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace weir {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr UnixMillis kWall{1'767'225'600'013};

TEST(ParseHttpDate, ReadsTheDateOfAHeader) {
  EXPECT_EQ(ParseHttpDate("Thu, 01 Jan 1970 00:00:00 GMT"), UnixMillis{0});
  EXPECT_EQ(ParseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT"), UnixMillis{784'111'777'000});
  EXPECT_EQ(ParseHttpDate("Thu, 29 Feb 2024 23:59:59 GMT"), UnixMillis{1'709'251'199'000});
  EXPECT_EQ(ParseHttpDate("Sat, 31 Dec 2016 23:59:60 GMT"), UnixMillis{1'483'228'800'000});
}

TEST(ParseHttpDate, RefusesAllElse) {
  for (const char* text :
       {"", "now", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 NOV 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Fri, 29 Feb 2023 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 08:49:-7 GMT", "Sun, 06 Nov 19.4 08:49:37 GMT"}) {
    EXPECT_EQ(ParseHttpDate(text), std::nullopt) << text;
  }
}

// Fails if: months are counted from 0, or the day of a leap year is lost.
RC_GTEST_PROP(ParseHttpDateProperty, ReadsWhatTheCLibraryWrites, ()) {
  const auto at = *rc::gen::inRange<std::int64_t>(0, 253'402'300'800);
  const std::tm utc = fmt::gmtime(static_cast<std::time_t>(at));
  const std::string text = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", utc);
  RC_ASSERT(ParseHttpDate(text) == UnixMillis{at * 1000});
}

TEST(ClockSkew, ASmallDifferenceIsLeftAlone) {
  ClockSkew skew;
  EXPECT_EQ(skew.SigningTime(kWall), kWall);
  skew.Observe(kWall + minutes(4), kWall);
  EXPECT_EQ(skew.SigningTime(kWall), kWall);
  EXPECT_EQ(skew.difference(), minutes(4));
}

TEST(ClockSkew, ALargeOneIsCorrectedBothWays) {
  ClockSkew skew;
  skew.Observe(kWall + minutes(7), kWall);
  EXPECT_EQ(skew.SigningTime(kWall + seconds(1)), kWall + minutes(7) + seconds(1));
  skew.Observe(kWall - minutes(9), kWall);
  EXPECT_EQ(skew.SigningTime(kWall), kWall - minutes(9));
}

TEST(ClockSkew, OnceRefusedAnyDifferenceIsCorrected) {
  ClockSkew skew;
  skew.Observe(kWall + minutes(1), kWall);
  skew.OnRefused();
  EXPECT_EQ(skew.SigningTime(kWall), kWall + minutes(1));
}

TEST(ClockSkew, AClockThatWasSetRightNeedsNoCorrection) {
  ClockSkew skew;
  skew.Observe(kWall + minutes(30), kWall);
  skew.OnRefused();
  skew.Observe(kWall + minutes(31), kWall + minutes(31));
  EXPECT_EQ(skew.SigningTime(kWall + minutes(31)), kWall + minutes(31));
}

}  // namespace
}  // namespace weir
