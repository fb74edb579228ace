// Doublings of a bucket next to shards of an earlier division.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "weir/telemetry/testing/recording_log_fixture.h"
#include "weir/zae_table/sharding/shard_splitter.h"
#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LeftoverTest : public testing::Test {
 protected:
  class NoImages final : public BucketImageCache {
   public:
    void Learn(BucketImage image) override { learned.push_back(image.key.shard); }
    void Forget(const BucketKey&) override {}
    std::uint32_t ShardsOf(const BucketKey&) override { return 0; }
    std::optional<BucketImage> FindSince(const BucketKey&, Instant) override {
      return std::nullopt;
    }
    std::vector<std::uint32_t> learned;
  };
  ~LeftoverTest() override { splitter_->Stop(); }
  void Double() {
    const auto image = ReadImage(At(0));
    ASSERT_TRUE(image);
    splitter_->Double(*image);
    table_.scheduler.Advance(std::chrono::seconds(2));
  }
  Item At(std::uint32_t shard) {
    return table_.Get(kShardKeys.Bucket({"acme", "llm", shard})).value_or(Item{});
  }
  std::int64_t Shards() { return GetNumber(At(0), "shard_count").value_or(0); }

  ZaeSimTable table_;
  NoImages images_;
  RecordingLog log_;
  std::shared_ptr<ShardSplitter> splitter_ = std::make_shared<ShardSplitter>(
      ShardSplitter::Parts{table_.table, kShardKeys, table_.scheduler, images_, log_}, 7);
};

// Fails if: one item that is left over keeps the bucket from being divided, or its tokens count.
TEST_F(LeftoverTest, ALeftoverShardIsReplaced) {
  for (const std::uint32_t shard : {0U, 1U}) table_.Put(ShardItem(shard, 2, 10'000));
  table_.Put(ShardItem(3, 4, 25'000));
  table_.Put(ShardItem(5, 8, 12'000));
  Double();
  EXPECT_EQ(Shards(), 4);
  EXPECT_EQ(GetNumber(At(3), "b_rpm_tk"), GetNumber(At(2), "b_rpm_tk"));
  EXPECT_THAT(log_.lines(), ElementsAre("info bucket.divided entity=acme resource=llm shards=4"));
  Double();
  EXPECT_EQ(Shards(), 8);
  EXPECT_EQ(GetNumber(At(5), "shard_count"), 8);
  EXPECT_EQ(GetNumber(At(5), "b_rpm_tk"), GetNumber(At(4), "b_rpm_tk"));
}

// Fails if: an operator cannot see why a bucket is not divided.
TEST_F(LeftoverTest, AnItemThatIsABucketOfItsOwnIsReported) {
  table_.Put(ShardItem(0, 1, 10'000));
  table_.Put(ShardItem(1, 1, 25'000));
  Double();
  EXPECT_EQ(Shards(), 1);
  EXPECT_EQ(GetNumber(At(1), "b_rpm_tk"), 25'000);
  EXPECT_THAT(log_.lines(), ElementsAre(testing::StartsWith(
                                "warning bucket.division_failed entity=acme resource=llm "
                                "message=")));
  EXPECT_THAT(images_.learned, testing::Not(testing::Contains(1U)));
}

// Fails if: each doubling that loses to a write on the bucket is reported.
TEST_F(LeftoverTest, ADoublingThatOnlyLostIsNotReported) {
  table_.Put(ShardItem(0, 1, 10'000));
  table_.client.before_each = [this](const JsonCall& call) {
    if (call.operation == "TransactWriteItems") table_.Put(ShardItem(0, 1, 1'000));
  };
  Double();
  EXPECT_EQ(Shards(), 1);
  EXPECT_THAT(log_.lines(), IsEmpty());
}

}  // namespace
}  // namespace weir::dynamo
