// BucketLimits::Conform: changed limits are stored in the buckets that exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/config/config_store.h"
#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

class BucketConformTest : public testing::Test {
 protected:
  Status Conform(std::int64_t capacity) {
    const Limit limit{"rpm", {capacity, 10'000, 1'000}};
    return table_.Ask<void>([&](Done<void> done) {
      store_.Conform(MakeTarget({"acme", "llm", 0}, {limit}), Deadline::Never(), std::move(done));
    });
  }
  std::optional<std::int64_t> Stored(std::uint32_t shard, const char* name) {
    const auto item = table_.Get(kShardKeys.Bucket({"acme", "llm", shard}));
    return item ? GetNumber(*item, name) : std::nullopt;
  }
  void Know() {
    const std::vector<Charge> look{{MakeTarget({"acme", "llm", 0}, {kRpm}), {0}}};
    (void)table_.Ask<Decision>([&](Done<Decision> done) {
      store_.Acquire(look, kShardStart, Deadline::Never(), std::move(done));
    });
  }

  std::uint64_t drawn_ = 0;
  ZaeSimTable table_;
  DynamoBucketStore store_{table_.table, kShardKeys, table_.scheduler, {.seed = 3}};
};

TEST_F(BucketConformTest, D6EveryShardGetsTheLimitsAndKeepsWhatIsUsed) {
  for (const std::uint32_t shard : {0U, 1U}) table_.Put(ShardItem(shard, 2, 30'000));
  ASSERT_TRUE(Conform(60'000));
  for (const std::uint32_t shard : {0U, 1U}) {
    EXPECT_EQ(Stored(shard, "b_rpm_cp"), 60'000);
    // 20 of 50 tokens were used, so 10 of 30 are left, and the refill of 13 ms.
    EXPECT_EQ(Stored(shard, "b_rpm_tk"), 10'065);
  }
}

TEST_F(BucketConformTest, D6ABucketThatDoesNotExistStaysAbsent) {
  ASSERT_TRUE(Conform(60'000));
  EXPECT_FALSE(Stored(0, "rf").has_value());
}

// Fails if: the limits in the cached image are assumed to be the stored ones.
TEST_F(BucketConformTest, D6ACachedImageDoesNotHideOtherLimits) {
  table_.Put(ShardItem(0, 1, 30'000));
  Know();
  Item changed = ShardItem(0, 1, 30'000);
  changed["b_rpm_cp"] = Of(std::int64_t{50'000});
  table_.Put(std::move(changed));
  ASSERT_TRUE(Conform(kRpm.quota.capacity));
  EXPECT_EQ(Stored(0, "b_rpm_cp"), kRpm.quota.capacity);
}

// Fails if: a client of zae-limiter, or the aggregator, can go on by the limit from before, or if
// the tokens that were used are forgotten while the limit blocks.
TEST_F(BucketConformTest, ALimitThatBlocksLeavesOtherClientsNoTokens) {
  table_.Put(ShardItem(0, 1, 30'000));
  DynamoConfigStore config(
      table_.table, kShardKeys,
      {.now = [this] { return table_.table.Now(); }, .random = [this] { return ++drawn_; }}, {},
      &store_);
  const auto set = [&](const Quota& quota) {
    const PutLimits put{Level::Entity("acme", "llm"), {.limits = {{"rpm", quota}}}};
    return table_.Ask<void>(
        [&](Done<void> done) { config.Apply({put}, Deadline::Never(), std::move(done)); });
  };
  const Status blocked = set({0, 0, 60'000});
  ASSERT_TRUE(blocked) << blocked.error().message;
  EXPECT_EQ(Stored(0, "b_rpm_cp"), 1'000);
  EXPECT_EQ(Stored(0, "b_rpm_ra"), 1'000);
  EXPECT_EQ(Stored(0, "b_rpm_rp"), kMaxPeriodMillis);
  EXPECT_LT(*Stored(0, "b_rpm_tk"), -60'000) << "70 of 100 tokens were used";
  ASSERT_TRUE(set(kRpm.quota));
  EXPECT_GE(*Stored(0, "b_rpm_tk"), 30'000);
  EXPECT_LT(*Stored(0, "b_rpm_tk"), 32'000);
}

TEST_F(BucketConformTest, D6LimitsThatAreStoredAlreadyCostNoWrite) {
  table_.Put(ShardItem(0, 1, 30'000));
  ASSERT_TRUE(Conform(kRpm.quota.capacity));
  EXPECT_EQ(table_.server.counts().Requests("UpdateItem"), 0U);
}

}  // namespace
}  // namespace weir::dynamo
