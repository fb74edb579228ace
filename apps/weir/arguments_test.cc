#include "apps/weir/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

using std::chrono::hours;
using testing::HasSubstr;

TEST(ParseAmount, ReadsANameAndTokens) {
  const Result<Amount> amount = ParseAmount("tpm=500.125");
  ASSERT_TRUE(amount);
  EXPECT_EQ(amount->limit, "tpm");
  EXPECT_EQ(amount->tokens.milli(), 500'125);
}

TEST(ParseAmount, RefusesWhatIsNotAnAmountToTake) {
  for (const std::string text :
       {"rpm", "=1", "rpm=", "rpm=x", "rpm=-1", "r pm=1", "wcu=1", "rpm=1.0001", "rpm=1=1"}) {
    EXPECT_FALSE(ParseAmount(text)) << text;
  }
}

TEST(ParseAmount, TheErrorSaysWhatWouldBeRight) {
  EXPECT_THAT(ParseAmount("rpm").error().message, HasSubstr("name=amount"));
}

TEST(ParseSignedAmount, MayGiveBack) {
  EXPECT_EQ(ParseSignedAmount("tpm=-20")->tokens.milli(), -20'000);
}

TEST(ParseAmounts, RefusesALimitThatIsNamedTwice) {
  const auto amounts = ParseAmounts({"rpm=1", "tpm=2", "rpm=3"}, ParseAmount);
  ASSERT_FALSE(amounts);
  EXPECT_THAT(amounts.error().message, HasSubstr("'rpm' is named twice"));
}

TEST(ParseAmounts, KeepsTheOrder) {
  const auto amounts = ParseAmounts({"tpm=2", "rpm=1"}, ParseAmount);
  ASSERT_TRUE(amounts);
  ASSERT_EQ(amounts->size(), 2U);
  EXPECT_EQ((*amounts)[0].limit, "tpm");
  EXPECT_EQ((*amounts)[1].limit, "rpm");
}

TEST(ParseDuration, ReadsEachUnit) {
  EXPECT_EQ(*ParseDuration("250ms"), milliseconds(250));
  EXPECT_EQ(*ParseDuration("2s"), std::chrono::seconds(2));
  EXPECT_EQ(*ParseDuration("1.5m"), std::chrono::seconds(90));
  EXPECT_EQ(*ParseDuration("1h"), hours(1));
  // Every unit of a period and of an allowance is a unit of a duration.
  EXPECT_EQ(*ParseDuration("2sec"), std::chrono::seconds(2));
  EXPECT_EQ(*ParseDuration("1.5min"), std::chrono::seconds(90));
  EXPECT_EQ(*ParseDuration("1hour"), hours(1));
  EXPECT_EQ(*ParseDuration("1d"), hours(24));
  EXPECT_EQ(*ParseDuration("1day"), hours(24));
  EXPECT_EQ(*ParseDuration("0.001ms"), std::chrono::microseconds(1));
  EXPECT_EQ(*ParseDuration("8784h"), hours(366 * 24));
}

TEST(ParseDuration, RefusesOtherTexts) {
  for (const std::string text :
       {"", "2", "s", "-1s", "2 s", "2secs", "1.2.3s", "1e3s", "8784.001h", "99999999999999999h"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

// Q14. Fails if: a duration that is too long is reported as malformed.
TEST(ParseDuration, Q14SaysWhatIsTooLong) {
  for (const std::string text : {"8784.001h", "99999999999999999h"}) {
    EXPECT_EQ(ParseDuration(text).error().message,
              "'" + text + "' is too long: write at most 366 days");
  }
  EXPECT_FALSE(ParsePositiveDuration("0s"));
  EXPECT_EQ(*ParsePositiveDuration("1s"), std::chrono::seconds(1));
}

TEST(ParseTime, ReadsRfc3339AndMilliseconds) {
  EXPECT_EQ(ParseTime("1970-01-01T00:00:00Z")->value, 0);
  EXPECT_EQ(ParseTime("2023-11-16T18:15:46.680Z")->value, 1'700'158'546'680);
  EXPECT_EQ(ParseTime("2023-11-16t18:15:46z")->value, 1'700'158'546'000);
  EXPECT_EQ(ParseTime("2023-11-16T19:15:46+01:00")->value, 1'700'158'546'000);
  EXPECT_EQ(ParseTime("2023-11-16T12:45:46-05:30")->value, 1'700'158'546'000);
  EXPECT_EQ(ParseTime("1700158546680")->value, 1'700'158'546'680);
  EXPECT_EQ(ParseTime("2023-11-16 18:15:46")->value, 1'700'158'546'000) << "Q12";
  EXPECT_EQ(ParseTime("2023-11-16")->value, 1'700'092'800'000) << "Q12";
}

TEST(ParseTime, DropsWhatIsBeyondMilliseconds) {
  EXPECT_EQ(ParseTime("2023-11-16 18:15:46.6809999Z")->value, 1'700'158'546'680);
  EXPECT_EQ(ParseTime("2023-11-16T18:15:46.6Z")->value, 1'700'158'546'600);
}

TEST(ParseTime, RefusesOtherTexts) {
  for (const std::string text :
       {"", "now", "2023-11-16T", "2023-11-16T18:15", "2023-11-31T00:00:00Z", "2023-11-16Z",
        "2023-13-01T00:00:00Z", "2023-11-16T24:00:00Z", "2023-11-16T18:60:00Z",
        "2023-11-16T18:15:46.Z", "2023-11-16T18:15:46ZZ", "2023-11-16T18:15:46+0100",
        "2023-11-16T18:15:46+24:00", "2023-1-16T18:15:46Z", "12x", "+023-11-16T18:15:46Z",
        "2023-11--6T18:15:46Z"}) {
    EXPECT_FALSE(ParseTime(text)) << text;
  }
}

// Q12. Fails if: a time is accepted that overflows the sums of a refill or a plot.
TEST(ParseTime, Q12RefusesTimesFarAway) {
  EXPECT_EQ(ParseTime("253402300799999")->value, 253'402'300'799'999);
  for (const std::string text :
       {"-1", "253402300800000", "9223372036854775807", "-9223372036854775808",
        "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"}) {
    const auto time = ParseTime(text);
    ASSERT_FALSE(time) << text;
    EXPECT_EQ(time.error().message,
              "'" + text + "' is not in range: write a time from 1970 to 9999");
  }
}

// Fails if: FormatTime or ParseTime loses the milliseconds.
RC_GTEST_PROP(ParseTimeProperty, ReadsWhatFormatTimeWrites, ()) {
  const auto millis = *rc::gen::inRange<std::int64_t>(0, 253'402'300'800'000);
  RC_ASSERT(ParseTime(FormatTime(UnixMillis{millis}))->value == millis);
}

TEST(ParseMetadata, SplitsAtTheFirstEqualsSign) {
  EXPECT_EQ(*ParseMetadata("team=a=b"), (std::pair<std::string, std::string>("team", "a=b")));
  EXPECT_EQ(*ParseMetadata("team="), (std::pair<std::string, std::string>("team", "")));
  EXPECT_FALSE(ParseMetadata("team"));
  EXPECT_FALSE(ParseMetadata("=x"));
}

TEST(ParseIntegerInRange, KeepsToItsBounds) {
  EXPECT_EQ(*ParseIntegerInRange("1", 1, 9), 1U);
  EXPECT_EQ(*ParseIntegerInRange("9", 1, 9), 9U);
  for (const std::string text : {"0", "10", "", "-1", "1.0", "99999999999999999999", "1 "}) {
    EXPECT_FALSE(ParseIntegerInRange(text, 1, 9)) << text;
  }
}

}  // namespace
}  // namespace weir::app
