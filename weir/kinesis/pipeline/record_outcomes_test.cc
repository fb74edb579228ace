#include "weir/kinesis/pipeline/record_outcomes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/kinesis/testing/record_fixture.h"
#include "weir/kinesis/wire/aggregate.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// The shard map knows shard 0, which holds the hashes up to 10.
class RecordOutcomesTest : public testing::Test {
 protected:
  RecordOutcomesTest() {
    map_.Next(kStart);
    map_.OnListed(ShardPage{{{{0}, {0, 10}}}, ""}, kStart);
  }

  /// Returns a record with these hashes, which are its numbers too.
  KinesisRecord RecordOf(const std::vector<std::uint64_t>& hashes) {
    KinesisRecord record{.expires = kStart + seconds(60), .ticket = 5};
    AggregateWriter writer;
    for (const std::uint64_t hash : hashes) {
      record.records.push_back({.number = hash,
                                .partition_key = "k",
                                .explicit_hash_key = FormatHashKey(hash),
                                .hash = hash,
                                .expires = record.expires});
      writer.Add(record.records.back().View());
      outcomes_.results().OnPut();
    }
    record.data = writer.Take();
    return record;
  }
  void StoreOn(std::uint64_t shard, KinesisRecord record) {
    outcomes_.OnStored({.record = std::move(record), .attempt = {.shard = ShardId{shard}}}, map_,
                       kStart, rng_);
  }
  void FailFor(FailureClass kind, KinesisRecord record) {
    outcomes_.OnFailed(std::move(record),
                       {std::make_shared<const Attempt>(Attempt{.code = "Scripted"}), kind}, kStart,
                       rng_);
  }
  Attempts::Shared Closed() const {
    return std::make_shared<const Attempt>(Attempt{.code = std::string(kClosed)});
  }

  Rng rng_{1};
  ShardMap map_{{}, 1};
  RecordOutcomes outcomes_{{}, 2};
};

TEST_F(RecordOutcomesTest, AStoredRecordHasItsResultsAndEndsItsTicket) {
  StoreOn(0, RecordOf({1, 2}));
  EXPECT_THAT(outcomes_.results().TakeResults(), SizeIs(2));
  EXPECT_THAT(outcomes_.TakeEnded(), ElementsAre(5));
  EXPECT_THAT(outcomes_.TakeEnded(), IsEmpty());
  EXPECT_EQ(outcomes_.NextWake(), std::nullopt);
}

TEST_F(RecordOutcomesTest, WithoutOrderNoTicketEnds) {
  KinesisRecord record = RecordOf({1});
  record.ticket = 0;
  StoreOn(0, std::move(record));
  EXPECT_THAT(outcomes_.TakeEnded(), IsEmpty());
}

// Fails if: the ticket ends while the records wait for their retry.
TEST_F(RecordOutcomesTest, AFailedRecordIsRetriedAndKeepsItsTicket) {
  FailFor(FailureClass::kTransient, RecordOf({1, 2}));
  EXPECT_THAT(outcomes_.TakeEnded(), IsEmpty());
  EXPECT_EQ(outcomes_.retries(), 2U);
  const auto group = outcomes_.TakeDueRetry(outcomes_.NextWake().value());
  ASSERT_TRUE(group);
  EXPECT_EQ(group->ticket, 5U);
  EXPECT_EQ(group->records[1].partition_key, "k") << "it can be framed again";
  EXPECT_EQ(outcomes_.results().pending(), 2U);
}

TEST_F(RecordOutcomesTest, ARecordThatCannotBeRetriedEndsItsTicket) {
  FailFor(FailureClass::kPermanent, RecordOf({1, 2}));
  EXPECT_THAT(outcomes_.results().TakeResults(), SizeIs(2));
  EXPECT_THAT(outcomes_.TakeEnded(), ElementsAre(5));
}

// Fails if: an aggregate counts as stored that consumers drop.
TEST_F(RecordOutcomesTest, AnAggregateOutsideOfItsShardIsRetried) {
  StoreOn(0, RecordOf({1, 11}));
  const auto group = outcomes_.TakeDueRetry(outcomes_.NextWake().value());
  ASSERT_TRUE(group);
  EXPECT_EQ(group->records[0].attempts.kept().back()->code, kWrongShard);
  EXPECT_FALSE(group->records[0].maybe_duplicate);
}

TEST_F(RecordOutcomesTest, AnAggregateOnAnUnknownShardWaitsForListings) {
  StoreOn(7, RecordOf({1, 2}));
  EXPECT_TRUE(map_.Next(kStart + seconds(1)).list) << "the map is in doubt";
  outcomes_.OnListed(map_, kStart, rng_);
  EXPECT_EQ(outcomes_.NextWake(), kStart + seconds(60)) << "it is parked";
  outcomes_.OnListed(map_, kStart, rng_);
  const auto group = outcomes_.TakeDueRetry(kStart + seconds(10));
  ASSERT_TRUE(group);
  EXPECT_TRUE(group->records[0].maybe_duplicate);
}

TEST_F(RecordOutcomesTest, AnExpiredAggregateWaitsForNoListing) {
  StoreOn(7, RecordOf({1, 2}));
  outcomes_.DecideExpired(kStart + seconds(59), rng_);
  EXPECT_FALSE(outcomes_.TakeDueRetry(kStart + seconds(60)));
  outcomes_.DecideExpired(kStart + seconds(60), rng_);
  EXPECT_TRUE(outcomes_.TakeDueRetry(kStart + seconds(60)));
}

// Fails if: a parked record is reported as not stored.
TEST_F(RecordOutcomesTest, AtTheEndAllRecordsHaveResults) {
  StoreOn(7, RecordOf({1, 2}));
  FailFor(FailureClass::kTransient, RecordOf({3}));
  outcomes_.EndRetries(Closed());
  outcomes_.EndParked(Closed());
  const std::vector<RecordResult> results = outcomes_.results().TakeResults();
  ASSERT_THAT(results, SizeIs(3));
  EXPECT_FALSE(results[0].maybe_duplicate) << "the retry";
  EXPECT_TRUE(results[1].maybe_duplicate) << "the aggregate";
  EXPECT_EQ(outcomes_.results().pending(), 0U);
  EXPECT_EQ(outcomes_.NextWake(), std::nullopt);
}

}  // namespace
}  // namespace weir::kinesis
