// How a bucket is divided: the contents of the shards' items, and the conditions of the writes.
#include "weir/zae_table/sharding/shard_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/bucket/bucket_image.h"
#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr UnixMillis kNow = kShardStart + milliseconds(1'000);

/// Applies plans to a table.
class ShardPlanTest : public testing::Test {
 protected:
  void Have(std::uint32_t shard, Item item) {
    if (seen_.items.size() <= shard) seen_.items.resize(shard + 1);
    seen_.items[shard] = item;
    table_.Put(std::move(item));
  }
  /// Returns false if there is nothing to write, or a condition failed.
  bool Divide(std::uint32_t shards) {
    auto writes = PlanShards(kShardKeys, seen_, shards, kNow);
    EXPECT_TRUE(writes.has_value()) << writes.error().message;
    if (!writes || writes->empty()) return false;
    bool applied = false;
    table_.table.Transact(*writes, "token", Deadline::Never(),
                          [&](const auto& result) { applied = result.has_value(); });
    return applied;
  }
  Item At(std::uint32_t shard) {
    return table_.Get(kShardKeys.Bucket({"acme", "llm", shard})).value_or(Item{});
  }

  ZaeSimTable table_;
  ShardsSeen seen_{.key = {"acme", "llm", 0}, .items = {}, .owner = {}};
};

TEST_F(ShardPlanTest, DoublingSplitsWhatIsThereAndRefillsFirst) {
  Have(0, ShardItem(0, 1, 50'001));
  ASSERT_TRUE(Divide(2));
  // 10 tokens came back in the second before.
  EXPECT_EQ(GetNumber(At(0), "b_rpm_tk"), 60'001 - 30'000);
  EXPECT_EQ(GetNumber(At(1), "b_rpm_tk"), 30'000);
  for (std::uint32_t shard : {0U, 1U}) {
    EXPECT_EQ(GetNumber(At(shard), "shard_count"), 2);
    EXPECT_EQ(GetNumber(At(shard), "rf"), kNow.value);
    EXPECT_EQ(GetNumber(At(shard), "b_rpm_cp"), 100'000) << "never divided";
  }
}

TEST_F(ShardPlanTest, DebtStaysWhereItIs) {
  Have(0, ShardItem(0, 1, -40'000));
  ASSERT_TRUE(Divide(2));
  EXPECT_EQ(GetNumber(At(0), "b_rpm_tk"), -30'000);
  EXPECT_EQ(GetNumber(At(1), "b_rpm_tk"), 0);
}

TEST_F(ShardPlanTest, WhatOthersTookMeanwhileIsNotGivenTwice) {
  Have(0, ShardItem(0, 1, 50'000));
  Item less = ShardItem(0, 1, 19'999);
  table_.Put(less);
  EXPECT_FALSE(Divide(2)) << "30 are to be moved, and 29.999 are there";
  less["b_rpm_tk"] = Of(20'000);
  table_.Put(less);
  ASSERT_TRUE(Divide(2));
  EXPECT_EQ(GetNumber(At(0), "b_rpm_tk"), 0);
}

TEST_F(ShardPlanTest, ARefillByOthersMeanwhileIsNotCountedTwice) {
  Have(0, ShardItem(0, 1, 50'000));
  Item refilled = ShardItem(0, 1, 55'000);
  refilled["rf"] = Of(kShardStart.value + 500);
  table_.Put(refilled);
  EXPECT_FALSE(Divide(2));
}

// If others refill all the time, no process can lock rf.
TEST_F(ShardPlanTest, ABucketThatIsRefilledAllTheTimeIsDividedWithoutALock) {
  Item busy = ShardItem(0, 1, 50'000);
  busy["rf"] = Of(kNow.value - 20);
  Have(0, busy);
  busy["rf"] = Of(kNow.value - 10);
  busy["b_rpm_tk"] = Of(50'100);
  table_.Put(busy);
  ASSERT_TRUE(Divide(2));
  EXPECT_EQ(GetNumber(At(0), "b_rpm_tk"), 25'100);
  EXPECT_EQ(GetNumber(At(0), "rf"), kNow.value - 10);
  EXPECT_EQ(GetNumber(At(1), "b_rpm_tk"), 25'000);
  EXPECT_EQ(GetNumber(At(1), "rf"), kNow.value) << "nothing comes back twice";
}

TEST_F(ShardPlanTest, SomebodyElsesDoublingWins) {
  Have(0, ShardItem(0, 1, 50'000));
  table_.Put(ShardItem(0, 2, 50'000));
  EXPECT_FALSE(Divide(2));
}

// Fails if: a division does not require one of these as it was read. The heirs' items would be
// wrong, or the donor would expire before it is full.
TEST_F(ShardPlanTest, ADivisionIsOfWhatWasRead) {
  Item item = ShardItem(0, 1, 50'000);
  item["ttl"] = Of(kNow.value / 1000 + 1'000);
  Have(0, item);
  const std::pair<std::string, Value> changes[] = {{"w_extra", Of("rpm")},
                                                   {"w_gone", Of(FormatGone({kNow, kNow}))},
                                                   {"ttl", Of(kNow.value / 1000 + 2'000)}};
  for (const auto& [attribute, value] : changes) {
    Item changed = item;
    changed.insert_or_assign(attribute, value);
    table_.Put(changed);
    EXPECT_FALSE(Divide(2)) << attribute;
  }
  table_.Put(item);
  const TableKey owner = kShardKeys.Entity("acme");
  table_.Put({{"PK", Of(owner.pk)}, {"SK", Of(owner.sk)}});
  EXPECT_FALSE(Divide(2)) << "its entity was created";
}

TEST_F(ShardPlanTest, ANewShardHasAllThatAClientExpects) {
  Item item = ShardItem(0, 1, 50'000);
  item["parent_id"] = Of("team");
  item["pgen"] = Of(7);
  item["pinc"] = Of("00ff");
  item["ttl"] = Of(kNow.value / 1000 + 10);
  item["w_t_00000000000000000000000000000001"] = Of(kNow.value);
  item["GSI2PK"] = Of("elsewhere");
  Have(0, item);
  ASSERT_TRUE(Divide(2));
  const Item made = At(1);
  EXPECT_EQ(*GetText(made, "parent_id"), "team");
  EXPECT_EQ(GetNumber(made, "pgen"), 7);
  EXPECT_EQ(*GetText(made, "pinc"), "00ff");
  EXPECT_EQ(*GetText(made, "entity_id"), "acme");
  EXPECT_EQ(GetFlag(made, "cascade"), false);
  EXPECT_EQ(GetNumber(made, "b_rpm_tc"), 0);
  EXPECT_EQ(GetNumber(made, "b_wcu_tk"), 1'000'000);
  EXPECT_EQ(GetNumber(made, "b_wcu_cp"), 1'000'000);
  EXPECT_GT(GetNumber(made, "ttl"), kNow.value / 1000 + 10);
  EXPECT_FALSE(made.contains("w_t_00000000000000000000000000000001"));
  for (const auto& [name, value] : kShardKeys.BucketIndexes({"acme", "llm", 1})) {
    EXPECT_EQ(made.at(name), value) << name;
  }
}

// Fails if: the ttl of a donor or of an heir is computed only from limits that are in the item.
class ShardPlanGoneTest : public ShardPlanTest, public testing::WithParamInterface<milliseconds> {};
INSTANTIATE_TEST_SUITE_P(ShardPlanTest, ShardPlanGoneTest,
                         testing::Values(milliseconds(1'000), milliseconds(20)),
                         [](const auto& at) { return std::to_string(at.param.count()); });

TEST_P(ShardPlanGoneTest, D3NoShardGoesBeforeWhatLeftEarlyIsFull) {
  const UnixMillis full = kNow + std::chrono::hours(24);
  Item item = ShardItem(0, 1, 50'000);
  item["rf"] = Of((kNow - GetParam()).value);
  item["w_gone"] = Of(FormatGone({kNow, full}));
  item["ttl"] = Of(kNow.value / 1000 + 71);
  Have(0, item);
  ASSERT_TRUE(Divide(2));
  for (std::uint32_t shard : {0U, 1U}) {
    EXPECT_GT(GetNumber(At(shard), "ttl"), full.value / 1000) << shard;
    EXPECT_TRUE(At(shard).contains("w_gone"));
  }
}

// Fails if: debt that an adjust leaves after the bucket was read is repaid at half of the rate,
// under a ttl that does not cover it.
TEST_F(ShardPlanTest, D1DebtThatCameMeanwhileIsNotForgotten) {
  Item item = ShardItem(0, 1, -10'000);
  item["ttl"] = Of(kNow.value / 1000 + 71);
  Have(0, item);
  Item owes = ShardItem(0, 1, -610'000);
  owes["ttl"] = Of(kNow.value / 1000 + 71);
  table_.Put(owes);
  EXPECT_FALSE(Divide(2)) << "120 s repay it at half of the rate";
}

// Fails if: the heirs get parameters that are no longer those of the bucket, whether or not the
// division has a lock on rf.
class ShardPlanChangedTest : public ShardPlanTest,
                             public testing::WithParamInterface<milliseconds> {};
INSTANTIATE_TEST_SUITE_P(ShardPlanTest, ShardPlanChangedTest,
                         testing::Values(milliseconds(1'000), milliseconds(20)),
                         [](const auto& at) { return std::to_string(at.param.count()); });

TEST_P(ShardPlanChangedTest, D15ParametersThatChangedMeanwhileAreNotDivided) {
  Item item = ShardItem(0, 1, 50'000);
  item["rf"] = Of((kNow - GetParam()).value);
  Have(0, item);
  for (const auto* attribute : {"b_rpm_cp", "b_rpm_ra", "b_rpm_rp", "vu"}) {
    Item changed = item;
    changed[attribute] = Of(std::int64_t{60'000});
    table_.Put(changed);
    EXPECT_FALSE(Divide(2)) << attribute;
  }
  table_.Put(item);
  EXPECT_TRUE(Divide(2));
}

// Fails if: the heirs do not have a limit that joins while the bucket is divided: its next request
// would find it full there.
TEST_P(ShardPlanChangedTest, ALimitThatJoinsMeanwhileIsNotLeftOut) {
  Item item = ShardItem(0, 1, 50'000);
  item["rf"] = Of((kNow - GetParam()).value);
  Have(0, item);
  DynamoBucketStore other(table_.table, kShardKeys, table_.scheduler, {.seed = 5});
  const BucketKey key{"acme", "llm", 0};
  const auto image = ReadImage(item);
  ASSERT_TRUE(image);
  const std::vector<Charge> charges{
      {MakeTarget(key, {{"rpm", image->stored[0]}, {"day", PerDay(100)}}), {0, 100'000}}};
  const auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
    other.Acquire(charges, kNow - milliseconds(3), Deadline::Never(), std::move(done));
  });
  ASSERT_TRUE(decision && decision->admitted);
  ASSERT_TRUE(At(0).contains("b_day_tk"));
  EXPECT_FALSE(Divide(2));
  EXPECT_THAT(At(1), IsEmpty());
}

/// The bucket has two shards. Shard 3 of an earlier division is left over.
class LeftoverPlanTest : public ShardPlanTest {
 protected:
  LeftoverPlanTest() {
    for (const std::uint32_t shard : {0U, 1U}) Have(shard, ShardItem(shard, 2, 10'000));
    leftover_["b_rpm_tc"] = Of(77'000);
    leftover_["b_wcu_tc"] = Of(9'000);
    leftover_["w_3"] = Of(FenceValue{.instance = 77, .at = kShardStart, .draw = 1});
    Have(3, leftover_);
    seen_.count = 2;
  }
  Item leftover_ = ShardItem(3, 4, 25'000);
};

// Fails if: the new shard has tokens of the leftover, or keeps a slot under which a write on the
// leftover was sent; or if the consumption that an aggregator has counted goes back.
TEST_F(LeftoverPlanTest, ItsTokensAndItsSlotsAreDroppedAndItsConsumptionStays) {
  ASSERT_TRUE(Divide(4));
  // Five tokens came back to each of the two shards.
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    EXPECT_EQ(GetNumber(At(shard), "b_rpm_tk"), 7'500) << shard;
    EXPECT_EQ(GetNumber(At(shard), "shard_count"), 4) << shard;
  }
  EXPECT_FALSE(At(3).contains("w_3"));
  EXPECT_EQ(GetNumber(At(3), "b_rpm_tc"), 77'000);
  EXPECT_EQ(GetNumber(At(3), "b_wcu_tc"), 9'000);
  EXPECT_EQ(GetNumber(At(2), "b_rpm_tc"), 0);
}

// Fails if: the new shard may have an rf under which a slot of the leftover was claimed. A write of
// that claim could be applied to both items.
TEST_F(LeftoverPlanTest, TheNewShardHasALaterTime) {
  leftover_["rf"] = Of(kNow.value + 20);
  Have(3, leftover_);
  ASSERT_TRUE(Divide(4));
  EXPECT_EQ(GetNumber(At(2), "rf"), kNow.value);
  EXPECT_EQ(GetNumber(At(3), "rf"), kNow.value + 21);
}

TEST_F(LeftoverPlanTest, ATimeThatIsFarAheadIsNotTakenOver) {
  leftover_["rf"] = Of(kNow.value + 86'400'000);
  Have(3, leftover_);
  ASSERT_TRUE(Divide(4));
  EXPECT_EQ(GetNumber(At(3), "rf"), kNow.value);
}

// Fails if: an item is replaced that is not as it was read.
TEST_F(LeftoverPlanTest, OnlyTheItemThatWasReadIsReplaced) {
  for (const auto* attribute : {"rf", "shard_count", "b_rpm_tk", "disabled"}) {
    Item changed = leftover_;
    changed[attribute] = Of(kShardStart.value + 1);
    table_.Put(changed);
    EXPECT_FALSE(Divide(4)) << attribute;
  }
  table_.Put(leftover_);
  EXPECT_TRUE(Divide(4));
}

// Fails if: a bucket that callers know by its shard loses the tokens that it has used.
TEST_F(LeftoverPlanTest, ABucketOfItsOwnStays) {
  Have(3, ShardItem(3, 1, 1'000));
  EXPECT_FALSE(Divide(4));
}

// A Python client leaves a division like this: the count is only on shard 0.
TEST_F(ShardPlanTest, WhatAnotherClientLeftHalfDoneIsMadeWholeWithoutMinting) {
  Have(0, ShardItem(0, 4, 60'000));
  Have(1, ShardItem(1, 2, 30'000));
  ASSERT_TRUE(Divide(4));
  std::int64_t all = 0;
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    EXPECT_EQ(GetNumber(At(shard), "shard_count"), 4) << shard;
    EXPECT_LE(GetNumber(At(shard), "b_rpm_tk").value_or(0), 25'000) << shard;
    all += GetNumber(At(shard), "b_rpm_tk").value_or(0);
  }
  // Shard 0 is full at its quarter; the other one earned half of the rate for a second.
  EXPECT_LE(all, 60'000 + 35'000);
}

TEST_F(ShardPlanTest, ABucketThatIsWholeNeedsNothing) {
  Have(0, ShardItem(0, 2, 50'000));
  Have(1, ShardItem(1, 2, 50'000));
  EXPECT_THAT(PlanShards(kShardKeys, seen_, 2, kNow).value(), IsEmpty());
  const ShardsSeen none{.key = seen_.key, .items = {std::nullopt}, .owner = {}};
  EXPECT_THAT(PlanShards(kShardKeys, none, 2, kNow).value(), IsEmpty());
}

TEST_F(ShardPlanTest, WhatIsNotImplementedIsLeftAsItIs) {
  Item item = ShardItem(0, 1, 50'000);
  item["sched"] = Of("1h9s500");
  Have(0, item);
  const auto writes = PlanShards(kShardKeys, seen_, 2, kNow);
  ASSERT_FALSE(writes.has_value());
  EXPECT_EQ(writes.error().code, Code::kFailedPrecondition);
}

TEST_F(ShardPlanTest, ThirtyTwoShardsAreOneTransaction) {
  for (std::uint32_t shard = 0; shard < 16; ++shard) Have(shard, ShardItem(shard, 16, 1'000));
  ASSERT_TRUE(Divide(32));
  EXPECT_EQ(GetNumber(At(31), "shard_count"), 32);
  EXPECT_THAT(table_.AllKeys(), SizeIs(32));
}

TEST(DoubleOf, StopsAtThirtyTwoAndAboveOneToken) {
  BucketImage image{.key = {}, .bucket = {}};
  image.stored = {{100'000, 1, 1}, {8'000, 1, 1}};
  EXPECT_EQ(DoubleOf(image), 2U);
  image.shards = 4;
  EXPECT_EQ(DoubleOf(image), 8U) << "one token each";
  image.shards = 8;
  EXPECT_EQ(DoubleOf(image), std::nullopt);
  image.stored = {{1'000'000'000, 1, 1}};
  EXPECT_EQ(DoubleOf(image), 16U);
  image.shards = 16;
  EXPECT_EQ(DoubleOf(image), 32U);
  image.shards = 32;
  EXPECT_EQ(DoubleOf(image), std::nullopt);
}

}  // namespace
}  // namespace weir::dynamo
