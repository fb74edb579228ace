// Tests of a producer in simulated time, with a service that the test controls.
#include "weir/kinesis/producer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "weir/kinesis/producer_stream.h"
#include "weir/kinesis/testing/producer_fixture.h"
#include "weir/telemetry/registry.h"
#include "weir/telemetry/testing/recording_log_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Decides as the test sets it.
class FakeBudget final : public SharedBudget {
 public:
  void RequestBudget(const StreamAddress& stream, const BudgetRequest& ask,
                     Done<BudgetDecision> done) override {
    asked.push_back(fmt::format("{} {} {}", stream.name, ask.records, ask.bytes));
    waiting.push_back(std::move(done));
  }
  void Decide(Result<BudgetDecision> response) {
    auto done = std::move(waiting.front());
    waiting.pop_front();
    done(std::move(response));
  }

  std::vector<std::string> asked;
  std::deque<Done<BudgetDecision>> waiting;
};

TEST_F(ProducerTest, GivesEachRecordItsPlaceInTheStream) {
  Make();
  auto& stream = Open("s");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(TryPut(stream));
  EXPECT_EQ(producer_->pending(), 3U);
  scheduler_.Advance(seconds(1));
  ASSERT_THAT(results_, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(results_[i].stored);
    EXPECT_EQ(results_[i].shard, ShardId{0});
    EXPECT_EQ(results_[i].sequence_number, "77");
    EXPECT_EQ(results_[i].sub_number, i);
    EXPECT_FALSE(results_[i].maybe_duplicate);
  }
  EXPECT_EQ(producer_->pending(), 0U);
  EXPECT_EQ(producer_->pending_bytes(), 0U);
  const ProducerStats stats = producer_->stats();
  EXPECT_EQ(stats.records, 3U);
  EXPECT_EQ(stats.bytes, 12U);
  EXPECT_EQ(stats.stored, 3U);
  EXPECT_EQ(stats.requests, 1U);
  EXPECT_EQ(stats.kinesis_records, 1U);
}

TEST_F(ProducerTest, CountsUnderTheLibrarysNames) {
  Make();
  auto& stream = Open("s");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(1));
  const auto of = [this](Metric metric) {
    const auto readings =
        producer_->metrics().Read({.metric = metric, .window = {}}, scheduler_.clock().Now());
    return readings->front().statistic;
  };
  EXPECT_EQ(of(Metric::kUserRecordsReceived).sum, 3);
  EXPECT_EQ(of(Metric::kUserRecordsPut).sum, 3);
  EXPECT_EQ(of(Metric::kUserRecordsDataPut).sum, 12);
  EXPECT_EQ(of(Metric::kKinesisRecordsPut).sum, 1);
  EXPECT_EQ(of(Metric::kRequestTime).max, 10);
}

// Fails if: the age is that of a younger record, or continues after the last result.
TEST_F(ProducerTest, TellsTheAgeOfTheOldestRecordWithoutAResult) {
  Make();
  Registry registry;
  ASSERT_TRUE(producer_->metrics().Register(registry));
  EXPECT_EQ(producer_->oldest_age(), nanoseconds(0));
  auto& slow = Open("a");
  auto& fast = Open("b");
  scheduler_.Advance(seconds(1));
  kinesis_.trip = seconds(10);
  ASSERT_TRUE(TryPut(slow));
  scheduler_.Advance(seconds(1));
  kinesis_.trip = milliseconds(10);
  ASSERT_TRUE(TryPut(fast));
  scheduler_.Advance(seconds(2));
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_EQ(producer_->oldest_age(), seconds(3)) << "the younger one has its result";
  EXPECT_THAT(registry.Text(), HasSubstr("weir_kinesis_oldest_user_record_age_seconds 3\n"));
  scheduler_.Advance(seconds(10));
  EXPECT_EQ(producer_->oldest_age(), nanoseconds(0));
}

TEST_F(ProducerTest, RefusesWhatCanNeverBePutAndTakesNothingOfIt) {
  Make({.max_user_record_bytes = 600});
  auto& stream = Open("s");
  const auto refusal = [&](Record record) {
    const Status put = producer_->TryPut(stream, std::move(record), Keep());
    EXPECT_FALSE(put);
    EXPECT_EQ(put.error().code, Code::kInvalidArgument);
    return put.error().message;
  };
  EXPECT_THAT(refusal({.partition_key = ""}), HasSubstr("empty"));
  EXPECT_THAT(refusal({.partition_key = std::string(257, 'k')}), HasSubstr("257"));
  EXPECT_THAT(refusal({.partition_key = "\xC3"}), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal({.partition_key = "key", .data = std::string(598, 'x')}),
              HasSubstr("598 bytes of data and 3 of its partition key: give at most 600 together"));
  EXPECT_THAT(refusal({.partition_key = "k", .explicit_hash_key = "-1"}), HasSubstr("hash key"));
  EXPECT_THAT(refusal({.partition_key = "k", .ttl = milliseconds(0)}), HasSubstr("live"));
  EXPECT_THAT(refusal({.partition_key = "k", .buffered_time = milliseconds(-1)}),
              HasSubstr("buffered"));
  EXPECT_EQ(producer_->pending(), 0U);
  std::string two_bytes_each;
  for (int i = 0; i < 256; ++i) two_bytes_each += "\xC3\xA4";
  EXPECT_TRUE(producer_->TryPut(stream, {.partition_key = two_bytes_each}, Keep()))
      << "256 characters in 512 bytes";
  EXPECT_TRUE(
      producer_->TryPut(stream, {.partition_key = "key", .data = std::string(597, 'x')}, Keep()));
}

TEST_F(ProducerTest, OpensAStreamByNameOrArnAndTheSameOnce) {
  Make();
  EXPECT_EQ(&Open("a"), &Open("a"));
  EXPECT_NE(&Open("a"), &Open("b"));
  const std::string arn = "arn:aws:kinesis:eu-west-1:123456789012:stream/a";
  auto other = producer_->Open({.name = "", .arn = arn});
  ASSERT_TRUE(other);
  ASSERT_TRUE(TryPut(**other));
  scheduler_.Advance(seconds(1));
  EXPECT_THAT(kinesis_.requests[arn], ElementsAre(1));
  EXPECT_EQ(producer_->Open({.name = "a", .arn = arn}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(producer_->Open({}).error().code, Code::kInvalidArgument);
}

TEST_F(ProducerTest, SaysWhenItIsFullAndTakesMoreAfterResults) {
  Make({.max_outstanding_records = 2});
  auto& stream = Open("s");
  ASSERT_TRUE(TryPut(stream));
  ASSERT_TRUE(TryPut(stream));
  const Status third = TryPut(stream);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::kResourceExhausted);
  scheduler_.Advance(seconds(1));
  EXPECT_TRUE(TryPut(stream));
}

TEST_F(ProducerTest, BoundsBytesByWhatRecordsOccupy) {
  Make({.max_outstanding_bytes = 1 << 20});
  auto& stream = Open("s");
  const std::size_t each = (std::size_t{1} << 20) / 8;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(TryPut(stream, std::string(each, 'x')));
  EXPECT_FALSE(TryPut(stream, std::string(each, 'x'))) << "keys and overhead count as well";
  EXPECT_GT(producer_->pending_bytes(), 6 * each);
}

TEST_F(ProducerTest, FlushDoesNotWaitForCompany) {
  Make({.record_max_buffered_time = seconds(20)});
  auto& stream = Open("s");
  scheduler_.Advance(seconds(1));
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(1));
  EXPECT_THAT(results_, IsEmpty());
  std::optional<Status> flushed;
  producer_->Flush(Deadline::Never(), [&](Status status) { flushed = std::move(status); });
  scheduler_.Advance(milliseconds(15));
  EXPECT_THAT(results_, SizeIs(1));
  ASSERT_TRUE(flushed);
  EXPECT_TRUE(*flushed);
}

TEST_F(ProducerTest, FlushWaitsForWhatWasPutBeforeAndNoLonger) {
  Make({.record_max_buffered_time = seconds(20)});
  auto& stream = Open("s");
  scheduler_.Advance(seconds(1));
  ASSERT_TRUE(TryPut(stream));
  bool flushed = false;
  producer_->Flush(Deadline::Never(), [&](const Status&) { flushed = true; });
  scheduler_.Advance(milliseconds(5));
  ASSERT_TRUE(TryPut(stream));
  kinesis_.trip = seconds(5);
  scheduler_.Advance(milliseconds(10));
  EXPECT_TRUE(flushed) << "the second came after it";
  bool at_once = false;
  scheduler_.Advance(seconds(30));
  producer_->Flush(Deadline::Never(), [&](const Status&) { at_once = true; });
  EXPECT_TRUE(at_once) << "nothing is pending";
}

TEST_F(ProducerTest, FlushEndsByItsDeadline) {
  Make();
  auto& stream = Open("s");
  kinesis_.is_silent = true;
  ASSERT_TRUE(TryPut(stream));
  std::optional<Status> flushed;
  producer_->Flush(Deadline::After(scheduler_.clock(), seconds(1)),
                   [&](Status status) { flushed = std::move(status); });
  scheduler_.Advance(seconds(1));
  ASSERT_TRUE(flushed);
  EXPECT_EQ(flushed->error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(results_, IsEmpty()) << "the record goes on";
}

// Fails if: records that are put after a Flush whose deadline has passed do not wait for batching.
TEST_F(ProducerTest, K8AFlushWithoutTimeLeavesNoHurryBehind) {
  Make({.record_max_buffered_time = seconds(20)});
  auto& stream = Open("s");
  scheduler_.Advance(seconds(1));
  kinesis_.trip = seconds(1);
  ASSERT_TRUE(TryPut(stream));
  std::optional<Status> flushed;
  producer_->Flush(Deadline::At(scheduler_.clock().Now() - seconds(1)),
                   [&](Status status) { flushed = std::move(status); });
  scheduler_.Advance(milliseconds(100));
  ASSERT_TRUE(flushed);
  EXPECT_EQ(flushed->error().code, Code::kDeadlineExceeded);
  ASSERT_THAT(kinesis_.requests["s"], SizeIs(1)) << "it asked for it all the same";
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(10));
  EXPECT_THAT(kinesis_.requests["s"], SizeIs(1));
}

// Fails if: a request that waits for a connection counts as sent, so that its records cannot
// expire.
TEST_F(ProducerTest, K7WhatWaitsForAConnectionExpiresInTime) {
  Make({.record_ttl = seconds(5), .max_connections = 1});
  kinesis_.is_silent = true;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(TryPut(Open(fmt::format("s{}", i))));
  scheduler_.Advance(milliseconds(5'001));
  ASSERT_THAT(results_, SizeIs(9)) << "all but the one that is in flight";
  for (const RecordResult& result : results_) {
    EXPECT_FALSE(result.stored);
    EXPECT_FALSE(result.maybe_duplicate) << "it was never sent";
    EXPECT_EQ(result.attempts.kept().back()->code, kExpired);
  }
  scheduler_.Advance(seconds(1));
  ASSERT_THAT(results_, SizeIs(10)) << "an answer is not waited for when nothing can be sent again";
  EXPECT_TRUE(results_.back().maybe_duplicate);
}

// Fails if: the producer waits for a response that is of no use to any record.
TEST_F(ProducerTest, K7EveryResultOfASilentServiceComesByASecondAfterTheTimeToLive) {
  Make({.record_ttl = seconds(30)});
  kinesis_.is_silent = true;
  nanoseconds latest{0};
  int results = 0;
  for (int i = 0; i < 600; ++i) {
    const Instant put = scheduler_.clock().Now();
    Record record{.partition_key = "key", .data = "data"};
    ASSERT_TRUE(producer_->TryPut(Open(fmt::format("s{}", i % 10)), std::move(record),
                                  [&, put](const RecordResult&) {
                                    ++results;
                                    latest = std::max(latest, scheduler_.clock().Now() - put);
                                  }));
    scheduler_.Advance(milliseconds(100));
  }
  kinesis_.is_silent = false;
  scheduler_.Advance(seconds(60));
  EXPECT_EQ(results, 600);
  EXPECT_LE(latest, seconds(31));
}

// Fails if: a record waits for the response as long as the youngest record of its request.
TEST_F(ProducerTest, I14EachResultOfASilentServiceComesByASecondAfterItsOwnTimeToLive) {
  Make({.record_max_buffered_time = milliseconds(500)});
  auto& stream = Open("s");
  kinesis_.is_silent = true;
  nanoseconds latest{0};
  int results = 0;
  for (int i = 0; i < 600; ++i) {
    const milliseconds ttl = seconds(2) + milliseconds(i * 7919 % 28'000);
    const Instant expires = scheduler_.clock().Now() + ttl;
    Record record{.partition_key = "key", .data = "data", .ttl = ttl};
    ASSERT_TRUE(
        producer_->TryPut(stream, std::move(record), [&, expires](const RecordResult& result) {
          ++results;
          EXPECT_FALSE(result.stored);
          latest = std::max(latest, scheduler_.clock().Now() - expires);
        }));
    scheduler_.Advance(milliseconds(20));
  }
  scheduler_.Advance(seconds(60));
  EXPECT_EQ(results, 600);
  EXPECT_LE(latest, seconds(1));
  EXPECT_EQ(producer_->pending_bytes(), 0U);
}

// Fails if: the result comes before the call has ended, and does not have the cause of its failure.
TEST_F(ProducerTest, I14ARequestThatNeverHadAConnectionIsNotReportedAsPerhapsStored) {
  for (const seconds ttl : {seconds(1), seconds(2), seconds(5)}) {
    Make({.record_ttl = ttl});
    results_.clear();
    kinesis_.is_silent = true;
    kinesis_.connects = false;
    ASSERT_TRUE(TryPut(Open("s")));
    scheduler_.Advance(ttl + seconds(1));
    ASSERT_THAT(results_, SizeIs(1)) << ttl;
    EXPECT_FALSE(results_.front().stored);
    EXPECT_FALSE(results_.front().maybe_duplicate) << ttl;
    ASSERT_NE(results_.front().attempts.LastCause(), nullptr);
    EXPECT_EQ(results_.front().attempts.LastCause()->message, "could not connect");
    EXPECT_EQ(producer_->pending_bytes(), 0U);
    EndProducer();
  }
}

// Fails if: a late success returns a second result, or space is freed that a request still
// occupies.
TEST_F(ProducerTest, I14ALateSuccessIsNoSecondResult) {
  Make();
  auto& stream = Open("s");
  scheduler_.Advance(seconds(1));
  kinesis_.trip = seconds(5);
  for (const seconds ttl : {seconds(1), seconds(20)}) {
    Record record{.partition_key = "key", .data = std::string(1000, 'x'), .ttl = ttl};
    ASSERT_TRUE(producer_->TryPut(stream, std::move(record), Keep()));
  }
  const std::size_t bytes = producer_->pending_bytes();
  scheduler_.Advance(seconds(2));
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_FALSE(results_.front().stored);
  EXPECT_TRUE(results_.front().maybe_duplicate);
  EXPECT_EQ(producer_->pending(), 1U);
  EXPECT_EQ(producer_->pending_bytes(), bytes) << "the request in flight holds both";
  scheduler_.Advance(seconds(5));
  ASSERT_THAT(results_, SizeIs(2));
  EXPECT_TRUE(results_.back().stored);
  EXPECT_EQ(producer_->pending(), 0U);
  EXPECT_EQ(producer_->pending_bytes(), 0U);
  EXPECT_EQ(producer_->stats().stored + producer_->stats().failed, 2U);
}

// Fails if: Close reports records that were never sent as possibly stored.
TEST_F(ProducerTest, K7CloseReportsWhatWaitedForAConnectionAsNotStored) {
  Make({.max_connections = 1});
  kinesis_.is_silent = true;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(TryPut(Open(fmt::format("s{}", i))));
  scheduler_.Advance(seconds(1));
  producer_->Close(Deadline::At(scheduler_.clock().Now()), [](const Status&) {});
  scheduler_.Advance(milliseconds(1));
  ASSERT_THAT(results_, SizeIs(5));
  EXPECT_EQ(std::ranges::count_if(results_, &RecordResult::maybe_duplicate), 1);
}

TEST_F(ProducerTest, CloseGivesWhatIsLeftAResultAtItsDeadline) {
  Make();
  auto& stream = Open("s");
  kinesis_.is_silent = true;
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(1));
  bool closed = false;
  producer_->Close(Deadline::After(scheduler_.clock(), seconds(2)),
                   [&](const Status&) { closed = true; });
  EXPECT_EQ(TryPut(stream).error().code, Code::kCancelled);
  scheduler_.Advance(milliseconds(1999));
  EXPECT_FALSE(closed);
  scheduler_.Advance(milliseconds(1));
  EXPECT_TRUE(closed);
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_FALSE(results_.front().stored);
  EXPECT_TRUE(results_.front().maybe_duplicate) << "it was under way";
  EXPECT_EQ(results_.front().attempts.kept().back()->code, kClosed);
  scheduler_.Advance(seconds(60));
  EXPECT_THAT(results_, SizeIs(1)) << "the answer came too late";
}

TEST_F(ProducerTest, CloseLetsRecordsFinishThatCan) {
  Make({.record_max_buffered_time = seconds(20)});
  auto& stream = Open("s");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(TryPut(stream));
  bool closed = false;
  producer_->Close(Deadline::After(scheduler_.clock(), seconds(2)),
                   [&](const Status&) { closed = true; });
  scheduler_.Advance(milliseconds(100));
  EXPECT_TRUE(closed);
  EXPECT_EQ(producer_->stats().stored, 5U);
}

TEST_F(ProducerTest, StreamsShareTheConnectionsInTurn) {
  Make({.aggregation_enabled = false, .collection_max_count = 1, .max_connections = 1});
  auto& first = Open("a");
  auto& second = Open("b");
  scheduler_.Advance(seconds(1));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(TryPut(first));
  scheduler_.Advance(milliseconds(5));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(TryPut(second));
  scheduler_.Advance(seconds(2));
  EXPECT_EQ(kinesis_.max_under_way, 2) << "two listings at first, then one request at a time";
  const auto last_of_second = std::find(kinesis_.order.rbegin(), kinesis_.order.rend(), "b");
  EXPECT_LT(kinesis_.order.rend() - last_of_second, 10)
      << "three requests behind twenty of another stream do not wait for all of these";
  EXPECT_THAT(results_, SizeIs(23));
}

TEST_F(ProducerTest, RequestsUnderWayToOneShardAreBoundedWhereAskedTo) {
  Make({.aggregation_enabled = false, .collection_max_count = 1, .max_requests_per_shard = 2});
  auto& stream = Open("a");
  scheduler_.Advance(seconds(1));
  kinesis_.max_under_way = 0;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(2));
  EXPECT_EQ(kinesis_.max_under_way, 2);
  EXPECT_THAT(results_, SizeIs(20));
}

TEST_F(ProducerTest, AStreamThatIsStuckLeavesRoomForAnother) {
  Make({.max_outstanding_records = 100});
  auto& stuck = Open("stuck");
  auto& lively = Open("lively");
  while (TryPut(stuck)) {
  }
  EXPECT_TRUE(TryPut(lively));
}

TEST_F(ProducerTest, ABatchTellsEachResultItsPlace) {
  Make();
  auto& stream = Open("s");
  std::vector<Record> records(4, {.partition_key = "k", .data = "d"});
  std::vector<std::size_t> places;
  const auto taken =
      producer_->PutBatch(stream, std::move(records),
                          [&](std::size_t place, const RecordResult&) { places.push_back(place); });
  ASSERT_TRUE(taken);
  EXPECT_EQ(*taken, 4U);
  scheduler_.Advance(seconds(1));
  EXPECT_THAT(places, ElementsAre(0, 1, 2, 3));
}

TEST_F(ProducerTest, ABatchIsTakenAsFarAsItGoes) {
  Make({.max_outstanding_records = 2, .put_timeout = milliseconds(0)});
  auto& stream = Open("s");
  const std::vector<Record> records(3, {.partition_key = "k"});
  const auto ignore = [](std::size_t, const RecordResult&) {};
  EXPECT_EQ(producer_->PutBatch(stream, records, ignore), 2U);
  EXPECT_EQ(producer_->PutBatch(stream, records, ignore).error().code, Code::kResourceExhausted);
}

// Fails if: records that wait for batching are sent only to be cut off, and are then reported as
// possibly stored.
TEST_F(ProducerTest, K15ACloseWithoutTimeSendsNothing) {
  Make({.record_max_buffered_time = seconds(20)});
  auto& stream = Open("s");
  scheduler_.Advance(seconds(1));
  ASSERT_TRUE(TryPut(stream));
  producer_->Close(Deadline::At(scheduler_.clock().Now()), [](const Status&) {});
  scheduler_.Advance(seconds(1));
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_FALSE(results_.front().maybe_duplicate);
  EXPECT_EQ(producer_->stats().requests, 0U);
}

TEST_F(ProducerTest, K15AFlushAfterCloseIsCancelled) {
  Make();
  Open("s");
  producer_->Close(Deadline::Never(), [](const Status&) {});
  scheduler_.Advance(seconds(1));
  std::optional<Status> flushed;
  producer_->Flush(Deadline::Never(), [&](Status status) { flushed = std::move(status); });
  scheduler_.Advance(seconds(1));
  ASSERT_TRUE(flushed);
  ASSERT_FALSE(*flushed);
  EXPECT_EQ(flushed->error().code, Code::kCancelled);
}

// Fails if: a record that waited for space has less time than others.
TEST_F(ProducerTest, K11TheTimeInWhichARecordWaitsForRoomIsNoneOfItsTimes) {
  const ProducerConfig config;
  auto incoming = MakeIncoming(config, scheduler_.clock(), {.partition_key = "k"}, Keep());
  ASSERT_TRUE(incoming);
  const Instant put = scheduler_.clock().Now();
  BeginAt(*incoming, put + seconds(20));
  EXPECT_EQ(incoming->record.deadline, put + seconds(20) + milliseconds(100));
  EXPECT_EQ(incoming->record.expires, put + seconds(50));
  EXPECT_EQ(incoming->pending.origin.put, put + seconds(20));
  auto endless = MakeIncoming(config, scheduler_.clock(),
                              {.partition_key = "k", .ttl = milliseconds::max()}, Keep());
  ASSERT_TRUE(endless);
  BeginAt(*endless, put + seconds(20));
  EXPECT_GT(endless->record.expires, put + std::chrono::hours(24 * 365));
}

TEST_F(ProducerTest, HoldsToTheRecordsOwnTimes) {
  Make({.record_max_buffered_time = seconds(20)});
  auto& stream = Open("s");
  scheduler_.Advance(seconds(1));
  Record hasty{.partition_key = "k", .data = "d", .buffered_time = milliseconds(50)};
  ASSERT_TRUE(producer_->TryPut(stream, std::move(hasty), Keep()));
  scheduler_.Advance(milliseconds(150));
  EXPECT_THAT(results_, SizeIs(1));
  kinesis_.is_silent = true;
  Record brief{.partition_key = "k", .data = "d", .ttl = seconds(1)};
  ASSERT_TRUE(producer_->TryPut(stream, std::move(brief), Keep()));
  scheduler_.Advance(seconds(20));
  ASSERT_THAT(results_, SizeIs(2));
  EXPECT_FALSE(results_.back().stored);
}

TEST_F(ProducerTest, TimesWithoutEndDoNotOverflow) {
  Make({.record_max_buffered_time = milliseconds::max(), .record_ttl = milliseconds::max()});
  auto& stream = Open("s");
  scheduler_.Advance(seconds(1));
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(100));
  EXPECT_THAT(results_, IsEmpty()) << "neither due nor expired";
  producer_->Flush(Deadline::Never(), [](const Status&) {});
  scheduler_.Advance(seconds(1));
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_TRUE(results_.front().stored);
}

TEST_F(ProducerTest, SendsToASharedShardOnlyWhatIsGranted) {
  FakeBudget budget;
  producer_ = std::make_unique<Producer>(ProducerParts{kinesis_, scheduler_, &budget},
                                         ProducerConfig{.wire = WireFormat::kJson}, 1);
  auto& stream = Open("s");
  scheduler_.Advance(seconds(1));
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(1));
  EXPECT_THAT(budget.asked, ElementsAre("s 1 7"));
  EXPECT_THAT(kinesis_.requests["s"], IsEmpty());
  budget.Decide(BudgetDecision{.granted = true});
  scheduler_.Advance(seconds(1));
  EXPECT_THAT(results_, SizeIs(1));
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(1));
  for (int i = 0; i < 60; ++i) {
    if (!budget.waiting.empty()) budget.Decide(BudgetDecision{.retry_after = seconds(1)});
    scheduler_.Advance(seconds(1));
  }
  ASSERT_THAT(results_, SizeIs(2));
  EXPECT_EQ(results_.back().attempts.kept().back()->code, kExpired);
  EXPECT_THAT(kinesis_.requests["s"], SizeIs(1));
  EndProducer();
}

// Fails if: an error of the shared budget holds records until they expire, or is not logged.
TEST_F(ProducerTest, K3AnErrorOfTheSharedBudgetIsNoRefusalAndIsReported) {
  FakeBudget budget;
  RecordingLog log;
  producer_ = std::make_unique<Producer>(ProducerParts{kinesis_, scheduler_, &budget, log},
                                         ProducerConfig{.wire = WireFormat::kJson}, 1);
  auto& stream = Open("s");
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(1));
  budget.Decide(weir::Fail(Code::kDataLoss, "the bucket is damaged"));
  scheduler_.Advance(seconds(1));
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_TRUE(results_.front().stored);
  EXPECT_THAT(log.lines(), ElementsAre("warning kinesis.budget_failed stream=s message=the bucket "
                                       "is damaged suppressed=0"));
  EndProducer();
}

// Fails if: the log does not say why records are sent to a stream without its shards, or why its
// requests fail.
TEST_F(ProducerTest, K5WhatGoesWrongIsReportedOnceInAWhile) {
  RecordingLog log;
  kinesis_.fails = true;
  producer_ = std::make_unique<Producer>(ProducerParts{kinesis_, scheduler_, nullptr, log},
                                         ProducerConfig{.wire = WireFormat::kJson}, 1);
  auto& stream = Open("s");
  ASSERT_TRUE(TryPut(stream));
  scheduler_.Advance(seconds(9));
  EXPECT_THAT(log.lines(), ElementsAre("warning kinesis.listing_failed stream=s message=denied "
                                       "suppressed=0",
                                       "warning kinesis.request_failed stream=s message=denied "
                                       "suppressed=0"));
  EndProducer();
}

// Fails if: a call that blocks within a callback waits for a result that only this thread can
// deliver.
TEST_F(ProducerTest, K14ACallThatBlocksWithinACallbackIsRefused) {
  Make({.max_outstanding_records = 1});
  auto& stream = Open("s");
  std::vector<Code> codes;
  const auto note = [&codes](const Status& status) {
    codes.push_back(status ? Code::kUnknown : status.error().code);
  };
  const Record record{.partition_key = "k", .data = "d"};
  ASSERT_TRUE(producer_->TryPut(stream, record, [&](const RecordResult&) {
    EXPECT_TRUE(producer_->Put(stream, record, Keep())) << "there is room, nothing waits";
    note(producer_->Put(stream, record, Keep()));
    const auto result = producer_->PutBlocking(stream, record);
    note(result ? Status() : Status(weir::Fail(result.error())));
    note(producer_->Flush(Deadline::Never()));
    note(producer_->Close(Deadline::Never()));
  }));
  scheduler_.Advance(seconds(1));
  EXPECT_THAT(codes, ElementsAre(Code::kFailedPrecondition, Code::kFailedPrecondition,
                                 Code::kFailedPrecondition, Code::kFailedPrecondition));
  EXPECT_THAT(results_, SizeIs(1)) << "the one that there was room for";
  EXPECT_TRUE(TryPut(stream)) << "nothing was closed";
}

TEST_F(ProducerTest, NothingToDoIsNoTaskAtAll) {
  Make();
  for (int i = 0; i < 100; ++i) Open(fmt::format("s{}", i));
  scheduler_.Advance(seconds(5));
  EXPECT_EQ(scheduler_.pending(), 0U) << "no timer, no poll";
}

}  // namespace
}  // namespace weir::kinesis
