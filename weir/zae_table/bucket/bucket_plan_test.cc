// The form of planned writes and their conditions. The simulation of a fleet shows that these
// conditions suffice.
#include "weir/zae_table/bucket/bucket_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/sharding_fixture.h"

namespace weir::dynamo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr UnixMillis kRf{1'767'225'600'013};

BucketImage Image(std::int64_t tokens, std::vector<Limit> limits = {kRpm}) {
  BucketImage image{.key = {"acme", "gpt-4", 0}, .bucket = {.time = kRf, .meters = {}}};
  for (const Limit& limit : limits) {
    image.names.push_back(limit.name);
    image.stored.push_back(limit.quota);
    image.bucket.meters.push_back(FullMeter(limit.quota));
    image.bucket.meters.back().tokens = tokens;
  }
  return image;
}

Charge Ask(std::vector<std::int64_t> amounts, std::vector<Limit> limits = {kRpm}) {
  return {MakeTarget({"acme", "gpt-4", 0}, std::move(limits)), std::move(amounts)};
}

std::vector<MeterAmounts> TakesOf(const Charge& charge) {
  std::vector<MeterAmounts> sums;
  for (const std::int64_t amount : charge.amounts) sums.push_back({.takes = amount});
  return sums;
}

std::vector<MeterAmounts> AdjustsOf(const Charge& charge) {
  std::vector<MeterAmounts> sums;
  for (const std::int64_t amount : charge.amounts) {
    sums.push_back({.debits = std::max<std::int64_t>(amount, 0),
                    .returns = std::max<std::int64_t>(-amount, 0)});
  }
  return sums;
}

BucketPlan Plan(const BucketImage& image, const Charge& charge, std::int64_t later,
                bool adjusts = false) {
  const std::vector<MeterAmounts> sums = adjusts ? AdjustsOf(charge) : TakesOf(charge);
  auto plan =
      PlanWrite(kShardKeys, image, {.target = *charge.target, .sums = sums, .adjusts = adjusts},
                kRf + milliseconds(later));
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan.value_or(BucketPlan{});
}
constexpr bool kAdjusts = true;

/// Returns the write's expressions, with names and values instead of the placeholders.
std::string Text(const BucketPlan& plan) {
  std::string text;
  plan.writes.front().expression.AppendTo(text);
  const std::size_t names = text.find(R"(,"ExpressionAttributeNames")");
  std::string read = text.substr(0, names);
  const std::string tables = "{" + text.substr(names + 1) + "}";
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = read.find(from); at != read.npos; at = read.find(from, at)) {
      const char next = at + from.size() < read.size() ? read[at + from.size()] : ' ';
      if (next >= '0' && next <= '9') {
        at += from.size();
      } else {
        read.replace(at, from.size(), to);
      }
    }
  };
  for (int i = 0; i < 60; ++i) {
    const auto name = ReadText(tables, "ExpressionAttributeNames.#" + std::to_string(i));
    if (name) replace("#" + std::to_string(i), *name);
    const auto value = ReadText(tables, "ExpressionAttributeValues.:" + std::to_string(i) + ".N");
    if (value) replace(":" + std::to_string(i), *value);
  }
  return read;
}

TEST(BucketPlan, TakesWithoutRefillingWhereNoClampIsPending) {
  const std::string text = Text(Plan(Image(50'000), Ask({1'000}), 2'000));
  EXPECT_THAT(text,
              AllOf(HasSubstr("ADD b_rpm_tk -1000, b_rpm_tc 1000"), HasSubstr("b_rpm_tk >= 1000"),
                    HasSubstr("b_rpm_tk <= 80000"), Not(HasSubstr("SET rf"))));
}

TEST(BucketPlan, RoundsWhatCameBackUpInTheClampsCondition) {
  const Limit thirds{"rpm", {100'000, 10'000, 3000}};
  const std::string text = Text(Plan(Image(50'000, {thirds}), Ask({1'000}, {thirds}), 1));
  EXPECT_THAT(text, HasSubstr("b_rpm_tk <= 99996"));
}

TEST(BucketPlan, RefillsWhereThatIsWhatPays) {
  const std::string text = Text(Plan(Image(500), Ask({1'000}), 200));
  EXPECT_THAT(text, AllOf(HasSubstr("SET rf = 1767225600213"), HasSubstr("ADD b_rpm_tk 1000, "),
                          HasSubstr("rf = 1767225600013"), HasSubstr("b_rpm_tk >= -1000"),
                          HasSubstr("b_rpm_tk <= 98000")));
}

TEST(BucketPlan, AFullBucketIsSetNotAdded) {
  const std::string text = Text(Plan(Image(90'000), Ask({1'000}), 60'000));
  EXPECT_THAT(text, AllOf(HasSubstr("b_rpm_tk = 99000"), HasSubstr("rf = 1767225600013"),
                          HasSubstr("b_rpm_tk >= -500000"), HasSubstr("b_rpm_tc 1000")));
}

TEST(BucketPlan, NewParametersAreWrittenWithTheOldOnesAsCondition) {
  const Limit more{"rpm", {150'000, 20'000, 1000}};
  const std::string text = Text(Plan(Image(50'000), Ask({1'000}, {more}), 0));
  EXPECT_THAT(text, AllOf(HasSubstr("b_rpm_cp = 150000"), HasSubstr("b_rpm_ra = 20000"),
                          HasSubstr("ADD b_rpm_tk 49000"), HasSubstr("b_rpm_cp = 100000")));
}

// C2, D5.
TEST(BucketPlan, LimitsJoinFullAndStayUntilTheyAreFull) {
  const Limit tpm{"tpm", {7'000, 7'000, 1000}};
  const std::string text = Text(Plan(Image(50'000), Ask({2'000}, {tpm}), 0));
  EXPECT_THAT(text,
              AllOf(HasSubstr("b_tpm_tk = 5000"), HasSubstr("b_tpm_tc = 2000"),
                    HasSubstr("(attribute_not_exists(b_tpm_cp) OR attribute_not_exists(b_tpm_tk))"),
                    HasSubstr("attribute_not_exists(w_extra)"), HasSubstr("w_extra = "),
                    HasSubstr("attribute_not_exists(w_gone)"), Not(HasSubstr("REMOVE"))));
  const std::string later = Text(Plan(Image(50'000), Ask({2'000}, {tpm}), 5'000));
  EXPECT_THAT(later, AllOf(HasSubstr("REMOVE b_rpm_tk, b_rpm_cp, b_rpm_ra, b_rpm_rp, b_rpm_tc"),
                           HasSubstr("b_rpm_tk >= 50000"), Not(HasSubstr("w_extra"))));
}

TEST(BucketPlan, AnAdjustNeedsNoTokens) {
  const std::string text = Text(Plan(Image(500), Ask({3'000}), 0, kAdjusts));
  EXPECT_THAT(text, AllOf(HasSubstr("ADD b_rpm_tk -3000"), Not(HasSubstr("b_rpm_tk >= 3000"))));
}

// D1. Fails if: an adjust leaves something in the item.
TEST(BucketPlan, D1AnAdjustAddsNoAttribute) {
  EXPECT_THAT(Text(Plan(Image(500), Ask({3'000}), 0, kAdjusts)), Not(HasSubstr("w_t_")));
}

TEST(BucketPlan, WhatIsGivenBackBeyondTheCapacityFillsTheBucket) {
  const std::string text = Text(Plan(Image(99'000), Ask({-3'000}), 0, kAdjusts));
  EXPECT_THAT(text, AllOf(HasSubstr("b_rpm_tk = 100000"), HasSubstr("ADD b_rpm_tc -3000"),
                          HasSubstr("b_rpm_tk >= 97000")));
}

TEST(BucketPlan, DebtHasAnEnd) {
  const Charge charge = Ask({kMaxMillitokens});
  const std::vector<MeterAmounts> sums = AdjustsOf(charge);
  const auto plan = PlanWrite(kShardKeys, Image(-kMaxDebt + 5),
                              {.target = *charge.target, .sums = sums, .adjusts = true}, kRf);
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, Code::kOutOfRange);
}

// D1. Fails if: ids of adjusts that an earlier version stored are never removed, or are removed
// while that version may need them.
TEST(BucketPlan, D1StoredTokensLeaveAfterTenMinutesWithARefill) {
  BucketImage image = Image(500);
  for (int i = 0; i < 4; ++i) {
    image.adjusts.emplace_back("w_t_" + std::to_string(i), kRf.value - 700'000 + i * 60'000);
  }
  EXPECT_THAT(Text(Plan(image, Ask({1'000}), 200)), HasSubstr("REMOVE w_t_0, w_t_1\""));
}

// D1, D2. Fails if: an item that has expired is assumed to be full.
TEST(BucketPlan, AnExpiredItemIsRefilledFromItsOwnTimeAndLivesOn) {
  BucketImage image = Image(-40'000);
  image.ttl_seconds = kRf.value / 1000;
  const std::string text = Text(Plan(image, Ask({1'000}), 5'000));
  EXPECT_THAT(text, AllOf(HasSubstr("ADD b_rpm_tk 49000"), HasSubstr("rf = 1767225600013"),
                          HasSubstr("ttl = 1767225600"), HasSubstr("ttl = 176722568")));
}

// D1. Fails if: an add relies on a ttl before which its debt is not repaid.
TEST(BucketPlan, D1AnAddRequiresTheBalanceAndTheTtlThatCoverIt) {
  BucketImage image = Image(50'000);
  image.ttl_seconds = kRf.value / 1000 + 70;
  // Full after 5.1 s, and two more fills: 25.1 s, in which 251 tokens are refilled: the capacity,
  // and a debt of 151.
  const std::string text = Text(Plan(image, Ask({1'000}), 0, kAdjusts));
  EXPECT_THAT(text, AllOf(HasSubstr("(attribute_not_exists(ttl) OR ttl >= 1767225626)"),
                          HasSubstr("b_rpm_tk >= -158870"), Not(HasSubstr("SET ttl"))));
  const std::string take = Text(Plan(image, Ask({1'000}), 0));
  EXPECT_THAT(take, AllOf(HasSubstr("ttl >= 1767225626"), HasSubstr("b_rpm_tk >= 1000")));
}

TEST(BucketPlan, D1AnAddMovesATtlThatIsTooEarly) {
  BucketImage image = Image(50'000);
  image.ttl_seconds = kRf.value / 1000 + 20;
  const BucketPlan plan = Plan(image, Ask({1'000}), 0);
  EXPECT_FALSE(plan.moves_rf);
  EXPECT_THAT(Text(plan), AllOf(HasSubstr("ttl = 1767225620"), HasSubstr("ttl = 1767225676"),
                                Not(HasSubstr("rf = "))));
}

TEST(BucketPlan, AnItemWithoutATtlStaysSo) {
  EXPECT_THAT(Text(Plan(Image(50'000), Ask({1'000}), 0)),
              AllOf(HasSubstr("attribute_not_exists(ttl)"), Not(HasSubstr("ttl >"))));
}

TEST(BucketPlan, AnItemThatAsksForARefillGetsOne) {
  BucketImage image = Image(50'000);
  image.valid_until = 0;
  const std::string text = Text(Plan(image, Ask({1'000}), 0));
  EXPECT_THAT(text, AllOf(HasSubstr("SET rf"), HasSubstr("vu = 0"), HasSubstr("REMOVE vu")));
}

TEST(BucketPlan, AWriteIsPaidFromTheInternalLimitWhichIsNoCondition) {
  BucketImage image = Image(500);
  image.wcu = Meter{.quota = WriteQuota(), .tokens = 400'000};
  EXPECT_THAT(Text(Plan(image, Ask({100}), 0)), HasSubstr("b_wcu_tk -1000, b_wcu_tc 1000"));
  const std::string text = Text(Plan(image, Ask({1'000}), 500));
  EXPECT_THAT(text, HasSubstr("b_wcu_tk 224000")) << "refilled at 45 % of its rate";
  EXPECT_THAT(text, Not(HasSubstr("b_wcu_tk >=")));
}

// Fails if: failed writes, or the size of the item, do not count as load.
TEST(BucketPlan, D8FailedWritesAndBytesAreDebitedByTheNextWrite) {
  BucketImage image = Image(500);
  image.wcu = Meter{.quota = WriteQuota(), .tokens = 400'000};
  image.write_units = 3;
  const Charge charge = Ask({100});
  const std::vector<MeterAmounts> sums = TakesOf(charge);
  const auto plan = PlanWrite(kShardKeys, image,
                              {.target = *charge.target, .sums = sums, .failed_writes = 2}, kRf);
  ASSERT_TRUE(plan);
  EXPECT_THAT(Text(*plan), HasSubstr("b_wcu_tk -9000, b_wcu_tc 9000"));
}

TEST(BucketPlan, ANewBucketComesWithACheckOfItsOwner) {
  const Owner owner{.exists = true,
                    .cascade = true,
                    .parent = "team",
                    .generation = 7,
                    .incarnation = "00ff",
                    .created_at = {}};
  const Charge charge = Ask({1'000});
  const std::vector<MeterAmounts> sums = TakesOf(charge);
  const auto plan = PlanCreate(kShardKeys, owner, {.target = *charge.target, .sums = sums}, kRf);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->writes.size(), 2U);
  const Item& item = plan->writes[0].item;
  EXPECT_EQ(GetNumber(item, "b_rpm_tk"), 99'000);
  EXPECT_EQ(GetNumber(item, "b_rpm_tc"), 1'000);
  EXPECT_EQ(GetNumber(item, "pgen"), 7);
  EXPECT_EQ(*GetText(item, "pinc"), "00ff");
  EXPECT_EQ(*GetText(item, "parent_id"), "team");
  EXPECT_EQ(GetFlag(item, "cascade"), true);
  EXPECT_EQ(GetNumber(item, "ttl"), kRf.value / 1000 + 71);
  EXPECT_EQ(GetNumber(item, "b_wcu_cp"), 1'000'000);
  EXPECT_EQ(plan->writes[1].key, kShardKeys.Entity("acme"));
  EXPECT_EQ(plan->writes[1].kind, Write::Kind::kCheck);
}

}  // namespace
}  // namespace weir::dynamo
