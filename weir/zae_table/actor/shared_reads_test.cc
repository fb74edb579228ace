// Reads for callers that wait: from cached images, and shared while they are in flight.
#include "weir/zae_table/actor/shared_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using Records = SharedReads::Records;
using ::testing::SizeIs;

const BucketKey kSharedBucket{"acme", "llm", 0};

class RecentReadTest : public testing::Test {
 protected:
  std::optional<BucketRecord> ReadRecent(const BucketKey& key = kSharedBucket) {
    const auto records = table_.Ask<Records>([&](Done<Records> done) {
      store_.ReadRecent({&key, 1}, Deadline::Never(), std::move(done));
    });
    EXPECT_TRUE(records.has_value()) << records.error().message;
    return records ? records->front() : std::nullopt;
  }
  std::int64_t TokensOf(const std::optional<BucketRecord>& record) const {
    return record ? record->bucket.meters.at(0).tokens : -1;
  }
  std::uint64_t CallsOf(int reads) {
    const std::uint64_t before = table_.client.calls();
    for (int i = 0; i < reads; ++i) ReadRecent();
    return table_.client.calls() - before;
  }

  ZaeSimTable table_;
  DynamoBucketStore store_{table_.table, kShardKeys, table_.scheduler, {.seed = 3}};
};

// Fails if: while a caller waits, each refused request costs a consistent read.
TEST_F(RecentReadTest, D12WhileOneWaitsTheTableIsReadOnceASecond) {
  table_.Put(ShardItem(0, 1, 50'000));
  EXPECT_EQ(CallsOf(50), 1U);
  table_.Put(ShardItem(0, 1, 10'000));
  table_.scheduler.Advance(std::chrono::milliseconds(1001));
  EXPECT_EQ(CallsOf(50), 1U);
  EXPECT_EQ(TokensOf(ReadRecent()), 10'000) << "what others changed is seen then";
}

// Fails if: the record of shard 0 is reported as that of the divided bucket.
TEST_F(RecentReadTest, D12ADividedBucketIsReportedAsAWhole) {
  for (std::uint32_t shard = 0; shard < 4; ++shard) table_.Put(ShardItem(shard, 4, 5'000));
  for (int i = 0; i < 2; ++i) {
    EXPECT_GE(TokensOf(ReadRecent()), 20'000);
    EXPECT_LT(TokensOf(ReadRecent()), 20'200);
  }
  EXPECT_EQ(CallsOf(20), 0U);
  EXPECT_EQ(TokensOf(ReadRecent({"acme", "llm", 2})), 5'000);
}

// Fails if: a bucket that another process has divided is reported by the shards that were known.
TEST_F(RecentReadTest, D12ShardsOfDifferentCountsAreReadAgain) {
  table_.Put(ShardItem(0, 2, 5'000));
  table_.Put(ShardItem(1, 2, 5'000));
  ReadRecent();
  for (std::uint32_t shard = 0; shard < 4; ++shard) table_.Put(ShardItem(shard, 4, 2'000));
  ASSERT_TRUE(table_.Ask<Records>([&](Done<Records> done) {
    const BucketKey one{"acme", "llm", 1};
    store_.Read({&one, 1}, Deadline::Never(), std::move(done));
  }));
  EXPECT_GE(TokensOf(ReadRecent()), 8'000);
  EXPECT_LT(TokensOf(ReadRecent()), 8'200);
}

TEST_F(RecentReadTest, D12ABucketThatIsNotThereIsLookedForEachTime) {
  EXPECT_FALSE(ReadRecent());
  table_.Put(ShardItem(0, 1, 7'000));
  EXPECT_EQ(TokensOf(ReadRecent()), 7'000);
}

class SharedReadsTest : public testing::Test {
 protected:
  SharedReads::Share JoinRead(nanoseconds at, const BucketKey& key = kSharedBucket) {
    Done<Records> done([this](const Result<Records>& records) {
      results_.push_back(records ? "records" : std::string(CodeName(records.error().code)));
    });
    return reads_.JoinRead({key}, Deadline::At(Instant{} + at), done);
  }
  SharedReads reads_;
  std::vector<std::string> results_;
};

// Fails if: requests that arrive while the bucket is being read start reads of their own.
TEST_F(SharedReadsTest, D12OneReadAnswersAllThatCameMeanwhile) {
  EXPECT_EQ(JoinRead(milliseconds(10)), SharedReads::Share::kFirst);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(JoinRead(milliseconds(10 + i)), SharedReads::Share::kShared);
  EXPECT_EQ(JoinRead(milliseconds(10), {"other", "llm", 0}), SharedReads::Share::kFirst);
  (void)reads_.End({kSharedBucket}, Records(1));
  EXPECT_THAT(results_, SizeIs(6));
  EXPECT_EQ(JoinRead(milliseconds(10)), SharedReads::Share::kFirst) << "the read is over";
  (void)reads_.End({kSharedBucket}, Fail(Code::kUnavailable, "away"));
  EXPECT_EQ(results_.back(), "UNAVAILABLE");
}

// Fails if: a caller with time left gets the error of an earlier deadline.
TEST_F(SharedReadsTest, OneWithMoreTimeThanTheReadHadReadsAgain) {
  EXPECT_EQ(JoinRead(milliseconds(10)), SharedReads::Share::kFirst);
  EXPECT_EQ(JoinRead(milliseconds(20)), SharedReads::Share::kShared);
  EXPECT_EQ(JoinRead(milliseconds(10)), SharedReads::Share::kShared);
  const auto again = reads_.End({kSharedBucket}, Fail(Code::kDeadlineExceeded, "too late"));
  EXPECT_THAT(results_, testing::ElementsAre("DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED"));
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again.front().deadline, Deadline::At(Instant{} + milliseconds(20)));
  EXPECT_EQ(JoinRead(milliseconds(20)), SharedReads::Share::kFirst);
  EXPECT_THAT(reads_.End({kSharedBucket}, Fail(Code::kUnavailable, "away")), SizeIs(0));
}

// Fails if: a caller waits for a read that may take longer than its deadline.
TEST_F(SharedReadsTest, D12OneWithLessTimeReadsForItself) {
  EXPECT_EQ(JoinRead(milliseconds(10)), SharedReads::Share::kFirst);
  EXPECT_EQ(JoinRead(milliseconds(9)), SharedReads::Share::kAlone);
  (void)reads_.End({kSharedBucket}, Records(1));
  EXPECT_THAT(results_, SizeIs(1));
}

}  // namespace
}  // namespace weir::dynamo
