// Reading a bucket's item, whichever client wrote it.
#include "weir/rate_limiter_py/tokens/token_item.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/rate_limiter_py/testing/token_fixture.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::Of;
using testing::HasSubstr;

// 4 tokens and a half, as of kStart, under 10 per 100 s.
const dynamo::Item kOurs{{"tokens", Of(4)},
                         {"lastRefill", Of(kStart.value)},
                         {"lastToken", Of(kStart.value)},
                         {"w_refill", Of(kStart.value)},
                         {"w_limit", Of(10)},
                         {"w_window", Of(100'000)},
                         {"w_part", Of(50'000)},
                         {"w_parts", Of(100'000)},
                         {"w_take", Of("f00d")}};

TokenImage Read(const dynamo::Item& item) {
  const auto image = ReadImage(kKey, item);
  EXPECT_TRUE(image && *image);
  return image && *image ? **image : TokenImage{};
}

std::int64_t AvailableLater(const dynamo::Item& item, std::int64_t later,
                            const AccountLimit& limit = kTenPer100) {
  return AvailableAt(Read(item), limit, kStart + milliseconds(later));
}

dynamo::Item With(std::string_view attribute, dynamo::Value value) {
  dynamo::Item item = kOurs;
  item.insert_or_assign(std::string(attribute), std::move(value));
  return item;
}

TEST(TokenItem, ThePartOfATokenCounts) {
  EXPECT_EQ(AvailableLater(kOurs, 4999), 4);
  EXPECT_EQ(AvailableLater(kOurs, 5000), 5);
  EXPECT_EQ(Read(kOurs).take, "f00d");
}

TEST(TokenItem, ThePartIsVoidOnceSomebodyElseRefilled) {
  const dynamo::Item refilled = With("lastRefill", Of(kStart.value - 1));
  EXPECT_FALSE(KnowsQuota(Read(refilled)));
  EXPECT_EQ(AvailableLater(refilled, 9998), 4);
  EXPECT_EQ(AvailableLater(refilled, 9999), 5);
}

TEST(TokenItem, ThePartStaysWhereSomebodyElseOnlyTook) {
  EXPECT_EQ(AvailableLater(With("tokens", Of(3)), 5000), 4);
}

TEST(TokenItem, ThePartIsNeverAWholeTokenOrLess) {
  for (const dynamo::Item& item : {With("w_part", Of(100'000)), With("w_part", Of(-1)),
                                   With("w_parts", Of(0)), With("w_part", Of("half"))}) {
    EXPECT_EQ(AvailableLater(item, 5000), 4);
    EXPECT_EQ(AvailableLater(item, 10'000), 5);
  }
}

TEST(TokenItem, AFullBucketHasNoPart) {
  EXPECT_EQ(AvailableLater(With("tokens", Of(10)), 0), 10);
  EXPECT_EQ(AvailableLater(With("tokens", Of(12)), 0), 10) << "the limit was lowered by hand";
  EXPECT_EQ(AvailableLater(kOurs, 100'000'000), 10);
}

// Their first request creates the item and counts down from 0; their second was never made.
TEST(TokenItem, ThatWasNeverRefilledWasCountedDownFromTheLimit) {
  const dynamo::Item taken{{"tokens", Of(-1)}, {"lastToken", Of(kStart.value)}};
  EXPECT_EQ(AvailableLater(taken, 0), 9);
  EXPECT_EQ(AvailableLater(taken, 9999), 9);
  EXPECT_EQ(AvailableLater(taken, 10'000), 10);
  EXPECT_EQ(AvailableLater({{"tokens", Of(-13)}, {"lastToken", Of(kStart.value)}}, 10'000), -2);
}

TEST(TokenItem, NegativeTokensAreDebt) {
  const dynamo::Item debt{{"tokens", Of(-7)}, {"lastRefill", Of(kStart.value)}};
  EXPECT_EQ(AvailableLater(debt, 30'000), -4);
  EXPECT_EQ(AvailableLater(debt, 79'999), 0);
  EXPECT_EQ(AvailableLater(debt, 80'000), 1);
}

TEST(TokenItem, WhatIsUsedStaysUsedUnderAnotherLimit) {
  EXPECT_EQ(AvailableLater(kOurs, 0, {20, kTenPer100.window}), 14);
  EXPECT_EQ(AvailableLater(kOurs, 5000, {20, kTenPer100.window}), 15) << "earned at the old rate";
  EXPECT_EQ(AvailableLater(kOurs, 0, {3, kTenPer100.window}), -3);
  EXPECT_EQ(AvailableLater(kOurs, 50'000, {10, std::chrono::seconds(1)}), 9);
}

TEST(TokenItem, WithoutTokensIsAFullBucket) {
  dynamo::Item item = kOurs;
  item.erase("tokens");
  const auto image = ReadImage(kKey, item);
  ASSERT_TRUE(image);
  EXPECT_FALSE(*image);
}

TEST(TokenItem, WhatIsNoSuchNumberIsRefusedByName) {
  struct Case {
    std::string_view attribute;
    dynamo::Value value;
    std::string_view told;
  };
  for (const Case& wrong :
       {Case{"tokens", {dynamo::Number{"3.5"}}, "tokens: 3.5; expected a whole number"},
        Case{"tokens", Of("many\n"), R"(tokens: the text 'many\x0a')"},
        Case{"tokens", Of(true), "tokens: neither a number nor a text"},
        Case{"tokens", {dynamo::Number{"1E30"}}, "tokens: 1E30"},
        Case{"lastRefill", Of(-1), "lastRefill: -1"},
        Case{"lastRefill", Of(1'767'225'600'013'000), "lastRefill: 1767225600013000"},
        Case{"lastToken", Of("now"), "lastToken: the text 'now'"},
        Case{"w_limit", Of(0), "w_limit: 0"}}) {
    const auto image = ReadImage(kKey, With(wrong.attribute, wrong.value));
    ASSERT_FALSE(image) << wrong.told;
    EXPECT_EQ(image.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(image.error().message, HasSubstr("tokens of emr for acme: "));
    EXPECT_THAT(image.error().message, HasSubstr(std::string(wrong.told)));
  }
}

}  // namespace
}  // namespace weir::rate_limiter_py
