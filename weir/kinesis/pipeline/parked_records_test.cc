#include "weir/kinesis/pipeline/parked_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using StoredNext = StoredDecision::Next;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kMaxListings = 3;

ShardMap MapOfOne(ShardId shard, HashRange range) {
  ShardMap map({}, 1);
  map.Next(kStart);
  map.OnListed(ShardPage{{{shard, range}}, ""}, kStart);
  return map;
}

/// Returns a record with these hashes that `shard` has stored.
ParkedRecord StoredOn(std::optional<ShardId> shard, std::vector<std::uint64_t> hashes) {
  ParkedRecord stored{.attempt = {.began = kStart + milliseconds(1), .shard = shard}};
  for (const std::uint64_t hash : hashes) {
    stored.record.records.push_back({.number = hash, .hash = hash});
  }
  stored.record.shard = shard;
  return stored;
}

StoredDecision DecideOn(const ParkedRecord& stored) {
  return DecideStored(stored, MapOfOne({0}, {0, 10}), kMaxListings, kStart + seconds(1));
}

TEST(StoredDecision, ARecordInsideOfItsShardIsReported) {
  const StoredDecision decision = DecideOn(StoredOn(ShardId{0}, {1, 10}));
  EXPECT_EQ(decision.next, StoredNext::kReport);
  EXPECT_EQ(decision.doubt, std::nullopt);
}

// Fails if: an aggregate that consumers drop counts as stored, or as a possible duplicate.
TEST(StoredDecision, AnAggregateThatIsPartlyOutsideIsSentAgain) {
  const StoredDecision decision = DecideOn(StoredOn(ShardId{0}, {1, 11}));
  EXPECT_EQ(decision.next, StoredNext::kSendAgain);
  EXPECT_EQ(decision.kind, FailureClass::kTransient);
  EXPECT_EQ(decision.message, "shardId-000000000000 does not hold all of its hash keys");
  EXPECT_EQ(decision.doubt, kStart + milliseconds(1)) << "when its attempt began";
}

// Fails if: the doubt is dated before the listing that did not return the shard.
TEST(StoredDecision, AnAggregateOnAnUnknownShardIsParkedForANewListing) {
  const StoredDecision decision = DecideOn(StoredOn(ShardId{7}, {1, 2}));
  EXPECT_EQ(decision.next, StoredNext::kPark);
  EXPECT_EQ(decision.doubt, kStart + seconds(1));
}

TEST(StoredDecision, AfterMostListingsAnAggregateIsSentAgain) {
  ParkedRecord stored = StoredOn(ShardId{7}, {1, 2});
  stored.listings = kMaxListings - 1;
  EXPECT_EQ(DecideOn(stored).next, StoredNext::kPark);
  stored.listings = kMaxListings;
  const StoredDecision decision = DecideOn(stored);
  EXPECT_EQ(decision.next, StoredNext::kSendAgain);
  EXPECT_EQ(decision.kind, FailureClass::kAmbiguous) << "consumers may deliver it";
  EXPECT_EQ(decision.doubt, kStart + seconds(1));
}

TEST(StoredDecision, WithoutAShardOnlyARecordThatIsNotAggregatedIsReported) {
  EXPECT_EQ(DecideOn(StoredOn(std::nullopt, {1})).next, StoredNext::kReport);
  const StoredDecision decision = DecideOn(StoredOn(std::nullopt, {1, 2}));
  EXPECT_EQ(decision.next, StoredNext::kSendAgain);
  EXPECT_EQ(decision.kind, FailureClass::kAmbiguous);
}

TEST(ParkedRecords, LeaveInTheOrderOfTheirExpiry) {
  ParkedRecords parked;
  EXPECT_EQ(parked.NextWake(), std::nullopt);
  for (const int second : {3, 1, 2}) {
    ParkedRecord record = StoredOn(ShardId{7}, {1, 2});
    record.record.expires = kStart + seconds(second);
    record.listings = second;
    parked.Put(std::move(record));
  }
  EXPECT_EQ(parked.NextWake(), kStart + seconds(1));
  EXPECT_FALSE(parked.TakeExpired(kStart));
  EXPECT_EQ(parked.TakeExpired(kStart + seconds(1))->listings, 1);
  EXPECT_FALSE(parked.TakeExpired(kStart + seconds(1)));
  const std::vector<ParkedRecord> rest = parked.TakeAll();
  ASSERT_THAT(rest, SizeIs(2));
  EXPECT_EQ(rest[0].listings, 2);
  EXPECT_THAT(parked.TakeAll(), IsEmpty());
}
}  // namespace
}  // namespace weir::kinesis
