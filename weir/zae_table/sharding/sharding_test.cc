// Divided buckets, as callers of the store see them.
#include "weir/zae_table/testing/sharding_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "weir/telemetry/testing/recording_log_fixture.h"
#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/sharding/shard_route.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ShardingTest : public testing::Test {
 protected:
  explicit ShardingTest(BucketStoreOptions options = {.seed = 3})
      : store_(table_.table, kShardKeys, table_.scheduler, options) {}

  void Have(std::uint32_t shards, std::int64_t tokens_each) {
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      table_.Put(ShardItem(shard, shards, tokens_each));
    }
  }
  Decision Ask(std::int64_t tokens, std::int64_t later = 0,
               const std::vector<std::string>& entities = {"acme"}) {
    std::vector<Charge> charges;
    for (const std::string& entity : entities) {
      charges.push_back({MakeTarget({entity, "llm", 0}, {kRpm}), {tokens * 1000}});
    }
    auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      store_.Acquire(charges, kShardStart + milliseconds(later), Deadline::Never(),
                     std::move(done));
    });
    EXPECT_TRUE(decision.has_value()) << decision.error().message;
    return decision.value_or(Decision{});
  }
  Status Adjust(std::int64_t tokens, std::uint32_t shard, AdjustId token) {
    const std::vector<Charge> charges{
        {MakeTarget({"acme", "llm", 0}, {kRpm}), {tokens * 1000}, shard}};
    return table_.Ask<void>([&](Done<void> done) {
      store_.Adjust(charges, token, kShardStart, Deadline::Never(), std::move(done));
    });
  }
  Item At(std::uint32_t shard, const std::string& entity = "acme") {
    return table_.Get(kShardKeys.Bucket({entity, "llm", shard})).value_or(Item{});
  }
  std::int64_t Tokens(std::uint32_t shard) { return GetNumber(At(shard), "b_rpm_tk").value_or(0); }
  std::vector<std::int64_t> AllTokens(std::uint32_t shards) {
    std::vector<std::int64_t> tokens;
    for (std::uint32_t shard = 0; shard < shards; ++shard) tokens.push_back(Tokens(shard));
    return tokens;
  }

  ZaeSimTable table_;
  DynamoBucketStore store_;
};

TEST_F(ShardingTest, AnUndividedBucketSaysNothingOfShards) {
  EXPECT_THAT(Ask(1).shards, IsEmpty());
}

TEST_F(ShardingTest, TakesFromEveryShardUntilAllAreEmpty) {
  Have(4, 25'000);
  int admitted = 0;
  while (Ask(1).admitted) ++admitted;
  EXPECT_EQ(admitted, 100);
  EXPECT_THAT(AllTokens(4), ElementsAre(0, 0, 0, 0));
}

TEST_F(ShardingTest, ARefusalTellsTheShardThatPaysFirst) {
  Have(2, 0);
  Item richer = ShardItem(1, 2, 600);
  table_.Put(richer);
  EXPECT_FALSE(Ask(1).admitted) << "learns one shard, or both";
  const Decision refusal = Ask(1);
  EXPECT_EQ(refusal.retry_after, milliseconds(80)) << "400 millitokens at 5 a second";
  const std::uint64_t before = table_.server.counts().AllRequests();
  EXPECT_FALSE(Ask(1, 79).admitted);
  EXPECT_EQ(table_.server.counts().AllRequests(), before);
  EXPECT_TRUE(Ask(1, 80).admitted);
}

TEST_F(ShardingTest, WhatIsGivenBackReturnsToTheShardThatPaid) {
  Have(4, 10'000);
  Ask(0);
  for (std::uint64_t i = 0; i < 8; ++i) {
    const auto before = AllTokens(4);
    const Decision decision = Ask(2);
    ASSERT_TRUE(decision.admitted);
    const std::uint32_t shard = decision.shards.empty() ? 0 : decision.shards[0];
    EXPECT_EQ(Tokens(shard), before[shard] - 2'000);
    ASSERT_TRUE(Adjust(-2, shard, {1, i}));
    EXPECT_EQ(AllTokens(4), before);
  }
}

TEST_F(ShardingTest, ARequestThatNoShardCouldPayIsPaidByAll) {
  Have(4, 25'000);
  Ask(0);
  Ask(0);
  const Decision decision = Ask(90);
  ASSERT_TRUE(decision.admitted);
  EXPECT_THAT(AllTokens(4), ElementsAre(2'500, 2'500, 2'500, 2'500));
  ASSERT_THAT(decision.limits, SizeIs(1));
  EXPECT_EQ(decision.limits[0].capacity, 100'000);
  EXPECT_EQ(decision.limits[0].requested, 90'000);
  ASSERT_THAT(decision.shards, SizeIs(1));
  ASSERT_TRUE(Adjust(-90, decision.shards[0], {1, 1}));
  EXPECT_THAT(AllTokens(4), ElementsAre(25'000, 25'000, 25'000, 25'000));
  ASSERT_TRUE(Adjust(-90, decision.shards[0], {1, 1}));
  EXPECT_THAT(AllTokens(4), ElementsAre(25'000, 25'000, 25'000, 25'000)) << "counts once";
  EXPECT_TRUE(Ask(100).admitted) << "the whole capacity";
}

TEST_F(ShardingTest, ALargeRequestThatOneShardRefusesTakesNothing) {
  Have(4, 25'000);
  Ask(0);
  table_.Put(ShardItem(2, 4, 1'000));
  EXPECT_FALSE(Ask(90).admitted);
  EXPECT_THAT(AllTokens(4), ElementsAre(25'000, 25'000, 1'000, 25'000));
}

// State after a doubling by zae-limiter's client: the count is only on shard 0, and other shards
// are created when the client draws them.
TEST_F(ShardingTest, AnotherClientsDoublingIsMadeWholeAndMintsNothing) {
  table_.Put(ShardItem(0, 4, 60'000));
  int admitted = 0;
  while (Ask(1).admitted) ++admitted;
  // Shard 0 had 60 and may hold 25; fractions of a token remain in each shard.
  EXPECT_LE(admitted, 25);
  EXPECT_GE(admitted, 22);
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    EXPECT_EQ(GetNumber(At(shard), "shard_count"), 4) << shard;
  }
}

TEST_F(ShardingTest, AShardWithAnOlderCountIsToldBeforeItPays) {
  table_.Put(ShardItem(0, 4, 0));
  table_.Put(ShardItem(1, 2, 50'000));
  table_.Put(ShardItem(2, 4, 0));
  table_.Put(ShardItem(3, 4, 0));
  int admitted = 0;
  while (Ask(1).admitted) ++admitted;
  EXPECT_EQ(admitted, 25) << "a quarter of the capacity, not half";
}

TEST_F(ShardingTest, WhereShardZeroIsGoneTheOthersAreNotForgotten) {
  table_.Put(ShardItem(1, 2, 10'000));
  int admitted = 0;
  while (Ask(1).admitted) ++admitted;
  EXPECT_EQ(admitted, 10);
}

TEST_F(ShardingTest, AReturnToABucketThatIsGoneFindsItFull) {
  EXPECT_TRUE(Adjust(-5, 3, {1, 1}));
  EXPECT_EQ(Tokens(0), 100'000);
  EXPECT_THAT(At(3), IsEmpty());
}

/// Adjusts of shards of a bucket that was deleted, and created again with fewer shards.
class FewerShardsTest : public ShardingTest {
 protected:
  void HaveAgain(std::uint32_t shards, std::int64_t tokens_each) {
    std::vector<TableKey> keys;
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      keys.push_back(kShardKeys.Bucket({"acme", "llm", shard}));
    }
    const Status deleted = table_.Ask<void>(
        [&](Done<void> done) { table_.table.DeleteAll(keys, kNever, std::move(done)); });
    ASSERT_TRUE(deleted);
    Have(shards, tokens_each);
    store_.Forget("acme");
  }
  Status AdjustShared(DynamoBucketStore& store, std::int64_t tokens, std::uint32_t shard,
                      AdjustId id) {
    const std::vector<Charge> charges{
        {MakeTarget({"acme", "llm", 0}, {kRpm}), {tokens * 1000}, shard}};
    AdjustTerms terms = id;
    terms.is_shared = true;
    return table_.Ask<void>([&](Done<void> done) {
      store.Adjust(charges, terms, kShardStart, Deadline::Never(), std::move(done));
    });
  }
};

// Fails if: the adjust of a shard that the bucket does not have any more is not counted, or is
// counted again when it is repeated.
TEST_F(FewerShardsTest, TheAdjustOfAMissingShardCountsOnceInOneThatExists) {
  Have(1, 50'000);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Adjust(-5, 3, {1, 1}));
    EXPECT_EQ(Tokens(0), 55'000);
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Adjust(7, kSpread | 4U, {1, 2}));
    EXPECT_EQ(Tokens(0), 48'000) << "all four parts";
  }
  EXPECT_THAT(At(3), IsEmpty());
}

TEST_F(FewerShardsTest, EachPartOfASpreadAdjustGoesToOneOfTheShards) {
  Have(2, 30'000);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Adjust(20, kSpread | 4U, {1, 1}));
    EXPECT_THAT(AllTokens(2), ElementsAre(20'000, 20'000));
  }
  ASSERT_TRUE(Adjust(-4, 3, {1, 2}));
  EXPECT_THAT(AllTokens(2), ElementsAre(20'000, 24'000));
}

// Fails if: a repetition counts again, because the bucket was divided differently in between.
TEST_F(FewerShardsTest, AnAdjustCountsOnceHoweverTheBucketIsDividedMeanwhile) {
  Have(4, 10'000);
  ASSERT_TRUE(Adjust(-8, kSpread | 4U, {1, 1}));
  ASSERT_TRUE(Adjust(-3, 3, {1, 2}));
  EXPECT_THAT(AllTokens(4), ElementsAre(12'000, 12'000, 12'000, 15'000));
  HaveAgain(1, 50'000);
  ASSERT_TRUE(Adjust(-8, kSpread | 4U, {1, 1}));
  ASSERT_TRUE(Adjust(-3, 3, {1, 2}));
  EXPECT_EQ(Tokens(0), 50'000) << "each counted in a shard that is gone";
  ASSERT_TRUE(Adjust(-6, 3, {1, 3}));
  EXPECT_EQ(Tokens(0), 56'000);
  HaveAgain(4, 10'000);
  ASSERT_TRUE(Adjust(-6, 3, {1, 3}));
  EXPECT_EQ(Tokens(3), 10'000) << "counted in shard 0";
}

// Fails if: the record of an adjust belongs to the shard in which it is written, and not to the one
// that paid.
TEST_F(FewerShardsTest, ASharedAdjustCountsOnceAmongProcesses) {
  DynamoBucketStore other(table_.table, kShardKeys, table_.scheduler, {.seed = 5});
  Have(4, 10'000);
  ASSERT_TRUE(AdjustShared(store_, -3, 3, {1, 1}));
  EXPECT_EQ(Tokens(3), 13'000);
  HaveAgain(1, 50'000);
  ASSERT_TRUE(AdjustShared(other, -3, 3, {1, 1}));
  EXPECT_EQ(Tokens(0), 50'000);
  ASSERT_TRUE(AdjustShared(store_, -6, 3, {1, 2}));
  EXPECT_EQ(Tokens(0), 56'000);
  HaveAgain(4, 10'000);
  other.Forget("acme");
  ASSERT_TRUE(AdjustShared(other, -6, 3, {1, 2}));
  EXPECT_EQ(Tokens(3), 10'000);
}

// Fails if: a repetition is written in its shard, which exists again, while the first call's write
// is pending in another one.
TEST_F(FewerShardsTest, ARepetitionWaitsForAPartThatIsPendingInAnotherShard) {
  Have(1, 50'000);
  ASSERT_TRUE(Ask(0).admitted);
  table_.client.before_each = [this](const JsonCall& call) {
    table_.server.faults.throttle = call.operation == "UpdateItem" ? 1 : 0;
  };
  const std::vector<Charge> charges{{MakeTarget({"acme", "llm", 0}, {kRpm}), {-5'000}, 1}};
  std::vector<Status> results;
  const auto adjust = [&](Deadline deadline) {
    store_.Adjust(charges, AdjustId{1, 1}, kShardStart, deadline,
                  [&results](Status status) { results.push_back(std::move(status)); });
  };
  adjust(Deadline::After(table_.scheduler.clock(), milliseconds(100)));
  table_.scheduler.Advance(milliseconds(200));
  ASSERT_THAT(results, SizeIs(1));
  ASSERT_FALSE(results[0]);
  table_.client.before_each = nullptr;
  table_.server.faults.throttle = 0;
  Have(2, 20'000);
  adjust(Deadline::Never());
  table_.scheduler.Advance(std::chrono::seconds(20));
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_TRUE(results[1]);
  EXPECT_EQ(GetNumber(At(0), "b_rpm_tc").value_or(0) + GetNumber(At(1), "b_rpm_tc").value_or(0),
            -5'000);
}

/// A view of which only the pending adjust is known.
struct PendingAdjust final : ShardView {
  std::uint32_t ShardsOf(const BucketKey&) const override { return 0; }
  milliseconds WaitAt(const BucketKey&, const Charge&, std::uint32_t) const override { return {}; }
  bool HasAdjust(const BucketKey& shard, AdjustId id) const override {
    return shard == key && id == adjust_id;
  }
  BucketKey key;
  AdjustId adjust_id;
};

// Fails if: a call that has seen fewer shards writes a part elsewhere that another call with the
// same id has pending in its shard, or a call writes it in its shard while it is pending elsewhere.
TEST(RouteAdjust, APendingPartStaysWhereItIs) {
  const BucketKey bucket{"acme", "llm", 0};
  const std::vector<Charge> charges{{MakeTarget(bucket, {kRpm}), {1'000}, 3}};
  const auto shard = [&](const ShardView& view, std::uint32_t shards) {
    const std::vector<ShardCount> counts{{bucket, shards}};
    const Route route = RouteAdjust(charges, {1, 1}, counts, view);
    EXPECT_THAT(route.parts, SizeIs(1));
    EXPECT_EQ(route.parts[0].shard, 3) << "the shard that paid";
    return route.parts[0].target->key.shard;
  };
  PendingAdjust view;
  EXPECT_EQ(shard(view, 2), 1);
  view.key = {"acme", "llm", 3};
  view.adjust_id = {1, 1};
  EXPECT_EQ(shard(view, 2), 3);
  view.key.shard = 0;
  EXPECT_EQ(shard(view, 2), 1) << "the part of shard 0 is another one";
  view.adjust_id = IdOfPart({1, 1}, {"acme", "llm", 3}, view.key);
  EXPECT_EQ(shard(view, 2), 0);
  EXPECT_EQ(shard(view, 4), 0);
}

TEST_F(ShardingTest, AnOldImageLearnsOfTheDoubling) {
  Have(1, 100'000);
  ASSERT_TRUE(Ask(0).admitted);
  ASSERT_TRUE(Ask(1).admitted);
  Have(2, 50'000);
  EXPECT_TRUE(Ask(60).admitted) << "more than a shard has";
  EXPECT_THAT(AllTokens(2), ElementsAre(20'000, 20'000));
}

// Fails if: a bucket whose item DynamoDB throttles is not divided, or if any throttle divides it.
TEST_F(ShardingTest, D8AThrottleOfTheKeyRangeDividesTheBucket) {
  Have(1, 50'000);
  ASSERT_TRUE(Ask(1).admitted);
  table_.client.before_each = [this](const JsonCall& call) {
    table_.server.faults.throttle = call.operation == "UpdateItem" ? 1 : 0;
  };
  const auto ask = [this] {
    const std::vector<Charge> charges{{MakeTarget({"acme", "llm", 0}, {kRpm}), {1'000}}};
    return table_.Ask<Decision>([&](Done<Decision> done) {
      store_.Acquire(charges, kShardStart, Deadline::Never(), std::move(done));
    });
  };
  for (const char* reason :
       {"", "IndexWriteKeyRangeThroughputExceeded", "TableWriteProvisionedThroughputExceeded"}) {
    table_.server.faults.throttling_reason = reason;
    EXPECT_EQ(ask().error().code, Code::kUnavailable);
    EXPECT_EQ(GetNumber(At(0), "shard_count"), 1) << reason;
  }
  table_.server.faults.throttling_reason = "TableWriteKeyRangeThroughputExceeded";
  EXPECT_EQ(ask().error().code, Code::kUnavailable);
  EXPECT_EQ(GetNumber(At(0), "shard_count"), 2);
  EXPECT_EQ(GetNumber(At(1), "shard_count"), 2);
}

// Fails if: a write whose condition failed is not counted as load on the item.
TEST_F(ShardingTest, D8AFailedWriteCountsWithTheNextOneThatPasses) {
  Have(1, 50'000);
  ASSERT_TRUE(Ask(1).admitted);
  const std::int64_t before = GetNumber(At(0), "b_wcu_tc").value_or(0);
  bool changed = false;
  table_.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "UpdateItem" || std::exchange(changed, true)) return;
    Item item = At(0);
    item["vu"] = Of(std::int64_t{0});
    table_.Put(item);
  };
  ASSERT_TRUE(Ask(1).admitted);
  EXPECT_EQ(GetNumber(At(0), "b_wcu_tc"), before + 2 * kWriteCost);
}

// Fails if: a transaction that can never succeed, or that is throttled, is planned again and again.
TEST_F(ShardingTest, D15ACancelledCreationEndsAtOnceWithItsCause) {
  for (const auto& [reason, code] : {std::pair("ThrottlingError", Code::kUnavailable),
                                     std::pair("ValidationError", Code::kInvalidArgument)}) {
    table_.client.cancellation = reason;
    const std::uint64_t calls = table_.client.calls();
    const std::vector<Charge> charges{{MakeTarget({"acme", "llm", 0}, {kRpm}), {1'000}}};
    const auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      store_.Acquire(charges, kShardStart, Deadline::Never(), std::move(done));
    });
    ASSERT_FALSE(decision) << reason;
    EXPECT_EQ(decision.error().code, code) << decision.error().message;
    EXPECT_LE(table_.client.calls() - calls, 2U) << "a read and the transaction";
  }
}

// Fails if: a take that leaves rf does not require the number of shards in its image. Both shards
// are full, and by the old image no balance exceeds its capacity.
TEST_F(ShardingTest, AnOldImageTakesNoMoreThanThereIsAfterADivision) {
  Have(1, 40'000);
  ASSERT_TRUE(Ask(0).admitted);
  Have(2, 50'000);
  int admitted = Ask(20, 1'000).admitted ? 20 : 0;
  while (Ask(1, 1'000).admitted) ++admitted;
  EXPECT_EQ(admitted, 100);
}

// Fails if: a refill does not require the number of shards in its image.
TEST_F(ShardingTest, AnOldImageRefillsAShardWithItsPartOfTheRate) {
  Have(1, 0);
  ASSERT_TRUE(Ask(0).admitted);
  Have(2, 0);
  EXPECT_FALSE(Ask(6, 1'000).admitted) << "5 came back to each shard";
  EXPECT_TRUE(Ask(5, 1'000).admitted);
}

/// One item bears four writes a second.
class DoublingTest : public ShardingTest {
 protected:
  DoublingTest() : DoublingTest(std::make_unique<RecordingLog>()) {}
  std::int64_t Shards(const std::string& entity = "acme") {
    return GetNumber(At(0, entity), "shard_count").value_or(0);
  }
  std::vector<std::string> Events() const { return log_->lines(); }

 private:
  explicit DoublingTest(std::unique_ptr<RecordingLog> log)
      : ShardingTest({.seed = 3, .write_capacity = 4'000, .log = log.get()}),
        log_(std::move(log)) {}
  const std::unique_ptr<RecordingLog> log_;
};

TEST_F(DoublingTest, ABucketThatIsWrittenTooOftenIsDividedAndLosesNothing) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Ask(1).admitted);
  EXPECT_EQ(Shards(), 1);
  ASSERT_TRUE(Ask(1).admitted);
  EXPECT_EQ(Shards(), 2);
  EXPECT_THAT(AllTokens(2), ElementsAre(48'500, 48'500));
  EXPECT_THAT(Events(), ElementsAre("info bucket.divided entity=acme resource=llm shards=2"));
}

// Fails if: an operator cannot see which item causes all of its requests to be refused.
TEST_F(DoublingTest, ADamagedBucketIsReportedOnceInTenSeconds) {
  Item item = ShardItem(0, 1, 10'000);
  item["rf"] = Value{std::string("today")};
  table_.Put(std::move(item));
  const std::vector<Charge> charges{{MakeTarget({"acme", "llm", 0}, {kRpm}), {1000}}};
  for (int i = 0; i < 3; ++i) {
    const auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      store_.Acquire(charges, kShardStart, Deadline::Never(), std::move(done));
    });
    ASSERT_FALSE(decision);
    EXPECT_EQ(decision.error().code, Code::kDataLoss) << decision.error().message;
  }
  EXPECT_THAT(Events(), ElementsAre(testing::StartsWith("warning bucket.damaged message=")));
}

// Fails if: each request on an item that no condition can match is written 50 times, and refused as
// contended for ever.
TEST_F(DoublingTest, AnAttributeOfAnotherTypeIsReportedAndNotWritten) {
  for (const char* attribute : {"ttl", "vu", "shard_count", "b_rpm_tk", "w_extra"}) {
    Item item = ShardItem(0, 1, 50'000);
    const bool is_text = std::string_view(attribute) == "w_extra";
    item[attribute] = is_text ? Of(1) : Of("1");
    table_.Put(std::move(item));
    store_.Forget("acme");
    const std::uint64_t calls = table_.client.calls();
    const std::vector<Charge> charges{{MakeTarget({"acme", "llm", 0}, {kRpm}), {1000}}};
    const auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      store_.Acquire(charges, kShardStart, Deadline::Never(), std::move(done));
    });
    ASSERT_FALSE(decision) << attribute;
    EXPECT_EQ(decision.error().code, Code::kDataLoss);
    EXPECT_THAT(decision.error().message, testing::HasSubstr(attribute));
    EXPECT_LE(table_.client.calls() - calls, 1U) << attribute;
  }
  EXPECT_THAT(Events(), ElementsAre(testing::StartsWith("warning bucket.damaged message=")));
}

TEST_F(DoublingTest, AParentIsDividedLikeAnyOther) {
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(Ask(1, 0, {"user-" + std::to_string(i), "team"}).admitted);
  }
  EXPECT_EQ(Shards("team"), 2);
  EXPECT_EQ(Shards("user-0"), 1);
}

// Defect W2 of zae-limiter: it counts all writes since the bucket was created.
TEST_F(DoublingTest, ABucketThatIsWrittenSlowlyIsNotDividedHoweverLong) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Ask(1, i * 600).admitted);
  EXPECT_EQ(Shards(), 1);
}

TEST_F(DoublingTest, ALostDoublingLeavesEverythingAsItWas) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Ask(1).admitted);
  table_.client.before_each = [this](const JsonCall& call) {
    if (call.operation != "TransactWriteItems") return;
    Item item = At(0);
    item["rf"] = Of(GetNumber(item, "rf").value_or(0) + 100'000'000);
    table_.Put(item);
  };
  EXPECT_TRUE(Ask(1).admitted);
  EXPECT_EQ(Shards(), 1);
  EXPECT_THAT(At(1), IsEmpty());
}

}  // namespace
}  // namespace weir::dynamo
