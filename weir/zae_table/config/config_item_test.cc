#include "weir/zae_table/config/config_item.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/zae_table/config/config_fields.h"
#include "weir/zae_table/testing/config_fixture.h"

namespace weir::dynamo {
namespace {

using testing::HasSubstr;

Value Num(std::int64_t number) { return Of(number); }

// Returns an item as zae-limiter writes it.
Item PythonConfig() {
  return {{"PK", Of("ns/ENTITY#acme")},     {"SK", Of("#CONFIG#gpt-4")},
          {"entity_id", Of("acme")},        {"resource", Of("gpt-4")},
          {"config_version", Num(1)},       {"GSI3PK", Of("ns/ENTITY_CONFIG#gpt-4")},
          {"GSI3SK", Of("acme")},           {"GSI4PK", Of("ns")},
          {"GSI4SK", Of("ns/ENTITY#acme")}, {"l_tpm_cp", Num(15'000)},
          {"l_tpm_ra", Num(10'000)},        {"l_tpm_rp", Num(60)},
          {"l_rpm_cp", Num(100)},           {"l_rpm_ra", Num(100)},
          {"l_rpm_rp", Num(3600)}};
}

Item With(Item item, const std::string& name, Value value) {
  item.insert_or_assign(name, std::move(value));
  return item;
}

Item Without(Item item, const std::string& name) {
  item.erase(name);
  return item;
}

TEST(StoredQuotaTest, IsTheQuotaWhereWholeTokensAndSecondsExpressIt) {
  EXPECT_EQ(ToStored(PerMinute(100)), (StoredQuota{100, 100, 60}));
  EXPECT_EQ(ToStored(PerHour(7).Burst(9)), (StoredQuota{9, 7, 3600}));
  EXPECT_EQ(FromStored({9, 7, 3600}), PerHour(7).Burst(9));
}

TEST(StoredQuotaTest, RoundsToTheStricterSide) {
  const auto stored = [](std::int64_t capacity, std::int64_t amount, std::int64_t period) {
    return ToStored({.capacity = capacity, .amount = amount, .period = period});
  };
  EXPECT_EQ(stored(1999, 1999, 60'000), (StoredQuota{1, 1, 60}));
  EXPECT_EQ(stored(5000, 1500, 1000), (StoredQuota{5, 1, 1}));
  // 5 tokens in 500 ms are 10 in 1 s. 5 tokens in 1500 ms are 6.66 in 2 s.
  EXPECT_EQ(stored(5000, 5000, 500), (StoredQuota{5, 10, 1}));
  EXPECT_EQ(stored(5000, 5000, 1500), (StoredQuota{5, 6, 2}));
  // Half a token in a minute is one token in two minutes. A capacity below one token becomes one.
  EXPECT_EQ(stored(500, 500, 60'000), (StoredQuota{1, 1, 120}));
  EXPECT_EQ(stored(700, 700, 60'000), (StoredQuota{1, 1, 86}));
  EXPECT_EQ(stored(1, 1, 1000), (StoredQuota{1, 1, 1000}));
  // The largest numbers stay within what zae-limiter accepts.
  EXPECT_EQ(stored(kMaxMillitokens, kMaxMillitokens, 1),
            (StoredQuota{10'000'000'000'000, 1'000'000'000'000'000, 1}));
  EXPECT_EQ(stored(1, 1, kMaxPeriodMillis), (StoredQuota{1, 1, 1'000'000'000}));
}

// Fails if: the amount is rounded up, or the seconds that one token takes are rounded down.
RC_GTEST_PROP(StoredQuotaProperty, RateIsNeverAboveTheQuotas, ()) {
  const Quota quota{
      .capacity = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000),
      .amount = *rc::gen::inRange<std::int64_t>(1, *rc::gen::element(2000, 1'000'000'000)),
      .period = *rc::gen::inRange<std::int64_t>(1, 1'000'000)};
  const StoredQuota stored = ToStored(quota);
  // tokens/seconds <= (millitokens/1000) / (millis/1000)
  RC_ASSERT(stored.amount * quota.period <= quota.amount * stored.seconds);
  RC_ASSERT(stored.amount >= 1 && stored.seconds >= 1 && stored.capacity >= 1);
  RC_ASSERT(stored.capacity * kMillitokens <= std::max(quota.capacity, kMillitokens));
}

TEST(FieldNameTest, SplitsAtTheLastUnderscore) {
  const auto name = ParseField("l_my_limit_ra");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->limit, "my_limit");
  EXPECT_EQ(name->field, "ra");
  for (const char* other : {"l_x", "l_", "l__cp", "l_x_", "wx_q_x", "limit_cp", "b_x_cp"}) {
    EXPECT_FALSE(ParseField(other)) << other;
  }
}

TEST(ReadConfigTest, ReadsWhatPythonWrites) {
  const auto limits = ReadConfig(kAcme, PythonConfig());
  ASSERT_TRUE(limits && *limits);
  EXPECT_EQ(
      **limits,
      (LevelLimits{.limits = {{"rpm", PerHour(100)}, {"tpm", PerMinute(10'000).Burst(15'000)}}}));
}

TEST(ReadConfigTest, NamesMayHoldUnderscoresAndDots) {
  const Item item = {{"l_a_cp_cp", Num(1)},  {"l_a_cp_ra", Num(1)},  {"l_a_cp_rp", Num(60)},
                     {"l_b.c-d_cp", Num(2)}, {"l_b.c-d_ra", Num(2)}, {"l_b.c-d_rp", Num(60)}};
  const auto limits = ReadConfig(kAcme, item);
  ASSERT_TRUE(limits && *limits);
  EXPECT_EQ((*limits)->limits,
            (std::vector<Limit>{{"a_cp", PerMinute(1)}, {"b.c-d", PerMinute(2)}}));
}

TEST(ReadConfigTest, AnItemWithoutLimitsSetsNothing) {
  const Item flags = {{"PK", Of("ns/RESOURCE#gpt-4")}, {"SK", Of("#CONFIG")},
                      {"disabled", Of(false)},         {"audit_retention_days", Num(30)},
                      {"wx_managed", Of(true)},        {"ttl", Num(1)}};
  const auto limits = ReadConfig(Level::Resource("gpt-4"), flags);
  ASSERT_TRUE(limits);
  EXPECT_FALSE(*limits);
}

TEST(ReadConfigTest, OnUnavailableIsTheSystems) {
  const Item item = {{"on_unavailable", Of("allow")}};
  const auto system = ReadConfig(Level::System(), item);
  ASSERT_TRUE(system && *system);
  EXPECT_EQ((*system)->on_unavailable, OnUnavailable::kAllow);
  const auto resource = ReadConfig(Level::Resource("gpt-4"), item);
  EXPECT_TRUE(resource && !*resource);
  EXPECT_EQ(ReadConfig(Level::System(), {{"on_unavailable", Of("maybe")}}).error().code,
            Code::kFailedPrecondition);
  const auto null = ReadConfig(Level::System(), {{"on_unavailable", {Null{}}}});
  EXPECT_TRUE(null && !*null);
}

TEST(ReadConfigTest, WhatIsNotImplementedIsRefusedByName) {
  const std::vector<std::pair<Item, const char*>> refused = {
      {With(PythonConfig(), "l_tpm_sched", Of("1h9a5")), "limit tpm uses a schedule, which weir"},
      {With(PythonConfig(), "l_rpm_rsched", Of("1h0")), "limit rpm uses a reset schedule, which"},
      {With(PythonConfig(), "l_rpm_soft", Of(true)), "limit rpm uses a soft limit, which"},
      {With(PythonConfig(), "l_rpm_new", Of(true)), "limit rpm uses the field 'new', which"},
      {With(PythonConfig(), "l_rpm_ra", Num(0)), "limit rpm refills by resets alone"},
      {With(PythonConfig(), "w_day_rsa", Num(5)), "'w_day_rsa' is of a session window"},
      {With(PythonConfig(), "disabled", Of(true)), "disabled or bypassed"},
      {With(PythonConfig(), "disabled", Of("bypass")), "disabled or bypassed"},
      {With(PythonConfig(), "cascade", Of(false)), "a cascade policy"},
      {With(PythonConfig(), "l_rpm_cp", Num(10'000'000'000'001)), "limit rpm has numbers beyond"},
      {With(PythonConfig(), "l_rpm_rp", Num(31'622'401)), "limit rpm has numbers beyond"}};
  for (const auto& [item, what] : refused) {
    SCOPED_TRACE(what);
    const auto limits = ReadConfig(kAcme, item);
    ASSERT_FALSE(limits);
    EXPECT_EQ(limits.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(limits.error().message, HasSubstr("entity acme, resource gpt-4: "));
    EXPECT_THAT(limits.error().message, HasSubstr(what));
    EXPECT_THAT(limits.error().message, HasSubstr("it is left as it is"));
  }
}

TEST(ReadConfigTest, DamagedLimitsAreDataLoss) {
  for (const Item& item :
       {Without(PythonConfig(), "l_rpm_rp"), Without(PythonConfig(), "l_rpm_cp"),
        Without(PythonConfig(), "l_rpm_ra"), With(PythonConfig(), "l_rpm_cp", Num(0)),
        With(PythonConfig(), "l_rpm_rp", Num(0)), With(PythonConfig(), "l_rpm_cp", Num(-5)),
        With(PythonConfig(), "l_rpm_cp", Of("ten")),
        With(PythonConfig(), "l_rpm_cp", {Number{"1.5"}})}) {
    const auto limits = ReadConfig(kAcme, item);
    ASSERT_FALSE(limits);
    EXPECT_EQ(limits.error().code, Code::kDataLoss);
    EXPECT_THAT(limits.error().message, HasSubstr("rpm"));
  }
}

TEST(ReadConfigTest, MoreLimitsThanABucketHoldsAreRefused) {
  Item item;
  for (int i = 0; i <= static_cast<int>(kMaxLimits); ++i) {
    const std::string name = "l_x" + std::to_string(i) + "_";
    item.emplace(name + "cp", Num(1));
    item.emplace(name + "ra", Num(1));
    item.emplace(name + "rp", Num(60));
  }
  const auto limits = ReadConfig(kAcme, item);
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().code, Code::kFailedPrecondition);
}

TEST(ReadConfigTest, TheExactTextHoldsOnlyBesideItsNumbers) {
  // 1.5 tokens a second, which the numbers store as 1 token a second.
  const Item exact = {
      {"l_x_cp", Num(1)}, {"l_x_ra", Num(1)}, {"l_x_rp", Num(1)}, {"wx_q_x", Of("1.5/sec")}};
  const auto limits = ReadConfig(kAcme, exact);
  ASSERT_TRUE(limits && *limits);
  EXPECT_EQ((*limits)->limits.front().quota, (Quota{1500, 1500, 1000}));
  // A client that does not know the exact text changes one of the numbers to 2.
  for (const auto& [field, quota] : {std::pair{"l_x_ra", Quota{1000, 2000, 1000}},
                                     {"l_x_cp", Quota{2000, 1000, 1000}},
                                     {"l_x_rp", Quota{1000, 1000, 2000}}}) {
    const auto changed = ReadConfig(kAcme, With(exact, field, Num(2)));
    ASSERT_TRUE(changed && *changed);
    EXPECT_EQ((*changed)->limits.front().quota, quota) << field;
  }
  const auto broken = ReadConfig(kAcme, With(exact, "wx_q_x", Of("soon")));
  ASSERT_TRUE(broken && *broken);
  EXPECT_EQ((*broken)->limits.front().quota, PerSecond(1));
}

TEST(ReadConfigTest, AnAllowanceIsOffUnlessItIsOneOfOurs) {
  const Item plain = {{"l_x_cp", Num(1000)}, {"l_x_ra", Num(1000)}, {"l_x_rp", Num(1)}};
  const auto allowance = [&](const Item& item) {
    const auto limits = ReadConfig(kAcme, item);
    EXPECT_TRUE(limits && *limits);
    return (*limits)->limits.front().allowance;
  };
  EXPECT_EQ(allowance(plain), milliseconds(0));
  EXPECT_EQ(allowance(With(plain, "wx_a_x", Num(500))), milliseconds(500));
  EXPECT_EQ(allowance(With(plain, "wx_a_y", Num(500))), milliseconds(0));
  EXPECT_EQ(allowance(With(plain, "wx_a_x", Num(60'001))), milliseconds(0));
  EXPECT_EQ(allowance(With(plain, "wx_a_x", Of("500ms"))), milliseconds(0));
}

TEST(ReadConfigTest, OrderIsAsWrittenAndNewNamesComeLast) {
  const auto order = [](const char* text) {
    const auto limits = ReadConfig(kAcme, With(PythonConfig(), "wx_order", Of(text)));
    std::string names;
    for (const Limit& limit : (*limits)->limits) names += limit.name + " ";
    return names;
  };
  EXPECT_EQ(order("tpm,rpm"), "tpm rpm ");
  EXPECT_EQ(order("gone,tpm"), "tpm rpm ");
  EXPECT_EQ(order("rpm2,tpm2"), "rpm tpm ");
}

TEST(LevelOfTest, ReadsSortKeysOfConfigurations) {
  EXPECT_EQ(LevelOf("acme", "#CONFIG#gpt-4"), kAcme);
  EXPECT_EQ(LevelOf("acme", "#CONFIG#_default_"), Level::EntityDefault("acme"));
  EXPECT_EQ(LevelOf("acme", "#CONFIG#a/b#c"), Level::Entity("acme", "a/b#c"));
  for (const char* other : {"#META", "#CONFIG", "#CONFIG#", "#CONFIGURED", "#USAGE#x", ""}) {
    EXPECT_FALSE(LevelOf("acme", other)) << other;
  }
}

}  // namespace
}  // namespace weir::dynamo
