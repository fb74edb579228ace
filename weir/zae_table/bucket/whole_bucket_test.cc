// Divided buckets, as decisions and reads report them.
#include "weir/zae_table/bucket/whole_bucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using ::testing::SizeIs;

class WholeBucketTest : public testing::Test {
 protected:
  void Have(std::uint32_t shards, std::int64_t tokens_each) {
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      table_.Put(ShardItem(shard, shards, tokens_each));
    }
  }
  Decision Ask(std::int64_t tokens) {
    const Charge charge{MakeTarget({"acme", "llm", 0}, {kRpm}), {tokens * 1000}};
    const auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      store_.Acquire({&charge, 1}, kShardStart, Deadline::Never(), std::move(done));
    });
    EXPECT_TRUE(decision.has_value()) << decision.error().message;
    return decision.value_or(Decision{});
  }
  std::optional<BucketRecord> Read(std::uint32_t shard) {
    using BucketRecords = std::vector<std::optional<BucketRecord>>;
    const BucketKey key{"acme", "llm", shard};
    const auto records = table_.Ask<BucketRecords>([&](Done<BucketRecords> done) {
      store_.Read({&key, 1}, Deadline::Never(), std::move(done));
    });
    EXPECT_TRUE(records.has_value()) << records.error().message;
    return records ? records->front() : std::nullopt;
  }

  /// Checks tokens that are refilled to T, which is some milliseconds after kShardStart.
  static void ExpectAbout(std::int64_t tokens, std::int64_t expected) {
    EXPECT_GE(tokens, expected);
    EXPECT_LT(tokens, expected + 200);
  }

  ZaeSimTable table_;
  DynamoBucketStore store_{table_.table, kShardKeys, table_.scheduler, {.seed = 3}};
};

// Fails if: a decision reports the capacity of one shard, or more tokens than the request could
// take.
TEST_F(WholeBucketTest, Z7ADecisionReportsTheCapacityOfTheWholeBucket) {
  Have(4, 5'000);
  for (const std::int64_t tokens : {2, 10, 60}) {
    const Decision decision = Ask(tokens);
    EXPECT_EQ(decision.admitted, tokens == 2);
    ASSERT_THAT(decision.limits, SizeIs(1)) << tokens;
    EXPECT_EQ(decision.limits[0].capacity, 100'000) << tokens;
    EXPECT_LE(decision.limits[0].available, tokens == 60 ? 18'000 : 5'000) << tokens;
    EXPECT_GT(decision.limits[0].available, 0) << tokens;
    // The first request of a process discovers the shards; 60 tokens are taken from all of them.
    EXPECT_EQ(decision.of_shards, tokens == 10 ? 4U : 1U) << tokens;
  }
}

// Fails if: shard 0 is reported as the whole bucket. That reported 5 of 25 tokens as 80 of 100.
TEST_F(WholeBucketTest, Z7ShardZeroIsReadAsTheWholeBucket) {
  Have(4, 5'000);
  for (int known = 0; known < 2; ++known) {
    const auto whole = Read(0);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->key, (BucketKey{"acme", "llm", 0}));
    EXPECT_EQ(whole->names, std::vector<std::string>{"rpm"});
    ASSERT_THAT(whole->bucket.meters, SizeIs(1));
    EXPECT_EQ(whole->bucket.meters[0].quota, kRpm.quota);
    ExpectAbout(whole->bucket.meters[0].tokens, 20'000);
    Ask(0);
  }
  const auto part = Read(2);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->bucket.meters[0].tokens, 5'000);
  EXPECT_EQ(part->bucket.meters[0].quota.capacity, 25'000);
}

// Fails if: a shard that holds more than its part, or that is missing, counts with more than it
// could pay; or debt is left out.
TEST_F(WholeBucketTest, Z7TheWholeIsNeverMoreThanItsShardsCanPay) {
  table_.Put(ShardItem(0, 4, 60'000));
  table_.Put(ShardItem(1, 4, -7'000));
  ExpectAbout(Read(0)->bucket.meters[0].tokens, 18'000);  // 25 of shard 0, less the debt
}

// Fails if: the whole is refilled as one bucket. Then tokens that a full shard does not gain would
// be gained by another one.
TEST_F(WholeBucketTest, Z7AFullShardEarnsNothingForTheOthers) {
  table_.Put(ShardItem(0, 2, 50'000));
  table_.Put(ShardItem(1, 2, 0));
  table_.scheduler.Advance(std::chrono::seconds(3));
  const auto whole = Read(0);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->bucket.time, table_.table.Now());
  ExpectAbout(whole->bucket.meters[0].tokens, 65'000);  // 50, and 3 s of shard 1
}

// Fails if: the shards' balances are added as of different times.
TEST_F(WholeBucketTest, Z7EachShardIsRefilledToNow) {
  Have(2, 5'000);
  Item later = ShardItem(1, 2, 1'000);
  later["rf"] = Of((kShardStart + milliseconds(1'000)).value);
  table_.Put(later);
  table_.scheduler.Advance(std::chrono::seconds(2));
  const auto whole = Read(0);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->bucket.time, table_.table.Now());
  ExpectAbout(whole->bucket.meters[0].tokens, 21'000);  // 5 and 10 of shard 0, 1 and 5 of shard 1
}

// Fails if: one shard whose time is far ahead makes the others full.
TEST_F(WholeBucketTest, Z7AShardThatIsAheadRefillsNoOther) {
  Have(2, 5'000);
  Item ahead = ShardItem(1, 2, 1'000);
  ahead["rf"] = Of((kShardStart + std::chrono::hours(10)).value);
  table_.Put(ahead);
  table_.scheduler.Advance(std::chrono::seconds(2));
  const std::int64_t tokens = Read(0)->bucket.meters[0].tokens;
  EXPECT_GE(tokens, 16'000) << "10 came back to shard 0 in 2 s";
  EXPECT_LT(tokens, 17'000);
}

// Fails if: a bucket whose shard 0 was deleted is reported as missing, that is, as full.
TEST_F(WholeBucketTest, Z7ShardsAreFoundIfShardZeroIsGone) {
  table_.Put(ShardItem(1, 4, 5'000));
  const auto whole = Read(0);
  ASSERT_TRUE(whole);
  ExpectAbout(whole->bucket.meters[0].tokens, 5'000);
  EXPECT_EQ(whole->bucket.meters[0].quota, kRpm.quota);
  EXPECT_EQ(Read(2), std::nullopt);
}

// Fails if: a bucket that its callers name by another shard than 0 counts as part of that of shard
// 0.
TEST_F(WholeBucketTest, Z7AShardThatIsABucketOfItsOwnIsNoPart) {
  table_.Put(ShardItem(1, 1, 5'000));
  EXPECT_EQ(Read(0), std::nullopt);
  const auto own = Read(1);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->bucket.meters[0].tokens, 5'000);
}

}  // namespace
}  // namespace weir::dynamo
