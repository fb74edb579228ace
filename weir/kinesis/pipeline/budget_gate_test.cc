#include "weir/kinesis/pipeline/budget_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

KinesisRecord RecordOfShard(std::uint64_t number, std::uint64_t shard, std::size_t bytes = 10,
                            Instant expires = kStart + milliseconds(100)) {
  KinesisRecord record{.data = std::string(bytes, 'x'), .shard = ShardId{shard}};
  record.records.push_back({.number = number});
  record.expires = expires;
  return record;
}

class BudgetGateTest : public testing::Test {
 protected:
  std::vector<BudgetRequest> Asks(Instant now = kStart) {
    std::vector<BudgetRequest> asks;
    gate_.TakeRequests(now, asks);
    return asks;
  }
  std::vector<std::uint64_t> Response(std::uint64_t shard, const BudgetDecision& decision,
                                      Instant now = kStart) {
    std::vector<KinesisRecord> granted;
    gate_.OnDecision({shard}, decision, now, granted);
    return Numbers(granted);
  }
  std::vector<std::uint64_t> Response(std::uint64_t shard, bool yes) {
    return Response(shard, {.granted = yes, .retry_after = milliseconds(2)});
  }
  std::vector<std::uint64_t> Expired(Instant now) {
    std::vector<KinesisRecord> expired;
    gate_.TakeExpired(now, expired);
    return Numbers(expired);
  }

  BudgetGate gate_{{.max_records = 3, .max_bytes = 100}};
};

TEST_F(BudgetGateTest, AsksForWhatWaitsAndLetsItGoWhenItIsGranted) {
  gate_.Put(RecordOfShard(1, 0, 10, kStart + milliseconds(7)));
  gate_.Put(RecordOfShard(2, 0, 20));
  const auto asks = Asks();
  ASSERT_THAT(asks, SizeIs(1));
  EXPECT_EQ(asks[0].shard, ShardId{0});
  EXPECT_EQ(asks[0].records, 2U);
  EXPECT_EQ(asks[0].bytes, 30U);
  EXPECT_EQ(asks[0].until, kStart + std::chrono::seconds(1)) << "however soon a record expires";
  EXPECT_THAT(Asks(), IsEmpty()) << "one question at a time";
  EXPECT_THAT(Response(0, true), ElementsAre(1, 2));
  EXPECT_THAT(Asks(), IsEmpty());
}

TEST_F(BudgetGateTest, AsksForSoManyAtOnceAndForOneThatIsLargerAlone) {
  for (std::uint64_t i = 1; i <= 4; ++i) gate_.Put(RecordOfShard(i, 0));
  gate_.Put(RecordOfShard(5, 0, 500));
  EXPECT_EQ(Asks()[0].records, 3U);
  EXPECT_THAT(Response(0, true), ElementsAre(1, 2, 3));
  EXPECT_EQ(Asks()[0].records, 1U) << "the large one does not fit beside it";
  EXPECT_THAT(Response(0, true), ElementsAre(4));
  EXPECT_EQ(Asks()[0].bytes, 500U);
}

TEST_F(BudgetGateTest, ShardsDoNotWaitForEachOther) {
  gate_.Put(RecordOfShard(1, 0));
  EXPECT_THAT(Asks(), SizeIs(1));
  gate_.Put(RecordOfShard(2, 1));
  EXPECT_THAT(Asks(), SizeIs(1));
  EXPECT_THAT(Response(1, true), ElementsAre(2));
  EXPECT_THAT(Response(0, true), ElementsAre(1));
}

// Fails if: a refusal ends the waiting records, or their budget is requested again before its time.
TEST_F(BudgetGateTest, K9WhatIsRefusedIsAskedForAgainInSmallerParts) {
  for (std::uint64_t i = 1; i <= 4; ++i) gate_.Put(RecordOfShard(i, 0));
  EXPECT_EQ(Asks()[0].records, 3U);
  EXPECT_THAT(Response(0, false), IsEmpty());
  EXPECT_THAT(Asks(), IsEmpty()) << "it would be refused again";
  ASSERT_EQ(gate_.NextWake(), kStart + milliseconds(2));
  const auto again = Asks(kStart + milliseconds(2));
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].records, 1U);
  EXPECT_THAT(Response(0, true), ElementsAre(1));
  EXPECT_EQ(Asks(kStart + milliseconds(2))[0].records, 3U) << "a grant restores the size";
}

// Fails if: a paced lane repeats its budget request at once, and again, because its first record is
// about to expire.
TEST_F(BudgetGateTest, I14ARefusalOfAPacedLaneIsHeeded) {
  const BudgetBalance little{.left = {100, 100'000}, .capacity = {1'000, 1'000'000}};
  for (std::uint64_t i = 0; i < 10; ++i) {
    gate_.Put(RecordOfShard(i, 0, 10, kStart + std::chrono::seconds(10)));
  }
  ASSERT_THAT(Asks(), SizeIs(1));
  Response(0, {.granted = true, .balance = little});
  const Instant now = kStart + std::chrono::milliseconds(9'950);
  ASSERT_THAT(Asks(now), SizeIs(1));
  Response(0, {.granted = false, .retry_after = milliseconds(20), .balance = little}, now);
  EXPECT_THAT(Asks(now), IsEmpty());
  EXPECT_THAT(Asks(now + milliseconds(19)), IsEmpty());
  ASSERT_TRUE(gate_.NextWake());
  EXPECT_GT(*gate_.NextWake(), now);
}

// Compares with a scan of all records. Fails if: a record expires late or stays, because its queue
// is treated as sorted.
TEST_F(BudgetGateTest, RecordsExpireInTimeInWhateverOrderTheyCome) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    Rng rng(seed);
    gate_ = BudgetGate({.max_records = 3});
    std::multimap<Instant, std::uint64_t> alive;
    for (std::uint64_t i = 0; i < 500; ++i) {
      const Instant now = kStart + i * milliseconds(1);
      const bool is_in_order = i / 100 % 2 == 0;
      const auto life = milliseconds(is_in_order ? 20 : 1 + static_cast<int>(rng.Below(40)));
      gate_.Put(RecordOfShard(i, 0, 10, now + life));
      alive.emplace(now + life, i);
      const auto expired = Expired(now);
      const std::set<std::uint64_t> told(expired.begin(), expired.end());
      std::set<std::uint64_t> due;
      while (!alive.empty() && alive.begin()->first <= now) {
        due.insert(alive.extract(alive.begin()).mapped());
      }
      EXPECT_EQ(told, due) << "seed " << seed << ", " << i;
    }
  }
}

TEST_F(BudgetGateTest, WhatIsRefusedExpires) {
  gate_.Put(RecordOfShard(1, 0, 10, kStart + milliseconds(5)));
  EXPECT_THAT(Asks(), SizeIs(1));
  EXPECT_THAT(Response(0, {.granted = false, .retry_after = std::chrono::hours(1)}), IsEmpty());
  ASSERT_EQ(gate_.NextWake(), kStart + milliseconds(5));
  EXPECT_THAT(Expired(kStart + milliseconds(5)), ElementsAre(1));
}

// Fails if: a budget request lasts as long as a record lives, and delays the end of the producer.
TEST_F(BudgetGateTest, K10AQuestionIsAnsweredWithinASecondAndRepeatedWithinOne) {
  gate_.Put(RecordOfShard(1, 0, 10, kStart + std::chrono::minutes(10)));
  EXPECT_EQ(Asks()[0].until, kStart + std::chrono::seconds(1));
  Response(0, {.granted = false, .retry_after = std::chrono::minutes(5)});
  EXPECT_EQ(gate_.NextWake(), kStart + std::chrono::seconds(1));
}

TEST_F(BudgetGateTest, WhatIsAskedForDoesNotExpireMeanwhile) {
  gate_.Put(RecordOfShard(1, 0, 10, kStart + milliseconds(5)));
  gate_.Put(RecordOfShard(2, 0, 95, kStart + milliseconds(6)));
  EXPECT_EQ(Asks()[0].records, 1U);
  EXPECT_THAT(Expired(kStart + milliseconds(50)), ElementsAre(2));
  EXPECT_EQ(gate_.NextWake(), std::nullopt) << "the answer is what comes next";
  EXPECT_THAT(Response(0, true), ElementsAre(1));
}

TEST_F(BudgetGateTest, CanBeEmptiedAndHeedsNoLateAnswer) {
  gate_.Put(RecordOfShard(1, 0));
  EXPECT_THAT(Asks(), SizeIs(1));
  std::vector<KinesisRecord> all;
  gate_.TakeAll(all);
  EXPECT_THAT(all, SizeIs(1));
  EXPECT_EQ(gate_.NextWake(), std::nullopt);
  EXPECT_THAT(Response(0, true), IsEmpty());
  gate_.Put(RecordOfShard(2, 0));
  EXPECT_THAT(Response(0, true), IsEmpty()) << "nobody has asked for it";
}

}  // namespace
}  // namespace weir::kinesis
