#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weir/dynamo/config_fixture.h"

namespace weir::dynamo {
namespace {

// An entity with everything that one can have, and a neighbour that has the same.
struct Crowded {
  explicit Crowded(ConfigRig& rig, int configs = 3) {
    for (const std::string id : {"acme", "acme2"}) {
      EXPECT_TRUE(rig.Apply({CreateEntity{Named(id)}}));
      for (int i = 0; i < configs; ++i) {
        EXPECT_TRUE(rig.Apply({PutLimits{Level::Entity(id, fmt::format("r{}", i)), Rpm(1)}}));
      }
      for (std::uint32_t shard = 0; shard < 3; ++shard) {
        const BucketKey bucket{.entity = id, .resource = "r0", .shard = shard};
        rig.Put(rig.keys.Bucket(bucket), rig.keys.BucketIndexes(bucket));
      }
      TableKey operation = rig.keys.Bucket({.entity = id, .resource = "r0", .shard = 0});
      operation.sk = "#OP#1";
      rig.Put(operation, {{"GSI4PK", Of("ns")}, {"GSI4SK", Of("OP#" + id + "#r0#1")}});
      for (int i = 0; i < 30; ++i) {
        rig.Put({rig.keys.EntityPartition(id), fmt::format("#USAGE#r0#{}", i)},
                {{"GSI4PK", Of("ns")}, {"GSI4SK", Of(rig.keys.EntityPartition(id))}});
      }
    }
  }
  static constexpr std::size_t kWithoutConfigs = 1 + 3 + 1 + 30;
};

TEST(DeleteEntityTest, TakesEverythingOfTheEntityAndNothingElse) {
  ConfigRig rig;
  const Crowded crowded(rig);
  const std::size_t registry = 1;
  ASSERT_EQ(rig.CountItems(), 2 * (Crowded::kWithoutConfigs + 3) + registry);
  ASSERT_TRUE(rig.Apply({DeleteEntity{"acme"}}));
  EXPECT_EQ(rig.CountItems(), Crowded::kWithoutConfigs + 3 + registry);
  EXPECT_EQ(rig.ListIds(), std::vector<std::string>{"acme2"});
  EXPECT_EQ(GetNumber(rig.At(rig.keys.EntityConfigRegistry()), "r0"), 1);
  EXPECT_EQ(rig.Apply({DeleteEntity{"acme"}}).error().code, Code::kNotFound);
}

TEST(DeleteEntityTest, MoreLimitsThanFitAreDeletedInParts) {
  ConfigRig rig;
  const Crowded crowded(rig, 230);
  ASSERT_TRUE(rig.Apply({DeleteEntity{"acme"}}));
  EXPECT_EQ(rig.CountItems(), Crowded::kWithoutConfigs + 230 + 1);
  EXPECT_EQ(GetNumber(rig.At(rig.keys.EntityConfigRegistry()), "r229"), 1);
  // In a list it has parts of its own.
  ASSERT_TRUE(rig.Apply(
      {PutLimits{Level::System(), Rpm(1)}, DeleteEntity{"acme2"}, CreateEntity{Named("acme2")}}));
  EXPECT_EQ(rig.ListIds(), std::vector<std::string>{"acme2"});
  EXPECT_EQ(rig.ListLimits().size(), 1U);
}

// Fails if the entity's own item is deleted before its buckets.
TEST(DeleteEntityTest, WhereverItIsCutOffDeletingAgainCompletesIt) {
  for (const char* operation :
       {"BatchGetItem", "Query", "TransactWriteItems", "BatchWriteItem", "DeleteItem"}) {
    for (int nth = 1; nth < 20; ++nth) {
      SCOPED_TRACE(fmt::format("{} {}", operation, nth));
      ConfigRig rig;
      const Crowded crowded(rig);
      rig.client.FailFrom(operation, nth, FailureClass::kTransient);
      const Status first = rig.Apply({DeleteEntity{"acme"}});
      rig.client.FailNoMore();
      if (first) break;
      EXPECT_TRUE(rig.Has(rig.keys.Entity("acme")));
      EXPECT_TRUE(rig.Apply({DeleteEntity{"acme"}}));
      EXPECT_EQ(rig.CountItems(), Crowded::kWithoutConfigs + 3 + 1);
      EXPECT_EQ(GetNumber(rig.At(rig.keys.EntityConfigRegistry()), "r0"), 1);
    }
  }
}

TEST(DeleteEntityTest, AFailedListLeavesTheBuckets) {
  ConfigRig rig;
  const Crowded crowded(rig);
  const std::size_t before = rig.CountItems();
  EXPECT_FALSE(rig.Apply({DeleteEntity{"acme"}, DeleteEntity{"nobody"}}));
  rig.client.FailFrom("TransactWriteItems", 1, FailureClass::kTransient);
  EXPECT_FALSE(rig.Apply({DeleteEntity{"acme"}}));
  EXPECT_EQ(rig.CountItems(), before);
}

TEST(DeleteEntityTest, OneThatHasBucketsOnlyCanBeDeleted) {
  ConfigRig rig;
  const BucketKey bucket{.entity = "acme", .resource = "r0", .shard = 0};
  rig.Put(rig.keys.Bucket(bucket), rig.keys.BucketIndexes(bucket));
  ASSERT_TRUE(rig.Apply({DeleteEntity{"acme"}}));
  EXPECT_EQ(rig.CountItems(), 0U);
}

TEST(DeleteEntityTest, WhatWeDoNotImplementGoesAlongWithTheEntity) {
  ConfigRig rig;
  rig.Put(
      rig.keys.Config(kAcme),
      {{"disabled", Of(true)}, {"GSI3PK", Of("ns/ENTITY_CONFIG#gpt-4")}, {"GSI3SK", Of("acme")}});
  // Resources of zae-limiter 0.17 may be called so, ours may not.
  rig.Put(rig.keys.Config(Level::Entity("acme", "a:b")), {{"cascade", Of(true)}});
  ASSERT_TRUE(rig.Apply({DeleteEntity{"acme"}}));
  EXPECT_EQ(rig.CountItems(), 0U);
}

TEST(DeleteEntityTest, AnEntityThatIsCreatedAnewMeanwhileStays) {
  ConfigRig rig;
  ASSERT_TRUE(rig.Apply({CreateEntity{Named("acme")}}));
  rig.client.before = [&](const JsonCall& call) {
    if (call.operation != "DeleteItem") return;
    ASSERT_TRUE(rig.Apply({DeleteEntity{"acme"}}));
    ASSERT_TRUE(rig.Apply({CreateEntity{Named("acme")}}));
  };
  EXPECT_TRUE(rig.Apply({DeleteEntity{"acme"}}));
  EXPECT_EQ(rig.ListIds(), std::vector<std::string>{"acme"});
}

}  // namespace
}  // namespace weir::dynamo
