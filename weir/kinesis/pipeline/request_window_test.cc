#include "weir/kinesis/pipeline/request_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "weir/kinesis/testing/record_fixture.h"

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

std::uint64_t FirstOf(const RequestWindow::Request& request) {
  return request.front().records.front().number;
}

/// Sends the requests that may leave now. Returns the number of the first record of each.
std::vector<std::uint64_t> Sends(RequestWindow& window) {
  std::vector<std::uint64_t> numbers;
  while (const auto sent = window.Send(kStart)) numbers.push_back(FirstOf(*sent->records));
  return numbers;
}

RequestWindow::Request One(KinesisRecord record) {
  RequestWindow::Request request;
  request.push_back(std::move(record));
  return request;
}

TEST(RequestWindow, SendsInOrderUpToItsBound) {
  RequestWindow window({.max_requests = 2});
  for (std::uint64_t i = 1; i <= 3; ++i) window.Put(One(RecordTo(i, ShardId{0})));
  EXPECT_THAT(Sends(window), ElementsAre(1, 2));
  const auto flight = window.Take(1);
  ASSERT_TRUE(flight);
  EXPECT_EQ(FirstOf(flight->records), 1U);
  EXPECT_EQ(flight->began, kStart);
  EXPECT_THAT(Sends(window), ElementsAre(3));
  EXPECT_FALSE(window.Take(1)) << "it is under way no more";
}

// Fails if: a record in flight is reported twice, or later than at its expiry.
TEST(RequestWindow, I14ReportsEachExpiredRecordUnderWayOnce) {
  RequestWindow window({});
  EXPECT_EQ(window.OverdueWake(), std::nullopt);
  KinesisRecord record = RecordTo(1, ShardId{0}, 10, kStart + milliseconds(1));
  record.records.front().expires = kStart + milliseconds(5);
  record.records.push_back({.number = 2, .expires = kStart + milliseconds(1)});
  window.Put(One(std::move(record)));
  EXPECT_EQ(window.OverdueWake(), std::nullopt) << "it is not under way";
  EXPECT_THAT(Sends(window), ElementsAre(1));
  EXPECT_EQ(window.OverdueWake(), kStart + milliseconds(1));
  std::vector<RequestWindow::Overdue> overdue;
  window.ReportOverdue(kStart, overdue);
  EXPECT_THAT(overdue, IsEmpty());
  window.ReportOverdue(kStart + milliseconds(4), overdue);
  ASSERT_THAT(overdue, SizeIs(1));
  EXPECT_EQ(overdue.front().record->number, 2U);
  EXPECT_EQ(overdue.front().began, kStart);
  EXPECT_EQ(window.OverdueWake(), kStart + milliseconds(5));
  window.ReportOverdue(kStart + milliseconds(9), overdue);
  ASSERT_THAT(overdue, SizeIs(2));
  EXPECT_EQ(overdue.back().record->number, 1U);
  EXPECT_EQ(window.OverdueWake(), std::nullopt);
}

TEST(RequestWindow, I14WhatIsAnsweredIsNotOverdue) {
  RequestWindow window({});
  window.Put(One(RecordTo(1, ShardId{0})));
  EXPECT_THAT(Sends(window), ElementsAre(1));
  ASSERT_TRUE(window.Take(1));
  EXPECT_EQ(window.OverdueWake(), std::nullopt);
}

TEST(RequestWindow, WhatIsPutFirstGoesFirst) {
  RequestWindow window({});
  window.Put(One(RecordTo(1, ShardId{0})));
  window.PutFirst(One(RecordTo(2, ShardId{0})));
  EXPECT_THAT(Sends(window), ElementsAre(2, 1));
}

TEST(RequestWindow, ABusyShardLetsOthersPass) {
  RequestWindow window({.max_shard_requests = 1});
  for (std::uint64_t i = 1; i <= 3; ++i) window.Put(One(RecordTo(i, ShardId{0})));
  window.Put(One(RecordTo(4, ShardId{1})));
  window.Put(One(RecordTo(5, std::nullopt)));
  EXPECT_THAT(Sends(window), ElementsAre(1, 4, 5));
  ASSERT_TRUE(window.Take(1));
  EXPECT_THAT(Sends(window), ElementsAre(2));
}

TEST(RequestWindow, BytesUnderWayAreBoundedAndALargeOneGoesAlone) {
  RequestWindow window({.max_bytes = 100});
  window.Put(One(RecordTo(1, ShardId{0}, 60)));
  window.Put(One(RecordTo(2, ShardId{0}, 60)));
  window.Put(One(RecordTo(3, ShardId{0}, 40)));
  EXPECT_THAT(Sends(window), ElementsAre(1)) << "twice 60 does not fit";
  ASSERT_TRUE(window.Take(1));
  EXPECT_THAT(Sends(window), ElementsAre(2, 3)) << "60 and 40 fit";
  window.Put(One(RecordTo(4, ShardId{0}, 500)));
  EXPECT_THAT(Sends(window), IsEmpty());
  ASSERT_TRUE(window.Take(2));
  ASSERT_TRUE(window.Take(3));
  EXPECT_THAT(Sends(window), ElementsAre(4));
}

// Fails if: small requests pass a large one that waits for bytes, without end.
TEST(RequestWindow, K2NothingPassesARequestThatWaitsForBytes) {
  RequestWindow window({.max_bytes = 100});
  window.Put(One(RecordTo(1, ShardId{0}, 40)));
  EXPECT_THAT(Sends(window), ElementsAre(1));
  window.Put(One(RecordTo(2, ShardId{0}, 500)));
  for (std::uint64_t number = 3; number < 100; ++number) {
    window.Put(One(RecordTo(number, ShardId{number % 7}, 10)));
    EXPECT_THAT(Sends(window), IsEmpty()) << number;
  }
  ASSERT_TRUE(window.Take(1));
  EXPECT_THAT(Sends(window), ElementsAre(2));
}

TEST(RequestWindow, GivesBackWhatExpiredWhileItWaited) {
  RequestWindow window({});
  RequestWindow::Request request = One(RecordTo(1, ShardId{0}, 10, kStart + milliseconds(5)));
  request.push_back(RecordTo(2, ShardId{0}, 10, kStart + milliseconds(3)));
  window.Put(std::move(request));
  EXPECT_EQ(window.NextWake(), kStart + milliseconds(3));
  std::vector<KinesisRecord> expired;
  window.TakeExpired(kStart + milliseconds(3), expired);
  ASSERT_THAT(expired, SizeIs(1));
  EXPECT_EQ(expired.front().records.front().number, 2U);
  EXPECT_EQ(window.NextWake(), kStart + milliseconds(5));
  EXPECT_THAT(Sends(window), ElementsAre(1));
  EXPECT_EQ(window.NextWake(), std::nullopt) << "a request in flight waits for its response";
}

TEST(RequestWindow, CanBeEmptied) {
  RequestWindow window({.max_requests = 1});
  window.Put(One(RecordTo(1, ShardId{0})));
  window.Put(One(RecordTo(2, ShardId{0})));
  EXPECT_THAT(Sends(window), ElementsAre(1));
  std::vector<KinesisRecord> waiting;
  window.TakeWaiting(waiting);
  ASSERT_THAT(waiting, SizeIs(1));
  EXPECT_EQ(waiting.front().records.front().number, 2U);
  const auto flights = window.TakeInFlight();
  ASSERT_THAT(flights, SizeIs(1));
  EXPECT_EQ(FirstOf(flights.front().records), 1U);
  EXPECT_FALSE(window.Take(1));
  window.Put(One(RecordTo(3, ShardId{0})));
  EXPECT_THAT(Sends(window), ElementsAre(3)) << "nothing is under way any more";
}

}  // namespace
}  // namespace weir::kinesis
