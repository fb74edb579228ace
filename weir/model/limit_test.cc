#include "weir/model/limit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "weir/model/testing/generators.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMinute = 60'000;

template <class T>
std::string MessageOf(const Result<T>& result) {
  return result ? "accepted" : result.error().message;
}

struct Reading {
  const char* text;
  Quota quota;
};

// The first three are zae-limiter's examples.
const Reading kReadings[] = {
    {"rpm:1000", {1'000'000, 1'000'000, kMinute}},
    {"tpm:10000/min:15000", {15'000'000, 10'000'000, kMinute}},
    {"x:5/30sec", {5000, 5000, 30'000}},
    {"x:5:2", {2000, 5000, kMinute}},
    {"x:0.001/ms", {1, 1, 1}},
    {"x:1.5/250ms:0.25", {250, 1500, 250}},
    {"x:1/hour", {1000, 1000, 3'600'000}},
    {"x:1/2day", {1000, 1000, 172'800'000}},
    {"x:007/01min", {7000, 7000, kMinute}},
    {"x:10000000000000/366day", {kMaxMillitokens, kMaxMillitokens, kMaxPeriodMillis}},
    {"x:1/31622400000ms", {1000, 1000, kMaxPeriodMillis}},
};

// Durations, periods and allowances have the same units.
TEST(ParseLimit, ReadsEveryNameOfAUnit) {
  EXPECT_EQ(ParseLimit("x:5/s"), ParseLimit("x:5/sec"));
  EXPECT_EQ(ParseLimit("x:5/3m"), ParseLimit("x:5/3min"));
  EXPECT_EQ(ParseLimit("x:5/2h"), ParseLimit("x:5/2hour"));
  EXPECT_EQ(ParseLimit("x:5/d"), ParseLimit("x:5/day"));
  EXPECT_EQ(ParseLimit("x:5~2s"), ParseLimit("x:5~2sec"));
  EXPECT_EQ(FormatLimit(*ParseLimit("x:5/2h")), "x:5/2hour");
}

TEST(ParseLimit, ReadsRatePeriodAndBurst) {
  for (const Reading& reading : kReadings) {
    const auto limit = ParseLimit(reading.text);
    ASSERT_TRUE(limit) << reading.text << ": " << limit.error().message;
    const std::string text = reading.text;
    EXPECT_EQ(limit->name, text.substr(0, text.find(':')));
    EXPECT_EQ(limit->quota, reading.quota) << text;
  }
}

constexpr milliseconds kHalf{500};

struct RefusedLimit {
  const char* text;
  const char* what;
  const char* right;
};

const RefusedLimit kRefusedLimits[] = {
    {"x:5~", "allowance '' has no unit", "500ms"},
    {"x:5~500", "allowance '500' has no unit", "500ms"},
    {"x:5~0ms", "allowance '0ms' is not positive", "500ms"},
    {"x:5~61sec", "allowance '61sec' is too long", "at most 1min"},
    {"x:5~1min:7", "allowance '1min:7' has an unknown unit", "500ms"},
    {"x:5~1sec~1sec", "allowance '1sec~1sec' has an unknown unit", "500ms"},
    {"", "limit name '' is empty", "a letter, then letters"},
    {":5", "limit name '' is empty", "a letter, then letters"},
    {"wcu:5", "'wcu' is reserved", "a letter, then letters"},
    {"a b:5", "' ' at position 2", "a letter, then letters"},
    {"rpm", "limit 'rpm' has no rate", "'rpm:1000' or 'rpm:1000/min:1500'"},
    {"rpm:", "limit 'rpm': rate '' is not a number", "such as 1000"},
    {"rpm:fast", "rate 'fast' is not a number", "such as 1000"},
    {"rpm: 5", "rate ' 5' is not a number", "such as 1000"},
    {"rpm:1e3", "rate '1e3' is not a number", "such as 1000"},
    {"rpm:.5", "rate '.5' is not a number", "such as 1000"},
    {"rpm:5.", "rate '5.' is not a number", "such as 1000"},
    {"rpm:1.0005", "rate '1.0005' has more than three decimals", "with up to three decimals"},
    {"rpm:0:5", "rate is 0 and the capacity is not", "from 0.001"},
    {"rpm:-5", "rate '-5' is not positive", "from 0.001"},
    {"rpm:10000000000000.001", "rate '10000000000000.001' is too large", "to 10000000000000"},
    {"rpm:99999999999999999999999999", "is too large", "to 10000000000000"},
    {"rpm:5/", "period '' has no unit", "such as 30sec"},
    {"rpm:5/30", "period '30' has no unit", "such as 30sec"},
    {"rpm:5/minute", "period 'minute' has an unknown unit", "ms, sec, min, hour or day"},
    {"rpm:5/1.5sec", "period '1.5sec' is not whole", "a whole number"},
    {"rpm:5/-1sec", "period '-1sec' has an unknown unit", "a whole number"},
    {"rpm:5/SEC", "period 'SEC' has an unknown unit", "ms, sec, min"},
    {"rpm:5/0sec", "period '0sec' is not positive", "such as 30sec"},
    {"rpm:5/367day", "period '367day' is too long", "at most 366day"},
    {"rpm:5/31622400001ms", "is too long", "at most 366day"},
    {"rpm:5/99999999999999999999sec", "is too long", "at most 366day"},
    {"rpm:5/min/min", "period 'min/min' has an unknown unit", "such as 30sec"},
    {"rpm:5:", "burst '' is not a number", "such as 1000"},
    {"rpm:5/min:0", "burst or capacity is 0 and the rate is not", "a rate of 0 alone"},
    {"rpm:5:6:7", "burst '6:7' is not a number", "such as 1000"},
    {"rpm:5\n", "rate '5\\x0a' is not a number", "such as 1000"},
};

TEST(ParseLimit, ARefusalNamesThePartAndShowsARightOne) {
  for (const RefusedLimit& refused : kRefusedLimits) {
    const auto limit = ParseLimit(refused.text);
    ASSERT_FALSE(limit) << refused.text;
    EXPECT_EQ(limit.error().code, Code::kInvalidArgument);
    EXPECT_THAT(limit.error().message, HasSubstr(refused.what));
    const std::size_t right = limit.error().message.find("; expected ");
    ASSERT_NE(right, std::string::npos) << limit.error().message;
    EXPECT_THAT(limit.error().message.substr(right), HasSubstr(refused.right));
  }
}

TEST(ParseLimit, ReadsAnAllowanceAtTheEnd) {
  const auto limit = [](const char* text) { return *ParseLimit(text); };
  EXPECT_EQ(limit("x:1000/sec:2000~500ms"), (Limit{"x", PerSecond(1000).Burst(2000), kHalf}));
  EXPECT_EQ(limit("x:1000/sec~500ms"), (Limit{"x", PerSecond(1000), kHalf}));
  EXPECT_EQ(limit("x:5~2sec"), (Limit{"x", PerMinute(5), milliseconds(2000)}));
  EXPECT_EQ(limit("x:5~min"), (Limit{"x", PerMinute(5), milliseconds(60'000)}));
  EXPECT_EQ(FormatLimit({"x", PerSecond(1000), kHalf}), "x:1000/sec~500ms");
  EXPECT_EQ(FormatLimit({"x", PerMinute(5), milliseconds(60'000)}), "x:5~min");
  EXPECT_EQ(FormatLimit({"x", PerMinute(5), milliseconds(1001)}), "x:5~1001ms");
}

TEST(Validate, AnAllowanceIsFromNothingToAMinute) {
  EXPECT_TRUE(Validate({{"x", PerMinute(5), kMaxAllowance}}));
  for (const std::int64_t wrong : {-1, 60'001}) {
    const Status status = Validate({{"x", PerMinute(5), milliseconds(wrong)}});
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("limit 'x': allowance is"));
    EXPECT_THAT(status.error().message, HasSubstr("allowed are 0 to 60000"));
  }
}

TEST(FormatLimit, IsTheShortestSpelling) {
  const auto text = [](std::int64_t capacity, std::int64_t amount, std::int64_t period) {
    return FormatLimit({"x", {capacity, amount, period}});
  };
  EXPECT_EQ(text(1'000'000, 1'000'000, kMinute), "x:1000");
  EXPECT_EQ(text(15'000'000, 10'000'000, kMinute), "x:10000:15000");
  EXPECT_EQ(text(5000, 5000, 30'000), "x:5/30sec");
  EXPECT_EQ(text(5000, 5000, 1000), "x:5/sec");
  EXPECT_EQ(text(5000, 5000, 120'000), "x:5/2min");
  EXPECT_EQ(text(5000, 5000, 3'600'000), "x:5/hour");
  EXPECT_EQ(text(5000, 5000, 36'000'000), "x:5/10hour");
  EXPECT_EQ(text(5000, 5000, 86'400'000), "x:5/day");
  EXPECT_EQ(text(1, 1500, 1), "x:1.5/ms:0.001");
  EXPECT_EQ(text(5000, 5000, 60'001), "x:5/60001ms");
}

// Fails if: a unit is missing from the list (a period of whole milliseconds prints as nothing), or
// the burst is left out when it is smaller than the rate.
RC_GTEST_PROP(LimitProperty, ReadsBackAsItWas, ()) {
  const Limit limit = *AnyLimit();
  const auto again = ParseLimit(FormatLimit(limit));
  RC_ASSERT(again);
  RC_ASSERT(*again == limit);
}

/// Every spelling of the limit, except for numbers with superfluous digits.
std::vector<std::string> Spellings(const Limit& limit) {
  constexpr std::pair<const char*, std::int64_t> kUnits[] = {
      {"ms", 1}, {"sec", 1000}, {"min", kMinute}, {"hour", 3'600'000}, {"day", 86'400'000}};
  const auto& [capacity, amount, period] = limit.quota;
  std::vector<std::string> periods = {""};
  for (const auto& [name, millis] : kUnits) {
    if (period == millis) periods.push_back(fmt::format("/{}", name));
    if (period % millis == 0) periods.push_back(fmt::format("/{}{}", period / millis, name));
  }
  std::vector<std::string> all;
  for (const std::string& text : periods) {
    const std::string spelling = limit.name + ":" + FormatTokens(amount) + text;
    all.push_back(spelling);
    all.push_back(spelling + ":" + FormatTokens(capacity));
  }
  return all;
}

// Fails if: the units are tried smallest first, "1" is written before a unit, or /min is written.
RC_GTEST_PROP(LimitProperty, NoOtherSpellingIsShorter, ()) {
  const Limit limit = *AnyLimit();
  const std::string shortest = FormatLimit(limit);
  for (const std::string& spelling : Spellings(limit)) {
    const auto read = ParseLimit(spelling);
    RC_ASSERT(read);
    if (*read == limit) RC_ASSERT(shortest.size() <= spelling.size());
  }
}

TEST(ParseLimits, ReadsAListInItsOrder) {
  const auto limits = ParseLimits(" tpm:10/sec , rpm:5,x:1:2\t");
  ASSERT_TRUE(limits) << limits.error().message;
  ASSERT_EQ(limits->size(), 3U);
  EXPECT_EQ((*limits)[0], (Limit{"tpm", PerSecond(10)}));
  EXPECT_EQ((*limits)[1], (Limit{"rpm", PerMinute(5)}));
  EXPECT_EQ((*limits)[2], (Limit{"x", PerMinute(1).Burst(2)}));
}

TEST(ParseLimits, RefusesRepetitionsGapsAndTooMany) {
  EXPECT_THAT(MessageOf(ParseLimits("")), HasSubstr("expected a list such as 'rpm:1000"));
  EXPECT_THAT(MessageOf(ParseLimits(" ")), HasSubstr("no limits"));
  EXPECT_THAT(MessageOf(ParseLimits("a:1,,b:1")), HasSubstr("limit name '' is empty"));
  EXPECT_THAT(MessageOf(ParseLimits("a:1,")), HasSubstr("limit name '' is empty"));
  EXPECT_THAT(MessageOf(ParseLimits("a:1,b:x")), HasSubstr("limit 'b': rate 'x'"));
  EXPECT_THAT(MessageOf(ParseLimits("a:1,b:1,a:2")), HasSubstr("limit 'a' appears twice"));

  std::string list = "a0:1";
  for (std::size_t i = 1; i < kMaxLimits; ++i) list += fmt::format(",a{}:1", i);
  EXPECT_TRUE(ParseLimits(list));
  EXPECT_THAT(MessageOf(ParseLimits(list + ",b:1")),
              HasSubstr("21 limits on one bucket; expected 1 to 20"));
}

TEST(ParseLimit, ARateOf0Blocks) {
  const auto limit = ParseLimit("rpm:0/hour");
  ASSERT_TRUE(limit) << limit.error().message;
  EXPECT_EQ(limit->quota, (Quota{0, 0, 3'600'000}));
  EXPECT_TRUE(Blocks(*limit));
  EXPECT_TRUE(Validate({*limit}));
  EXPECT_EQ(FormatLimit(*limit), "rpm:0/hour");
  EXPECT_EQ(FormatLimit(*ParseLimit("rpm:0.000:0")), "rpm:0");
  EXPECT_FALSE(Blocks({"rpm", PerMinute(1)}));
  EXPECT_FALSE(Validate({{"rpm", {0, 0, 0}}}));
}

TEST(ValidateLimits, ChecksNumberNamesAndQuotas) {
  const Limit good = {"rpm", PerMinute(1)};
  EXPECT_TRUE(Validate({good, {"tpm", PerMinute(1)}}));
  EXPECT_THAT(MessageOf(Validate(std::vector<Limit>())), HasSubstr("0 limits on one bucket"));
  EXPECT_THAT(MessageOf(Validate({good, good})), HasSubstr("'rpm' appears twice"));
  EXPECT_THAT(MessageOf(Validate({good, {"wcu", PerMinute(1)}})), HasSubstr("reserved"));
  EXPECT_THAT(MessageOf(Validate({good, {"tpm", {1, 1, 0}}})), HasSubstr("limit 'tpm': period"));
  EXPECT_THAT(MessageOf(Validate({{"tpm", {0, 1, 1}}})), HasSubstr("limit 'tpm': capacity"));
}

TEST(ParseTokens, ReadsUpToThreeDecimalsAndASign) {
  const std::pair<const char*, std::int64_t> kVectors[] = {
      {"0", 0},
      {"-0", 0},
      {"3", 3000},
      {"1.5", 1500},
      {"+1.50", 1500},
      {"-0.25", -250},
      {"0.001", 1},
      {"9223372036854775.807", INT64_MAX},
      {"-9223372036854775.808", INT64_MIN},
      {"0000000000000000000000000000001", 1000},
  };
  for (const auto& [text, millitokens] : kVectors) {
    const auto tokens = ParseTokens(text);
    ASSERT_TRUE(tokens) << text << ": " << tokens.error().message;
    EXPECT_EQ(*tokens, millitokens) << text;
  }
}

TEST(ParseTokens, RefusesEverythingElse) {
  for (const char* text : {"", "-", "+", ".", "1.", ".1", "--1", "1,5", "1e3", "0x1", " 1", "1 ",
                           "nan", "inf", "1.-5", "1.5.0"}) {
    EXPECT_THAT(MessageOf(ParseTokens(text)), HasSubstr("is not a number")) << text;
  }
  EXPECT_THAT(MessageOf(ParseTokens("0.0001")), HasSubstr("has more than three decimals"));
  EXPECT_THAT(MessageOf(ParseTokens("1.5000")), HasSubstr("expected tokens with up to"));
  for (const char* text : {"9223372036854775.808", "-9223372036854775.809", "9223372036854776",
                           "18446744073709551.616", "99999999999999999999999999999999"}) {
    EXPECT_THAT(MessageOf(ParseTokens(text)), HasSubstr("is too large")) << text;
  }
}

TEST(FormatTokens, WritesNoNeedlessZeros) {
  EXPECT_EQ(FormatTokens(1500), "1.5");
  EXPECT_EQ(FormatTokens(-250), "-0.25");
  EXPECT_EQ(FormatTokens(3000), "3");
  EXPECT_EQ(FormatTokens(0), "0");
  EXPECT_EQ(FormatTokens(100'000), "100");
  EXPECT_EQ(FormatTokens(-1), "-0.001");
  EXPECT_EQ(FormatTokens(INT64_MIN), "-9223372036854775.808");
}

// Fails if: the decimals are not padded to three (1.05 reads back as 1.5), or the sign is taken
// from the whole part (-0.25 loses it).
RC_GTEST_PROP(TokensProperty, TextReadsBackAsItWas, ()) {
  const auto millitokens = *rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(),
                                           rc::gen::inRange<std::int64_t>(-5000, 5000),
                                           rc::gen::element(INT64_MIN, INT64_MIN + 1, INT64_MAX));
  const auto again = ParseTokens(FormatTokens(millitokens));
  RC_ASSERT(again);
  RC_ASSERT(*again == millitokens);
}

}  // namespace
}  // namespace weir
