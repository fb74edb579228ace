#include "weir/kinesis/pipeline/request_queue.h"

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

std::vector<KinesisRecord> RecordsToSend(std::vector<std::uint64_t> numbers) {
  std::vector<KinesisRecord> records;
  for (const std::uint64_t number : numbers) {
    KinesisRecord& record = records.emplace_back();
    record.data = "data";
    record.shard = ShardId{0};
    record.expires = kStart + seconds(60);
    record.records.push_back({.number = number, .expires = record.expires});
  }
  return records;
}

/// Sends all requests that may be sent. Returns the numbers of the records of each.
std::vector<std::vector<std::uint64_t>> SendAll(RequestQueue& queue, Instant now = kStart) {
  std::vector<std::vector<std::uint64_t>> sent;
  while (const auto each = queue.Send(now)) sent.push_back(Numbers(*each->records));
  return sent;
}

TEST(RequestQueue, CollectsRecordsIntoRequests) {
  RequestQueue queue({.max_count = 2, .linger = milliseconds(20)}, {});
  queue.Put(RecordsToSend({1, 2, 3}), kStart);
  EXPECT_EQ(queue.NextBytes(kStart), 8U);
  EXPECT_THAT(SendAll(queue), ElementsAre(ElementsAre(1, 2)));
  EXPECT_EQ(queue.NextBytes(kStart), std::nullopt);
  EXPECT_EQ(queue.NextWake(kStart), kStart + milliseconds(20));
  queue.CloseDue(kStart + milliseconds(19));
  EXPECT_THAT(SendAll(queue), IsEmpty());
  queue.CloseDue(kStart + milliseconds(20));
  EXPECT_THAT(SendAll(queue), ElementsAre(ElementsAre(3)));
}

TEST(RequestQueue, OnDemandTheCollectedRecordsDoNotWait) {
  RequestQueue queue({}, {});
  queue.Put(RecordsToSend({1}), kStart);
  queue.CloseAll();
  EXPECT_THAT(SendAll(queue), ElementsAre(ElementsAre(1)));
}

// Fails if: a request that the service did not receive counts as sent.
TEST(RequestQueue, CountsTheRequestsThatWereSent) {
  RequestQueue queue({.max_count = 2}, {});
  queue.Put(RecordsToSend({1, 2, 3, 4}), kStart);
  SendAll(queue);
  EXPECT_EQ(queue.requests(), 2U);
  EXPECT_EQ(queue.records(), 4U);
  queue.OnUnsent(2);
  EXPECT_EQ(queue.requests(), 1U);
  EXPECT_EQ(queue.records(), 2U);
}

// Fails if: the halves are sent after other requests, or the attempt counts as one of their own.
TEST(RequestQueue, HalvesAreSentFirst) {
  RequestQueue queue({.max_count = 3}, {});
  queue.Put(RecordsToSend({1, 2, 3}), kStart);
  const auto first = queue.Send(kStart);
  queue.Put(RecordsToSend({4, 5, 6}), kStart);
  auto flight = queue.Take(first->id);
  const auto attempt = std::make_shared<const Attempt>(Attempt{.code = "ValidationException"});
  queue.PutHalves(std::move(flight->records), attempt);
  EXPECT_THAT(SendAll(queue), ElementsAre(ElementsAre(1), ElementsAre(2, 3), ElementsAre(4, 5, 6)));
  const auto flights = queue.TakeInFlight();
  ASSERT_THAT(flights, SizeIs(3));
  for (const auto& each : flights) {
    const UserRecord& user = each.records.front().records.front();
    const std::uint32_t halvings = user.number < 4 ? 1 : 0;
    EXPECT_EQ(user.halvings, halvings);
    EXPECT_EQ(user.attempts.count(), halvings);
  }
}

// Fails if: a service that refuses each request gets them as fast as ever.
TEST(RequestQueue, WhileEachRequestIsRefusedTheyLeaveOneAtATime) {
  RequestQueue queue({.max_count = 1}, {});
  Rng rng(1);
  for (int i = 0; i < RefusalPace::kMaxRefusals; ++i) queue.OnRefused(kStart, rng);
  queue.Put(RecordsToSend({1, 2}), kStart);
  EXPECT_THAT(SendAll(queue), IsEmpty());
  EXPECT_EQ(queue.NextBytes(kStart), std::nullopt);
  const Instant next = *queue.NextWake(kStart);
  EXPECT_LE(next, kStart + RefusalPace::kLongest);
  EXPECT_THAT(SendAll(queue, next), ElementsAre(ElementsAre(1)));
  EXPECT_GT(queue.NextWake(next), next + RefusalPace::kLongest) << "the response comes first";
  queue.OnAccepted();
  EXPECT_THAT(SendAll(queue, next), ElementsAre(ElementsAre(2)));
}

TEST(RequestQueue, ExpiredRecordsLeaveTheirRequests) {
  RequestQueue queue({.max_count = 2}, {});
  std::vector<KinesisRecord> records = RecordsToSend({1, 2});
  records[0].expires = kStart + seconds(1);
  queue.Put(std::move(records), kStart);
  EXPECT_EQ(queue.NextWake(kStart), kStart + seconds(1));
  std::vector<KinesisRecord> expired;
  queue.TakeExpired(kStart + seconds(1), expired);
  EXPECT_THAT(Numbers(expired), ElementsAre(1));
  EXPECT_THAT(SendAll(queue), ElementsAre(ElementsAre(2)));
}

TEST(RequestQueue, RecordsInFlightAreReportedWhenTheyAreOverdue) {
  RequestQueue queue({.max_count = 1}, {});
  queue.Put(RecordsToSend({1}), kStart);
  SendAll(queue);
  EXPECT_EQ(queue.OverdueWake(), kStart + seconds(60));
  std::vector<RequestWindow::Overdue> overdue;
  queue.ReportOverdue(kStart + seconds(60), overdue);
  ASSERT_THAT(overdue, SizeIs(1));
  EXPECT_EQ(overdue[0].record->number, 1U);
  EXPECT_EQ(queue.OverdueWake(), std::nullopt);
}

TEST(RequestQueue, AllWaitingRecordsAreTakenAtTheEnd) {
  RequestQueue queue({.max_count = 2}, {.max_requests = 1});
  queue.Put(RecordsToSend({1, 2, 3, 4, 5}), kStart);
  SendAll(queue);
  std::vector<KinesisRecord> waiting;
  queue.TakeWaiting(waiting);
  EXPECT_THAT(Numbers(waiting), ElementsAre(3, 4, 5));
  EXPECT_EQ(queue.NextWake(kStart), std::nullopt);
  EXPECT_THAT(queue.TakeInFlight(), SizeIs(1));
}
}  // namespace
}  // namespace weir::kinesis
