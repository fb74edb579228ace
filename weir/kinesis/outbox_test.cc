#include "weir/kinesis/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "weir/kinesis/record_fixture.h"

namespace weir::kinesis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

KinesisRecord RecordTo(std::uint64_t number, std::optional<ShardId> shard, std::size_t bytes = 10,
                       Instant expires = kStart + milliseconds(1)) {
  KinesisRecord record{.partition_key = "", .data = std::string(bytes, 'x'), .shard = shard};
  record.records.push_back({.number = number});
  record.expires = expires;
  return record;
}

std::uint64_t FirstOf(const Outbox::Request& request) {
  return request.front().records.front().number;
}

/// The numbers of what may go now.
std::vector<std::uint64_t> Sends(Outbox& outbox) {
  std::vector<std::uint64_t> numbers;
  while (const auto sent = outbox.Send(kStart)) numbers.push_back(FirstOf(*sent->records));
  return numbers;
}

Outbox::Request One(KinesisRecord record) {
  Outbox::Request request;
  request.push_back(std::move(record));
  return request;
}

TEST(Outbox, SendsInOrderUpToItsBound) {
  Outbox outbox({.max_requests = 2});
  for (std::uint64_t i = 1; i <= 3; ++i) outbox.Put(One(RecordTo(i, ShardId{0})));
  EXPECT_THAT(Sends(outbox), ElementsAre(1, 2));
  const auto flight = outbox.Take(1);
  ASSERT_TRUE(flight);
  EXPECT_EQ(FirstOf(flight->records), 1U);
  EXPECT_EQ(flight->began, kStart);
  EXPECT_THAT(Sends(outbox), ElementsAre(3));
  EXPECT_FALSE(outbox.Take(1)) << "it is under way no more";
}

// Fails if: a record under way is reported twice, or not as soon as it has expired.
TEST(Outbox, I14ReportsEachExpiredRecordUnderWayOnce) {
  Outbox outbox({});
  EXPECT_EQ(outbox.OverdueWake(), std::nullopt);
  KinesisRecord record = RecordTo(1, ShardId{0}, 10, kStart + milliseconds(1));
  record.records.front().expires = kStart + milliseconds(5);
  record.records.push_back({.number = 2, .expires = kStart + milliseconds(1)});
  outbox.Put(One(std::move(record)));
  EXPECT_EQ(outbox.OverdueWake(), std::nullopt) << "it is not under way";
  EXPECT_THAT(Sends(outbox), ElementsAre(1));
  EXPECT_EQ(outbox.OverdueWake(), kStart + milliseconds(1));
  std::vector<Outbox::Overdue> overdue;
  outbox.ReportOverdue(kStart, overdue);
  EXPECT_THAT(overdue, IsEmpty());
  outbox.ReportOverdue(kStart + milliseconds(4), overdue);
  ASSERT_THAT(overdue, SizeIs(1));
  EXPECT_EQ(overdue.front().record->number, 2U);
  EXPECT_EQ(overdue.front().began, kStart);
  EXPECT_EQ(outbox.OverdueWake(), kStart + milliseconds(5));
  outbox.ReportOverdue(kStart + milliseconds(9), overdue);
  ASSERT_THAT(overdue, SizeIs(2));
  EXPECT_EQ(overdue.back().record->number, 1U);
  EXPECT_EQ(outbox.OverdueWake(), std::nullopt);
}

TEST(Outbox, I14WhatIsAnsweredIsNotOverdue) {
  Outbox outbox({});
  outbox.Put(One(RecordTo(1, ShardId{0})));
  EXPECT_THAT(Sends(outbox), ElementsAre(1));
  ASSERT_TRUE(outbox.Take(1));
  EXPECT_EQ(outbox.OverdueWake(), std::nullopt);
}

TEST(Outbox, WhatIsPutFirstGoesFirst) {
  Outbox outbox({});
  outbox.Put(One(RecordTo(1, ShardId{0})));
  outbox.PutFirst(One(RecordTo(2, ShardId{0})));
  EXPECT_THAT(Sends(outbox), ElementsAre(2, 1));
}

TEST(Outbox, ABusyShardLetsOthersPass) {
  Outbox outbox({.max_shard_requests = 1});
  for (std::uint64_t i = 1; i <= 3; ++i) outbox.Put(One(RecordTo(i, ShardId{0})));
  outbox.Put(One(RecordTo(4, ShardId{1})));
  outbox.Put(One(RecordTo(5, std::nullopt)));
  EXPECT_THAT(Sends(outbox), ElementsAre(1, 4, 5));
  ASSERT_TRUE(outbox.Take(1));
  EXPECT_THAT(Sends(outbox), ElementsAre(2));
}

TEST(Outbox, BytesUnderWayAreBoundedAndALargeOneGoesAlone) {
  Outbox outbox({.max_bytes = 100});
  outbox.Put(One(RecordTo(1, ShardId{0}, 60)));
  outbox.Put(One(RecordTo(2, ShardId{0}, 60)));
  outbox.Put(One(RecordTo(3, ShardId{0}, 40)));
  EXPECT_THAT(Sends(outbox), ElementsAre(1)) << "twice 60 does not fit";
  ASSERT_TRUE(outbox.Take(1));
  EXPECT_THAT(Sends(outbox), ElementsAre(2, 3)) << "60 and 40 fit";
  outbox.Put(One(RecordTo(4, ShardId{0}, 500)));
  EXPECT_THAT(Sends(outbox), IsEmpty());
  ASSERT_TRUE(outbox.Take(2));
  ASSERT_TRUE(outbox.Take(3));
  EXPECT_THAT(Sends(outbox), ElementsAre(4));
}

// Fails if: small requests pass a large one that waits for bytes, without end.
TEST(Outbox, K2NothingPassesARequestThatWaitsForBytes) {
  Outbox outbox({.max_bytes = 100});
  outbox.Put(One(RecordTo(1, ShardId{0}, 40)));
  EXPECT_THAT(Sends(outbox), ElementsAre(1));
  outbox.Put(One(RecordTo(2, ShardId{0}, 500)));
  for (std::uint64_t number = 3; number < 100; ++number) {
    outbox.Put(One(RecordTo(number, ShardId{number % 7}, 10)));
    EXPECT_THAT(Sends(outbox), IsEmpty()) << number;
  }
  ASSERT_TRUE(outbox.Take(1));
  EXPECT_THAT(Sends(outbox), ElementsAre(2));
}

TEST(Outbox, GivesBackWhatExpiredWhileItWaited) {
  Outbox outbox({});
  Outbox::Request request = One(RecordTo(1, ShardId{0}, 10, kStart + milliseconds(5)));
  request.push_back(RecordTo(2, ShardId{0}, 10, kStart + milliseconds(3)));
  outbox.Put(std::move(request));
  EXPECT_EQ(outbox.Wake(), kStart + milliseconds(3));
  std::vector<KinesisRecord> expired;
  outbox.TakeExpired(kStart + milliseconds(3), expired);
  ASSERT_THAT(expired, SizeIs(1));
  EXPECT_EQ(expired.front().records.front().number, 2U);
  EXPECT_EQ(outbox.Wake(), kStart + milliseconds(5));
  EXPECT_THAT(Sends(outbox), ElementsAre(1));
  EXPECT_EQ(outbox.Wake(), std::nullopt) << "what is under way waits for its answer";
}

TEST(Outbox, CanBeEmptied) {
  Outbox outbox({.max_requests = 1});
  outbox.Put(One(RecordTo(1, ShardId{0})));
  outbox.Put(One(RecordTo(2, ShardId{0})));
  EXPECT_THAT(Sends(outbox), ElementsAre(1));
  std::vector<KinesisRecord> waiting;
  outbox.TakeWaiting(waiting);
  ASSERT_THAT(waiting, SizeIs(1));
  EXPECT_EQ(waiting.front().records.front().number, 2U);
  const auto flights = outbox.TakeUnderWay();
  ASSERT_THAT(flights, SizeIs(1));
  EXPECT_EQ(FirstOf(flights.front().records), 1U);
  EXPECT_FALSE(outbox.Take(1));
  outbox.Put(One(RecordTo(3, ShardId{0})));
  EXPECT_THAT(Sends(outbox), ElementsAre(3)) << "nothing is under way any more";
}

}  // namespace
}  // namespace weir::kinesis
