#include "weir/zae_table/bucket/parent_propagation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/parent_propagation_fixture.h"

namespace weir::dynamo {
namespace {

TEST(ParentPropagationTest, EveryShardOfEveryResourceIsToldAndNothingElseIsTouched) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex", false)}}));
  const auto buckets = rig.PutBuckets("acme", {"llm", "llm2", "_default_", "a#b"});
  const auto others = rig.PutBuckets("acme2", {"llm"});
  const Item bare = rig.At(others.front());
  ASSERT_TRUE(rig.Apply({PutEntity{Acme("initech")}}));
  for (const TableKey& bucket : buckets) {
    Item item = rig.At(bucket);
    EXPECT_EQ(rig.StampIn(item), rig.Stamp());
    EXPECT_EQ(GetText(item, "parent_id") ? *GetText(item, "parent_id") : "", "initech");
    EXPECT_EQ(GetFlag(item, "cascade"), true);
    Item expected = Strange();
    expected.merge(rig.keys.BucketIndexes(*ParseBucketPartition(bucket.pk)));
    expected.merge(rig.Stamp());
    EXPECT_EQ(item, expected);
  }
  EXPECT_EQ(rig.At(others.front()), bare);
}

TEST(ParentPropagationTest, TheFlagAloneIsToldToo) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex", false)}}));
  const auto buckets = rig.PutBuckets("acme", {"llm"});
  ASSERT_TRUE(rig.Apply({PutEntity{Acme("globex")}}));
  EXPECT_TRUE(rig.AllPropagated(buckets));
  EXPECT_EQ(GetFlag(rig.At(buckets[2]), "cascade"), true);
}

TEST(ParentPropagationTest, WithoutAParentNothingCascades) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  const TableKey bucket = rig.PutBucket({"acme", "llm", 0});
  rig.Put(rig.keys.Config(Level::Resource("llm")), {{"cascade", Of(true)}});
  ASSERT_TRUE(rig.Apply({PutEntity{Acme("globex")}}));
  ASSERT_EQ(GetFlag(rig.At(bucket), "cascade"), true);
  ASSERT_TRUE(rig.Apply({PutEntity{Acme(std::nullopt)}}));
  EXPECT_FALSE(rig.At(bucket).contains("parent_id"));
  EXPECT_EQ(GetFlag(rig.At(bucket), "cascade"), false);
  EXPECT_EQ(rig.StampOf(bucket), rig.Stamp());
}

TEST(ParentPropagationTest, WhatALevelSaysComesBeforeTheFlag) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex", false)}}));
  const auto buckets = rig.PutBuckets("acme", {"a", "b", "c"});
  const auto says = [&](const Level& level, bool cascade) {
    rig.Put(rig.keys.Config(level), {{"cascade", Of(cascade)}});
  };
  const auto told = [&] {
    EXPECT_TRUE(rig.Apply({PutEntity{Acme("globex")}}));
    std::string flags;
    for (const TableKey& bucket : buckets) flags += *GetFlag(rig.At(bucket), "cascade") ? '1' : '0';
    return flags;
  };
  EXPECT_EQ(told(), "111111111");
  says(Level::Resource("a"), false);
  EXPECT_EQ(told(), "000111111");
  says(Level::EntityDefault("acme"), false);
  EXPECT_EQ(told(), "000000000");
  says(Level::Entity("acme", "b"), true);
  EXPECT_EQ(told(), "000111000");
}

TEST(ParentPropagationTest, ALaterStampOfTheSameIncarnationStays) {
  struct Case {
    std::optional<std::string> pinc;
    std::optional<std::int64_t> pgen;
    bool is_replaced;
  };
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  const Item meta = rig.At(rig.keys.Entity("acme"));
  const std::string mine = *GetText(meta, "pinc");
  const std::int64_t now = *GetNumber(meta, "pgen");
  for (const Case& c : {Case{mine, now + 1, false}, Case{mine, now, true},
                        Case{mine, now - 1, true}, Case{mine, std::nullopt, true},
                        Case{"another", now + 1, true}, Case{std::nullopt, now + 1, true}}) {
    Item item = {{"cascade", Of(false)}, {"parent_id", Of("initech")}};
    if (c.pinc) item.emplace("pinc", Of(*c.pinc));
    if (c.pgen) item.emplace("pgen", Of(*c.pgen));
    const Item before = item;
    const TableKey bucket = rig.PutBucket({"acme", "llm", 0}, item);
    ASSERT_TRUE(rig.Apply({PutEntity{Acme("globex")}}));
    EXPECT_EQ(rig.StampOf(bucket), c.is_replaced ? rig.Stamp() : before);
  }
}

TEST(ParentPropagationTest, AnEntityOfBeforeThereWereIncarnationsIsKnownByItsCreation) {
  for (const char* expected : {"2026-01-01T00:00:00Z", "-"}) {
    Shared rig;
    Item meta = {{"entity_id", Of("acme")}, {"parent_id", Of("globex")}, {"cascade", Of(true)}};
    if (expected[0] == '2') meta.emplace("created_at", Of(expected));
    rig.Put(rig.keys.Entity("acme"), meta);
    const TableKey bucket = rig.PutBucket({"acme", "llm", 0});
    ASSERT_TRUE(rig.Apply({PutEntity{Acme("initech")}}));
    EXPECT_EQ(rig.StampOf(bucket), (Item{{"cascade", Of(true)},
                                         {"parent_id", Of("initech")},
                                         {"pgen", Of(1)},
                                         {"pinc", Of(expected)}}));
  }
}

TEST(ParentPropagationTest, ABucketThatIsGoneMeanwhileStaysGone) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  const auto buckets = rig.PutBuckets("acme", {"llm"});
  rig.client.before = [&](const JsonCall& call) {
    if (call.operation != "UpdateItem" || !rig.Has(buckets[0])) return;
    rig.table.DeleteAll(buckets, Deadline::Never(), [](const Status& gone) { EXPECT_TRUE(gone); });
  };
  ASSERT_TRUE(rig.Apply({PutEntity{Acme("initech")}}));
  for (const TableKey& bucket : buckets) EXPECT_FALSE(rig.Has(bucket));
}

TEST(ParentPropagationTest, WhatIsNoBucketIsLeftAlone) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  const TableKey odd = {"ns/BUCKET#acme#llm#first", "#STATE"};
  Item item = rig.keys.BucketIndexes({"acme", "llm", 0});
  item.erase("PK");
  rig.Put(odd, item);
  ASSERT_TRUE(rig.Apply({PutEntity{Acme("initech")}}));
  EXPECT_EQ(rig.StampOf(odd), Item{});
}

TEST(ParentPropagationTest, MoreThanAPageIsTold) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  std::vector<TableKey> buckets;
  for (int i = 0; i < 230; ++i) {
    buckets.push_back(rig.PutBucket({"acme", fmt::format("r{}", i), 0}, {}));
  }
  ASSERT_TRUE(rig.Apply({PutEntity{Acme("initech")}}));
  EXPECT_TRUE(rig.AllPropagated(buckets));
  // Each bucket is written once.
  EXPECT_EQ(rig.client.Count("UpdateItem"), 230);
}

TEST(ParentPropagationTest, BucketsThatAreThereBeforeTheirEntityAreToldWhenItComes) {
  Shared rig;
  const auto buckets = rig.PutBuckets("acme", {"llm"});
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  EXPECT_TRUE(rig.AllPropagated(buckets));
  // An entity that is deleted and created again in the same list loses its old buckets.
  ASSERT_TRUE(rig.Apply({DeleteEntity{"acme"}, CreateEntity{Acme("initech")}}));
  for (const TableKey& bucket : buckets) EXPECT_FALSE(rig.Has(bucket));
}

TEST(ParentPropagationTest, ANewEntityWithoutBucketsCostsOneQuery) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  EXPECT_EQ(rig.client.Count("Query"), 1);
  EXPECT_EQ(rig.client.Count("GetItem") + rig.client.Count("UpdateItem"), 0);
}

TEST(ParentPropagationTest, ANameAloneIsNotToldAndTheSameRecordIs) {
  Shared rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Acme("globex")}}));
  const auto buckets = rig.PutBuckets("acme", {"llm"});
  EntityRecord renamed = Acme("globex");
  renamed.entity.name = "another";
  ASSERT_TRUE(rig.Apply({PutEntity{renamed}}));
  EXPECT_EQ(rig.client.Count("UpdateItem"), 0);
  ASSERT_TRUE(rig.Apply({PutEntity{renamed}}));
  EXPECT_TRUE(rig.AllPropagated(buckets));
}

}  // namespace
}  // namespace weir::dynamo
