// Refusals: the greatest age of the images that they rely on, and refusals that no limit causes.
#include <gtest/gtest.h>

#include "weir/zae_table/actor/bucket_call.h"
#include "weir/zae_table/dynamo_backend.h"
#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

const Limit kSlowLimit{"rpm", PerSecond(10).Burst(20)};

class RefusalTest : public testing::Test {
 protected:
  struct Process {
    Process(ZaeSimTable& table, std::uint64_t seed, milliseconds refusal_age)
        : store(table.table, kShardKeys, table.scheduler,
                {.seed = seed, .refusal_age = refusal_age}) {}
    DynamoBucketStore store;
  };

  std::vector<Charge> ChargeOf(std::int64_t tokens) const {
    return {{MakeTarget({"acme", "llm", 0}, {limit_}), {tokens * kMillitokens}}};
  }
  Result<Decision> Ask(Process& process, std::int64_t tokens,
                       Deadline deadline = Deadline::Never()) {
    return table_.Ask<Decision>([&](Done<Decision> done) {
      process.store.Acquire(ChargeOf(tokens), kShardStart, deadline,
                            [this, done = std::move(done)](Result<Decision> decision) mutable {
                              completed_at_ = table_.scheduler.clock().Now();
                              done(std::move(decision));
                            });
    });
  }
  bool Takes(Process& process, std::int64_t tokens) {
    const Result<Decision> decision = Ask(process, tokens);
    EXPECT_TRUE(decision.has_value()) << decision.error().message;
    return decision && decision->admitted;
  }
  Status GiveBack(Process& process, std::int64_t tokens) {
    return table_.Ask<void>([&](Done<void> done) {
      process.store.Adjust(ChargeOf(-tokens), AdjustId{9, ++adjusts_}, kShardStart,
                           Deadline::Never(), std::move(done));
    });
  }
  /// Another process refills before each write, so that no write of this process succeeds.
  void LoseEveryRound() {
    table_.client.before_each = [this](const JsonCall& call) {
      if (call.operation != "UpdateItem") return;
      Item item = *table_.Get(kShardKeys.Bucket({"acme", "llm", 0}));
      item.insert_or_assign("rf", Of(*GetNumber(item, "rf") + 1));
      item.insert_or_assign("vu", Of(std::int64_t{0}));
      table_.Put(std::move(item));
      ++lost_;
    };
  }

  Limit limit_ = kSlowLimit;
  ZaeSimTable table_;
  Process here_{table_, 3, milliseconds(1000)};
  Process there_{table_, 4, milliseconds(1000)};
  Instant completed_at_;
  std::uint64_t adjusts_ = 0;
  int lost_ = 0;
};

TEST_F(RefusalTest, D7WhatOthersGiveBackIsSeenWithinASecond) {
  ASSERT_TRUE(Takes(there_, 20));
  EXPECT_FALSE(Takes(here_, 5));
  ASSERT_TRUE(GiveBack(there_, 20));
  const std::uint64_t calls = table_.client.calls();
  EXPECT_FALSE(Takes(here_, 5));
  EXPECT_EQ(table_.client.calls(), calls) << "a refusal from memory asks nobody";
  table_.scheduler.Advance(std::chrono::milliseconds(1001));
  EXPECT_TRUE(Takes(here_, 5));
}

TEST_F(RefusalTest, D7TheAgeIsConfiguredUpToFiveSeconds) {
  Process patient(table_, 5, std::chrono::hours(1));
  ASSERT_TRUE(Takes(there_, 20));
  EXPECT_FALSE(Takes(patient, 5));
  ASSERT_TRUE(GiveBack(there_, 20));
  table_.scheduler.Advance(std::chrono::milliseconds(4999));
  EXPECT_FALSE(Takes(patient, 5));
  table_.scheduler.Advance(std::chrono::milliseconds(2));
  EXPECT_TRUE(Takes(patient, 5));
}

TEST_F(RefusalTest, D7AShardThatRefusedLongAgoIsAskedAgain) {
  limit_.quota = {100'000, 10'000, 1'000};
  table_.Put(ShardItem(0, 2, 0));
  table_.Put(ShardItem(1, 2, 0));
  EXPECT_FALSE(Takes(here_, 5));
  EXPECT_FALSE(Takes(here_, 5));
  for (std::uint32_t shard = 0; shard < 2; ++shard) table_.Put(ShardItem(shard, 2, 50'000));
  table_.scheduler.Advance(std::chrono::milliseconds(1001));
  EXPECT_TRUE(Takes(here_, 5));
}

// Fails if: because of its old refusal, a shard seems to pay later than one that was just seen.
TEST_F(RefusalTest, D7AnOldRefusalDoesNotHideAShardThatMayPay) {
  limit_.quota = {100'000, 10'000, 1'000};
  table_.Put(ShardItem(0, 2, -20'000));
  table_.Put(ShardItem(1, 2, 0));
  EXPECT_FALSE(Takes(here_, 5)) << "both are seen";
  table_.Put(ShardItem(0, 2, 50'000));
  table_.scheduler.Advance(std::chrono::milliseconds(1001));
  const std::vector<Charge> of_shard_1 = {
      {MakeTarget({"acme", "llm", 1}, {limit_}), {5 * kMillitokens}}};
  const auto seen = table_.Ask<Decision>([&](Done<Decision> done) {
    here_.store.Acquire(of_shard_1, kShardStart, Deadline::Never(), std::move(done));
  });
  ASSERT_TRUE(seen.has_value()) << seen.error().message;
  EXPECT_FALSE(seen->admitted);
  EXPECT_TRUE(Takes(here_, 5));
}

TEST_F(RefusalTest, Z1ADeletedEntityIsForgotten) {
  DynamoBackend backend(
      {.client = table_.client,
       .scheduler = table_.scheduler,
       .table = table_.table.name(),
       .namespace_id = "ns-z1",
       .sources = {.random = [n = std::make_shared<std::uint64_t>(7)] { return ++*n; }}});
  const auto take = [&] {
    const auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      backend.buckets().Acquire(ChargeOf(20), kShardStart, Deadline::Never(), std::move(done));
    });
    return decision && decision->admitted;
  };
  const auto apply = [&](ConfigChange change) {
    return table_.Ask<void>([&](Done<void> done) {
      backend.config().Apply({std::move(change)}, Deadline::Never(), std::move(done));
    });
  };
  ASSERT_TRUE(apply(CreateEntity{{.entity = {.id = "acme", .name = "acme"}}}));
  EXPECT_TRUE(take());
  EXPECT_FALSE(take());
  const Status deleted = apply(DeleteEntity{"acme"});
  ASSERT_TRUE(deleted) << deleted.error().message;
  EXPECT_TRUE(take());
}

TEST_F(RefusalTest, D9ADamagedShardCountCostsFewRequests) {
  limit_.quota = {100'000, 10'000, 1'000};
  table_.Put(ShardItem(0, 1'024, 50'000));
  EXPECT_TRUE(Takes(here_, 1));
  for (int i = 0; i < 50; ++i) (void)Ask(here_, 1);
  EXPECT_LE(table_.server.counts().Requests("GetItem"), 40U);
  EXPECT_LE(table_.client.calls(), 60U);
  EXPECT_EQ(GetNumber(*table_.Get(kShardKeys.Bucket({"acme", "llm", 0})), "shard_count"), 1'024)
      << "other clients never go back";
}

// The request is for more than one part of the bucket has. Fails if: as many shards are read as the
// item says.
TEST_F(RefusalTest, D9ADamagedShardCountCostsFewRequestsAlsoIfShardsAreMissing) {
  limit_.quota = {100'000, 10'000, 1'000};
  table_.Put(ShardItem(0, 1'024, 50'000));
  (void)Ask(here_, 5);
  EXPECT_LE(table_.client.calls(), 3 * kMaxShards + 10);
}

TEST_F(RefusalTest, C26WhoOnlyLosesToOthersIsRefusedAsContended) {
  ASSERT_TRUE(Takes(there_, 1));
  LoseEveryRound();
  const Result<Decision> decision = Ask(here_, 1);
  ASSERT_TRUE(decision.has_value()) << decision.error().message;
  EXPECT_FALSE(decision->admitted);
  EXPECT_TRUE(decision->contended);
  EXPECT_EQ(decision->retry_after, kContendedWait);
  EXPECT_GE(lost_, 50);
  EXPECT_LE(lost_, 51) << "without a deadline it ends, too";
}

TEST_F(RefusalTest, C26ContentionEndsAtTheDeadline) {
  ASSERT_TRUE(Takes(there_, 1));
  LoseEveryRound();
  const Deadline deadline = Deadline::After(table_.scheduler.clock(), milliseconds(250));
  const Result<Decision> decision = Ask(here_, 1, deadline);
  ASSERT_TRUE(decision.has_value()) << decision.error().message;
  EXPECT_TRUE(decision->contended);
  EXPECT_LE(completed_at_, deadline.at()) << "D11: it does not rest beyond it";
  EXPECT_LT(lost_, 50);
}

TEST_F(RefusalTest, C26AnAdjustThatOnlyLosesIsAnError) {
  ASSERT_TRUE(Takes(there_, 1));
  LoseEveryRound();
  const Status status = GiveBack(here_, 1);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace weir::dynamo
