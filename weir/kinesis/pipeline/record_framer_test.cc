#include "weir/kinesis/pipeline/record_framer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const HashKey kMiddle = kMaxHashKey / 2;
constexpr Instant kFar = kStart + seconds(60);

/// Two shards: 0 holds the lower half of the keys, 1 the upper one.
ShardRanges Halves() {
  ShardRanges shards;
  shards.PutUncovered({{0}, {0, kMiddle}});
  shards.PutUncovered({{1}, {kMiddle + 1, kMaxHashKey}});
  return shards;
}

UserRecord RecordAt(std::uint64_t number, HashKey hash, Instant expires = kFar) {
  return {.number = number,
          .partition_key = "k",
          .explicit_hash_key = FormatHashKey(hash),
          .data = "data",
          .hash = hash,
          .deadline = kStart + milliseconds(100),
          .expires = expires};
}

/// Returns the numbers of the user records of each Kinesis record.
std::vector<std::vector<std::uint64_t>> NumbersOfEach(const std::vector<KinesisRecord>& records) {
  std::vector<std::vector<std::uint64_t>> numbers;
  for (const KinesisRecord& record : records) {
    numbers.emplace_back();
    for (const UserRecord& user : record.records) numbers.back().push_back(user.number);
  }
  return numbers;
}

TEST(RecordFramer, FramesRecordsByShardWhenTheyAreDue) {
  const ShardRanges shards = Halves();
  RecordFramer framer({}, false);
  framer.Put(RecordAt(1, 5), shards);
  framer.Put(RecordAt(2, kMaxHashKey), shards);
  framer.Put(RecordAt(3, 6), shards);
  EXPECT_THAT(framer.TakePassed(), IsEmpty());
  EXPECT_EQ(framer.NextWake(), kStart + milliseconds(100));
  framer.FrameDue(kStart + milliseconds(100));
  EXPECT_THAT(NumbersOfEach(framer.TakePassed()),
              testing::UnorderedElementsAre(ElementsAre(1, 3), ElementsAre(2)));
  EXPECT_THAT(framer.TakePassed(), IsEmpty());
  EXPECT_EQ(framer.NextWake(), std::nullopt);
}

TEST(RecordFramer, UnmappedRecordsWaitForTheFirstListing) {
  RecordFramer framer({}, false);
  framer.AddUnmapped(RecordAt(1, 5));
  framer.AddUnmapped(RecordAt(2, kMaxHashKey));
  framer.FrameAll();
  EXPECT_THAT(framer.TakePassed(), IsEmpty());
  framer.AggregateUnmapped(Halves());
  framer.FrameAll();
  const std::vector<KinesisRecord> passed = framer.TakePassed();
  ASSERT_THAT(passed, SizeIs(2));
  EXPECT_TRUE(passed[0].shard);
}

// Fails if: the expiry of the unmapped records is not computed again from the remaining ones.
TEST(RecordFramer, UnmappedRecordsExpire) {
  RecordFramer framer({}, false);
  for (const int second : {3, 1, 2}) {
    framer.AddUnmapped(RecordAt(static_cast<std::uint64_t>(second), 5, kStart + seconds(second)));
  }
  EXPECT_EQ(framer.NextWake(), kStart + seconds(1));
  EXPECT_THAT(framer.TakeExpiredUnmapped(kStart), IsEmpty());
  const std::vector<UserRecord> expired = framer.TakeExpiredUnmapped(kStart + seconds(1));
  ASSERT_THAT(expired, SizeIs(1));
  EXPECT_EQ(expired[0].number, 1U);
  EXPECT_EQ(framer.NextWake(), kStart + seconds(2));
  EXPECT_THAT(framer.TakeUnmapped(), SizeIs(2));
  EXPECT_EQ(framer.NextWake(), std::nullopt);
}

TEST(RecordFramer, RecordsWithoutAShardAreFramedByANewListing) {
  RecordFramer framer({.mode = AggregatorOptions::Mode::kByShard}, false);
  framer.Put(RecordAt(1, 5), ShardRanges());
  framer.Put(RecordAt(2, 6), ShardRanges());
  framer.RerouteShardless(Halves());
  framer.FrameAll();
  EXPECT_THAT(NumbersOfEach(framer.TakePassed()), ElementsAre(ElementsAre(1, 2)));
}

TEST(RecordFramer, WithoutOrderRecordsAreFramedAgainWithLaterOnes) {
  const ShardRanges shards = Halves();
  RecordFramer framer({}, false);
  framer.EndTicket(0);
  std::vector<UserRecord> again;
  again.push_back(RecordAt(1, 5));
  framer.Reframe(0, std::move(again), shards);
  EXPECT_THAT(framer.TakePassed(), IsEmpty()) << "it waits for batching";
  framer.Put(RecordAt(2, 6), shards);
  framer.FrameAll();
  EXPECT_THAT(NumbersOfEach(framer.TakePassed()), ElementsAre(ElementsAre(1, 2)));
}

/// A framer in ordered mode, with one record that was taken and one of the same key that waits.
struct OrderedFramer {
  RecordFramer framer{{}, true};
  OrderGate::Ticket ticket = 0;

  OrderedFramer() {
    framer.Put(RecordAt(1, 5), Halves());
    framer.FrameAll();
    ticket = framer.TakePassed().at(0).ticket;
    framer.Put(RecordAt(2, 5, kStart + seconds(1)), Halves());
    framer.FrameAll();
    EXPECT_THAT(framer.TakePassed(), IsEmpty());
  }
};

TEST(RecordFramer, InOrderedModeARecordWaitsForTheOneBeforeIt) {
  OrderedFramer ordered;
  ordered.framer.EndTicket(ordered.ticket);
  EXPECT_THAT(NumbersOfEach(ordered.framer.TakePassed()), ElementsAre(ElementsAre(2)));
}

// Fails if: a record that is framed again goes behind a later record of its key.
TEST(RecordFramer, InOrderedModeARecordThatIsFramedAgainKeepsItsPosition) {
  OrderedFramer ordered;
  std::vector<UserRecord> again;
  again.push_back(RecordAt(1, 5));
  ordered.framer.Reframe(ordered.ticket, std::move(again), Halves());
  const std::vector<KinesisRecord> passed = ordered.framer.TakePassed();
  ASSERT_THAT(NumbersOfEach(passed), ElementsAre(ElementsAre(1)));
  ordered.framer.EndTicket(passed[0].ticket);
  EXPECT_THAT(NumbersOfEach(ordered.framer.TakePassed()), ElementsAre(ElementsAre(2)));
}

TEST(RecordFramer, InOrderedModeWaitingRecordsExpire) {
  OrderedFramer ordered;
  EXPECT_EQ(ordered.framer.NextWake(), kStart + seconds(1));
  std::vector<KinesisRecord> expired;
  ordered.framer.TakeExpired(kStart + seconds(1), expired);
  EXPECT_THAT(Numbers(expired), ElementsAre(2));
}

TEST(RecordFramer, AllRecordsAreTakenAtTheEnd) {
  OrderedFramer ordered;
  ordered.framer.Put(RecordAt(3, 6), Halves());
  std::vector<KinesisRecord> taken;
  ordered.framer.TakeAll(taken);
  EXPECT_THAT(Numbers(taken), ElementsAre(3, 2));
  ordered.framer.ForgetTickets();
  ordered.framer.Put(RecordAt(4, 5), Halves());
  ordered.framer.FrameAll();
  EXPECT_THAT(Numbers(ordered.framer.TakePassed()), ElementsAre(4)) << "no ticket is left";
}
}  // namespace
}  // namespace weir::kinesis
