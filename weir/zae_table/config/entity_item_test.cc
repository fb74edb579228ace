#include "weir/zae_table/config/entity_item.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/zae_table/testing/config_fixture.h"

namespace weir::dynamo {
namespace {

using testing::HasSubstr;

constexpr UnixMillis kCreated{1'767'225'600'013};

EntityRecord Acme(std::optional<std::string> parent = std::nullopt) {
  return {.entity = {.id = "acme",
                     .name = "Acme",
                     .parent = std::move(parent),
                     .cascade = true,
                     .metadata = {{"plan", "gold"}, {"note", ""}},
                     .created_at = kCreated}};
}

Item PythonEntity() {
  return {{"PK", Of("ns/ENTITY#acme")},
          {"SK", Of("#META")},
          {"entity_id", Of("acme")},
          {"name", Of("Acme")},
          {"parent_id", {Null{}}},
          {"cascade", Of(false)},
          {"metadata", {Item{{"plan", Of("gold")}}}},
          {"created_at", Of("2026-01-01T00:00:00Z")},
          {"pgen", Of(std::int64_t{5})},
          {"pinc", Of("00000000000000ff")}};
}

TEST(EntityItemTest, ItemsAreWhatPythonReads) {
  ConfigRig rig;
  rig.drawn = 0xabc;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  const Item expected = {{"PK", Of("ns/ENTITY#acme")},
                         {"SK", Of("#META")},
                         {"entity_id", Of("acme")},
                         {"name", Of("Acme")},
                         {"parent_id", Of("globex")},
                         {"cascade", Of(true)},
                         {"metadata", {Item{{"plan", Of("gold")}, {"note", Of("")}}}},
                         {"created_at", Of("2026-01-01T00:00:00Z")},
                         {"wx_created", Of(kCreated.value)},
                         {"pgen", Of(rig.clock.WallNow().value)},
                         {"pinc", Of("0000000000000abd")},
                         {"GSI1PK", Of("ns/PARENT#globex")},
                         {"GSI1SK", Of("CHILD#acme")},
                         {"GSI4PK", Of("ns")},
                         {"GSI4SK", Of("ns/ENTITY#acme")}};
  EXPECT_EQ(rig.At(rig.keys.Entity("acme")), expected);
  ASSERT_TRUE(rig.Apply({CreateEntity{{.entity = {.id = "globex"}}}}));
  const Item root = rig.At(rig.keys.Entity("globex"));
  EXPECT_EQ(root.at("parent_id"), Value{Null{}});
  EXPECT_FALSE(root.contains("GSI1PK"));
  EXPECT_EQ(root.at("name"), Of("globex"));
}

TEST(EntityItemTest, ReadsWhatPythonWrites) {
  const auto record = ReadEntity(PythonEntity());
  ASSERT_TRUE(record);
  EXPECT_EQ(*record, (EntityRecord{.entity = {.id = "acme",
                                              .name = "Acme",
                                              .metadata = {{"plan", "gold"}},
                                              .created_at = {1'767'225'600'000}}}));
}

TEST(EntityItemTest, WhatIsMissingHasADefault) {
  const auto record = ReadEntity({{"PK", Of("ns/ENTITY#a:b@c")}, {"SK", Of("#META")}});
  ASSERT_TRUE(record);
  EXPECT_EQ(*record, (EntityRecord{.entity = {.id = "a:b@c", .name = "a:b@c"}}));
}

TEST(EntityItemTest, WhatChargesDependOnMustBeReadable) {
  for (const char* attribute : {"parent_id", "cascade"}) {
    Item item = PythonEntity();
    item.insert_or_assign(attribute, Of(std::int64_t{1}));
    const auto record = ReadEntity(item);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, Code::kDataLoss);
    EXPECT_THAT(record.error().message, HasSubstr(attribute));
    EXPECT_THAT(record.error().message, HasSubstr("entity acme"));
  }
}

TEST(EntityItemTest, MillisecondsOfTheCreationHoldOnlyWithinItsSecond) {
  Item item = PythonEntity();
  item.insert_or_assign("wx_created", Of(std::int64_t{1'767'225'600'999}));
  EXPECT_EQ(ReadEntity(item)->entity.created_at, UnixMillis{1'767'225'600'999});
  item.insert_or_assign("wx_created", Of(std::int64_t{1'767'225'601'000}));
  EXPECT_EQ(ReadEntity(item)->entity.created_at, UnixMillis{1'767'225'600'000});
  item.insert_or_assign("created_at", Of("yesterday"));
  EXPECT_EQ(ReadEntity(item)->entity.created_at, UnixMillis{0});
}

// Fails if: years beyond 9999 are not kept in the number next to the text.
RC_GTEST_PROP(EntityItemProperty, EveryCreationTimeComesBack, ()) {
  static ConfigRig rig;
  EntityRecord record{.entity = {.id = "acme", .name = "Acme"}};
  record.entity.created_at = {*rc::gen::inRange<std::int64_t>(INT64_MIN / 2, INT64_MAX / 2)};
  RC_ASSERT(rig.Apply({CreateEntity{record}}).has_value());
  const auto found = rig.GetEntities({"acme"});
  RC_ASSERT(rig.Apply({DeleteEntity{"acme"}}).has_value());
  RC_ASSERT(found.has_value());
  RC_ASSERT(found->front() == record);
}

TEST(EntityItemTest, ChangingTheFlagCountsAndNothingElseButTheParentDoes) {
  ConfigRig rig;
  Item item = PythonEntity();
  item["cascade"] = Of(true);
  rig.Put(rig.keys.Entity("acme"), item);
  EntityRecord record = Acme();
  const auto put = [&] {
    EXPECT_TRUE(rig.Apply({PutEntity{record}}));
    return GetNumber(rig.At(rig.keys.Entity("acme")), "pgen");
  };
  record.entity.name = "another";
  record.entity.metadata.clear();
  record.managed = true;
  EXPECT_EQ(put(), 5);
  record.entity.cascade = false;
  EXPECT_EQ(put(), 6);
  EXPECT_EQ(put(), 6);
  record.entity.cascade = true;
  record.entity.parent = "globex";
  EXPECT_EQ(put(), 7);
}

TEST(EntityItemTest, ChangingTheParentCountsAndMovesInTheIndex) {
  ConfigRig rig;
  rig.Put(rig.keys.Entity("acme"), PythonEntity());
  const auto put = [&](std::optional<std::string> parent) {
    EntityRecord record = Acme(std::move(parent));
    record.entity.cascade = false;
    EXPECT_TRUE(rig.Apply({PutEntity{record}}));
    return rig.At(rig.keys.Entity("acme"));
  };
  EXPECT_EQ(GetNumber(put(std::nullopt), "pgen"), 5);
  Item item = put("globex");
  EXPECT_EQ(GetNumber(item, "pgen"), 6);
  EXPECT_EQ(item.at("GSI1PK"), Of("ns/PARENT#globex"));
  EXPECT_EQ(item.at("GSI1SK"), Of("CHILD#acme"));
  EXPECT_EQ(GetNumber(put("globex"), "pgen"), 6);
  EXPECT_EQ(GetNumber(put("initech"), "pgen"), 7);
  item = put(std::nullopt);
  EXPECT_EQ(GetNumber(item, "pgen"), 8);
  EXPECT_FALSE(item.contains("GSI1PK"));
  EXPECT_EQ(item.at("parent_id"), Value{Null{}});
  EXPECT_EQ(item.at("pinc"), Of("00000000000000ff"));
  EXPECT_EQ(item.at("created_at"), Of("2026-01-01T00:00:00Z"));
}

TEST(EntityItemTest, WhatWeDoNotKnowStays) {
  ConfigRig rig;
  Item item = PythonEntity();
  item.emplace("theirs", Of("kept"));
  item.insert_or_assign("metadata", Value{Item{{"plan", Of("gold")},
                                               {"seats", Of(std::int64_t{3})},
                                               {"nested", {Item{{"a", Of("b")}}}}}});
  rig.Put(rig.keys.Entity("acme"), item);
  EntityRecord record = Acme();
  record.entity.metadata = {{"colour", "red"}};
  record.managed = true;
  ASSERT_TRUE(rig.Apply({PutEntity{record}}));
  item = rig.At(rig.keys.Entity("acme"));
  EXPECT_EQ(item.at("theirs"), Of("kept"));
  EXPECT_EQ(item.at("wx_managed"), Of(true));
  EXPECT_EQ(item.at("metadata"), (Value{Item{{"colour", Of("red")},
                                             {"seats", Of(std::int64_t{3})},
                                             {"nested", {Item{{"a", Of("b")}}}}}}));
  record.managed = false;
  ASSERT_TRUE(rig.Apply({PutEntity{record}}));
  EXPECT_FALSE(rig.At(rig.keys.Entity("acme")).contains("wx_managed"));
}

TEST(EntityItemTest, DeletingAndCreatingInOneListIsAnotherIncarnation) {
  ConfigRig rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme()}}));
  const Item first = rig.At(rig.keys.Entity("acme"));
  EntityRecord again{.entity = {.id = "acme", .name = "New", .created_at = {1}}};
  ASSERT_TRUE(rig.Apply({DeleteEntity{"acme"}, CreateEntity{again}}));
  const Item second = rig.At(rig.keys.Entity("acme"));
  EXPECT_NE(second.at("pinc"), first.at("pinc"));
  const auto found = rig.GetEntities({"acme"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front(), again);
}

}  // namespace
}  // namespace weir::dynamo
