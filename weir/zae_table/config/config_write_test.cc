#include "weir/zae_table/config/config_write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "weir/zae_table/testing/config_fixture.h"

namespace weir::dynamo {
namespace {

using testing::HasSubstr;

std::set<std::string> NamesOf(const Item& item) {
  std::set<std::string> names;
  for (const auto& [name, value] : item) names.insert(name);
  return names;
}

TEST(ConfigWriteTest, ItemsAreWhatPythonReads) {
  ConfigRig rig;
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, {.limits = {{"rpm", PerMinute(100).Burst(150)}}}}}));
  const Item item = rig.At(rig.keys.Config(kAcme));
  const Item expected = {{"PK", Of("ns/ENTITY#acme")},
                         {"SK", Of("#CONFIG#gpt-4")},
                         {"entity_id", Of("acme")},
                         {"resource", Of("gpt-4")},
                         {"config_version", Of(std::int64_t{1})},
                         {"l_rpm_cp", Of(std::int64_t{150})},
                         {"l_rpm_ra", Of(std::int64_t{100})},
                         {"l_rpm_rp", Of(std::int64_t{60})},
                         {"GSI3PK", Of("ns/ENTITY_CONFIG#gpt-4")},
                         {"GSI3SK", Of("acme")},
                         {"GSI4PK", Of("ns")},
                         {"GSI4SK", Of("ns/ENTITY#acme")},
                         {"wx_rev", item.at("wx_rev")}};
  EXPECT_EQ(item, expected);
}

TEST(ConfigWriteTest, EachKindOfLevelHasItsKeys) {
  ConfigRig rig;
  ASSERT_TRUE(
      rig.Apply({PutLimits{Level::System(), Rpm(1)}, PutLimits{Level::Resource("gpt-4"), Rpm(2)},
                 PutLimits{Level::EntityDefault("acme"), Rpm(3)}}));
  const Item system = rig.At({"ns/SYSTEM#", "#CONFIG"});
  EXPECT_FALSE(system.contains("resource"));
  EXPECT_EQ(system.at("GSI4SK"), Of("ns/SYSTEM#"));
  const Item resource = rig.At({"ns/RESOURCE#gpt-4", "#CONFIG"});
  EXPECT_EQ(resource.at("resource"), Of("gpt-4"));
  EXPECT_FALSE(resource.contains("GSI3PK"));
  const Item entity = rig.At({"ns/ENTITY#acme", "#CONFIG#_default_"});
  EXPECT_EQ(entity.at("resource"), Of("_default_"));
  EXPECT_EQ(entity.at("GSI3PK"), Of("ns/ENTITY_CONFIG#_default_"));
}

TEST(ConfigWriteTest, WhatWeDoNotKnowStays) {
  ConfigRig rig;
  const TableKey key = rig.keys.Config(Level::System());
  rig.Put(key, {{"l_old_cp", Of(std::int64_t{1})},
                {"l_old_ra", Of(std::int64_t{1})},
                {"l_old_rp", Of(std::int64_t{60})},
                {"on_unavailable", Of("allow")},
                {"audit_retention_days", Of(std::int64_t{7})},
                {"theirs", Of("kept")}});
  ASSERT_TRUE(rig.Apply({PutLimits{Level::System(), Rpm(5)}}));
  Item item = rig.At(key);
  EXPECT_EQ(NamesOf(item), (std::set<std::string>{"PK", "SK", "l_rpm_cp", "l_rpm_ra", "l_rpm_rp",
                                                  "theirs", "audit_retention_days",
                                                  "config_version", "GSI4PK", "GSI4SK", "wx_rev"}));
  ASSERT_TRUE(rig.Apply({DeleteLimits{Level::System()}}));
  item = rig.At(key);
  EXPECT_EQ(NamesOf(item), (std::set<std::string>{"PK", "SK", "theirs", "audit_retention_days",
                                                  "config_version", "GSI4PK", "GSI4SK"}));
  const auto limits = rig.GetLimits(Level::System());
  EXPECT_TRUE(limits && !*limits);
}

TEST(ConfigWriteTest, ItemsOfOthersThatUseMoreAreLeftAsTheyAre) {
  ConfigRig rig;
  const TableKey key = rig.keys.Config(Level::EntityDefault("acme"));
  rig.Put(key, {{"l_tpm_cp", Of(std::int64_t{1})},
                {"l_tpm_ra", Of(std::int64_t{1})},
                {"l_tpm_rp", Of(std::int64_t{60})},
                {"l_tpm_sched", Of("1h9a5")}});
  const Item before = rig.At(key);
  const std::string why =
      "entity acme: limit tpm uses a schedule, which weir does not implement; it is left as it is";
  for (const ConfigChange& change : {ConfigChange(PutLimits{Level::EntityDefault("acme"), Rpm(1)}),
                                     ConfigChange(DeleteLimits{Level::EntityDefault("acme")})}) {
    const Status status = rig.Apply({PutLimits{Level::System(), Rpm(1)}, change});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(status.error().message, HasSubstr(why));
  }
  const auto read = rig.GetLimits({Level::System(), Level::EntityDefault("acme")});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, why);
  EXPECT_EQ(rig.At(key), before);
  EXPECT_EQ(rig.CountItems(), 1U);
}

TEST(ConfigWriteTest, AnExactQuotaLeavesWhenAWholeOneReplacesIt) {
  ConfigRig rig;
  const Limit fine{"rpm", {.capacity = 1500, .amount = 250, .period = 700}};
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, {.limits = {fine}}}}));
  EXPECT_EQ(rig.At(rig.keys.Config(kAcme)).at("wx_q_rpm"), Of("0.25/700ms:1.5"));
  EXPECT_EQ((*rig.GetLimits(kAcme))->limits, std::vector{fine});
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, Rpm(1)}}));
  EXPECT_FALSE(rig.At(rig.keys.Config(kAcme)).contains("wx_q_rpm"));
}

TEST(ConfigWriteTest, NamesOfLimitsMayLookLikeOurAttributes) {
  ConfigRig rig;
  LevelLimits limits{.managed = true};
  for (const char* name : {"managed", "order", "rev", "q_x", "a_x", "x", "cp"}) {
    limits.limits.push_back({name, {.capacity = 1500, .amount = 1500, .period = 1500}});
  }
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, limits}}));
  EXPECT_EQ(**rig.GetLimits(kAcme), limits);
}

// Generates one to four limits in any order, with quotas that are whole tokens a minute or not.
rc::Gen<std::vector<Limit>> AnyLimits() {
  const auto number = rc::gen::inRange<std::int64_t>(1, 5'000'000);
  const auto quota = rc::gen::apply(
      [](std::int64_t capacity, std::int64_t amount, std::int64_t period, bool whole) {
        if (whole) return PerMinute(amount).Burst(capacity);
        return Quota{.capacity = capacity, .amount = amount, .period = period};
      },
      number, number, number, rc::gen::arbitrary<bool>());
  const auto name = rc::gen::element<std::string>("a", "b_cp", "c.d", "managed", "Z", "order");
  const auto allowance = rc::gen::map(rc::gen::inRange<std::int64_t>(-60'000, 60'001), [](auto ms) {
    return milliseconds(std::max<std::int64_t>(ms, 0));
  });
  const auto limit = rc::gen::construct<Limit>(name, quota, allowance);
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(1, 5), [=](std::size_t count) {
    return rc::gen::uniqueBy<std::vector<Limit>>(count, limit,
                                                 [](const Limit& one) { return one.name; });
  });
}

// Fails if: an attribute of the previous limits is not removed, or the order is not kept.
RC_GTEST_PROP(ConfigWriteProperty, WhatWasSetIsFoundWhateverWasThereBefore, ()) {
  static ConfigRig rig;
  const auto level = *rc::gen::element(Level::System(), Level::Resource("gpt-4"),
                                       Level::EntityDefault("acme"), kAcme);
  const auto any_limits = rc::gen::apply(
      [](std::vector<Limit> limits, bool managed) {
        return LevelLimits{.limits = std::move(limits), .managed = managed};
      },
      AnyLimits(), rc::gen::arbitrary<bool>());
  const LevelLimits limits = *any_limits;
  RC_ASSERT(rig.Apply({PutLimits{level, limits}}).has_value());
  const auto found = rig.GetLimits(level);
  RC_ASSERT(found.has_value());
  RC_ASSERT(found->has_value());
  RC_ASSERT((**found).limits == limits.limits);
  RC_ASSERT((**found).managed == limits.managed);
}

TEST(RegistryTest, ResourcesWithLimitsAreASet) {
  ConfigRig rig;
  const TableKey key = rig.keys.ResourceRegistry();
  const auto members = [&] {
    const Item item = rig.At(key);
    const StringSet* set = GetSet(item, "resources");
    return set == nullptr ? std::set<std::string>()
                          : std::set<std::string>(set->members.begin(), set->members.end());
  };
  const auto put = [](const char* name) { return PutLimits{Level::Resource(name), Rpm(1)}; };
  const auto cut = [](const char* name) { return DeleteLimits{Level::Resource(name)}; };
  ASSERT_TRUE(rig.Apply({put("a"), put("b")}));
  EXPECT_EQ(members(), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(rig.At(key).at("GSI4SK"), Of("ns/SYSTEM#"));
  ASSERT_TRUE(rig.Apply({put("c"), put("a"), cut("b")}));
  EXPECT_EQ(members(), (std::set<std::string>{"a", "c"}));
  ASSERT_TRUE(rig.Apply({cut("a")}));
  EXPECT_EQ(members(), (std::set<std::string>{"c"}));
  ASSERT_TRUE(rig.Apply({cut("c")}));
  EXPECT_EQ(members(), (std::set<std::string>{}));
}

TEST(RegistryTest, EntitiesWithLimitsAreCountedByResource) {
  ConfigRig rig;
  const TableKey key = rig.keys.EntityConfigRegistry();
  const auto put = [](const char* entity, const char* resource) {
    return PutLimits{Level::Entity(entity, resource), Rpm(1)};
  };
  ASSERT_TRUE(rig.Apply({put("a", "gpt-4.1"), put("b", "gpt-4.1"), put("b", "x"),
                         PutLimits{Level::EntityDefault("a"), Rpm(1)}}));
  // Replacing limits does not change the counts.
  ASSERT_TRUE(rig.Apply({put("a", "gpt-4.1")}));
  Item item = rig.At(key);
  EXPECT_EQ(GetNumber(item, "gpt-4.1"), 2);
  EXPECT_EQ(GetNumber(item, "x"), 1);
  EXPECT_EQ(GetNumber(item, "_default_"), 1);
  EXPECT_EQ(item.at("GSI4PK"), Of("ns"));
  ASSERT_TRUE(rig.Apply({DeleteLimits{Level::Entity("a", "gpt-4.1")},
                         DeleteLimits{Level::Entity("b", "x")}, put("c", "y")}));
  item = rig.At(key);
  EXPECT_EQ(GetNumber(item, "gpt-4.1"), 1);
  EXPECT_FALSE(item.contains("x"));
  EXPECT_EQ(GetNumber(item, "y"), 1);
}

TEST(RegistryTest, CountsNeverGoBelowZero) {
  ConfigRig rig;
  ASSERT_TRUE(rig.Apply({PutLimits{Level::Entity("a", "x"), Rpm(1)}}));
  // Another writer has stored a wrong count.
  Expression lost;
  lost.Set("x", Of(std::int64_t{0}));
  rig.Change(rig.keys.EntityConfigRegistry(), lost);
  ASSERT_TRUE(rig.Apply({DeleteLimits{Level::Entity("a", "x")}}));
  EXPECT_FALSE(rig.At(rig.keys.EntityConfigRegistry()).contains("x"));
}

TEST(RegistryTest, ItemsOfWritersWithoutRegistriesAreCountedOnceWeSetThem) {
  ConfigRig rig;
  rig.Put(rig.keys.Config(kAcme), {{"l_rpm_cp", Of(std::int64_t{1})},
                                   {"l_rpm_ra", Of(std::int64_t{1})},
                                   {"l_rpm_rp", Of(std::int64_t{60})},
                                   {"GSI4PK", Of("ns")},
                                   {"GSI4SK", Of("ns/ENTITY#acme")}});
  ASSERT_TRUE(rig.Apply({DeleteLimits{kAcme}}));
  EXPECT_FALSE(rig.Has(rig.keys.EntityConfigRegistry()));
  rig.Put(rig.keys.Config(kAcme), {{"l_rpm_cp", Of(std::int64_t{1})},
                                   {"l_rpm_ra", Of(std::int64_t{1})},
                                   {"l_rpm_rp", Of(std::int64_t{60})}});
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, Rpm(2)}}));
  EXPECT_EQ(GetNumber(rig.At(rig.keys.EntityConfigRegistry()), "gpt-4"), 1);
}

TEST(RegistryTest, AResourceCalledLikeAKeyIsNotCounted) {
  ConfigRig rig;
  const Level level = Level::Entity("acme", "GSI4PK");
  ASSERT_TRUE(rig.Apply({PutLimits{level, Rpm(1)}, PutLimits{Level::Entity("acme", "PK"), Rpm(1)},
                         PutLimits{kAcme, Rpm(1)}}));
  EXPECT_EQ(rig.At(rig.keys.EntityConfigRegistry()).at("GSI4PK"), Of("ns"));
  ASSERT_TRUE(rig.Apply({DeleteLimits{level}}));
}

}  // namespace
}  // namespace weir::dynamo
