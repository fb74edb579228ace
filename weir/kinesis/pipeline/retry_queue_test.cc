#include "weir/kinesis/pipeline/retry_queue.h"

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

std::vector<UserRecord> RecordsToRetry(std::vector<std::uint64_t> numbers,
                                       Instant expires = kStart + seconds(60)) {
  std::vector<UserRecord> records;
  for (const std::uint64_t number : numbers) {
    records.push_back({.number = number, .expires = expires});
  }
  return records;
}

AttemptFailure FailureWith(FailureClass kind, std::string code = "InternalFailure") {
  return {std::make_shared<const Attempt>(Attempt{.began = kStart - milliseconds(3),
                                                  .ended = kStart,
                                                  .code = std::move(code),
                                                  .message = "no"}),
          kind};
}

std::vector<std::uint64_t> NumbersToRetry(const std::vector<UserRecord>& records) {
  std::vector<std::uint64_t> numbers;
  for (const UserRecord& record : records) numbers.push_back(record.number);
  return numbers;
}

TEST(RetryQueue, RecordsOfOneKinesisRecordAreDueTogether) {
  RetryQueue queue({});
  Rng rng(1);
  const auto decision =
      queue.Put({9, RecordsToRetry({1, 2})}, FailureWith(FailureClass::kTransient), kStart, rng);
  EXPECT_TRUE(decision.is_queued);
  EXPECT_THAT(decision.ended, IsEmpty());
  EXPECT_EQ(queue.retries(), 2U);
  ASSERT_TRUE(queue.NextWake());
  EXPECT_FALSE(queue.TakeDue(*queue.NextWake() - nanoseconds(1)));
  const auto due = queue.TakeDue(*queue.NextWake());
  ASSERT_TRUE(due);
  EXPECT_EQ(due->ticket, 9U);
  EXPECT_THAT(NumbersToRetry(due->records), ElementsAre(1, 2));
  EXPECT_EQ(due->records[0].attempts.count(), 1U);
  EXPECT_EQ(queue.NextWake(), std::nullopt);
}

TEST(RetryQueue, APermanentFailureIsNotRetried) {
  RetryQueue queue({});
  Rng rng(1);
  const auto decision =
      queue.Put({0, RecordsToRetry({1, 2})}, FailureWith(FailureClass::kPermanent), kStart, rng);
  EXPECT_FALSE(decision.is_queued);
  EXPECT_THAT(NumbersToRetry(decision.ended), ElementsAre(1, 2));
  EXPECT_EQ(decision.ended[1].attempts.kept().back()->code, "InternalFailure");
  EXPECT_EQ(queue.NextWake(), std::nullopt);
  EXPECT_EQ(queue.retries(), 0U);
}

// Fails if: a record that had its result in flight is sent again.
TEST(RetryQueue, AReportedRecordIsNotRetried) {
  RetryQueue queue({});
  Rng rng(1);
  std::vector<UserRecord> records = RecordsToRetry({1, 2});
  records[0].is_reported = true;
  const auto decision =
      queue.Put({0, std::move(records)}, FailureWith(FailureClass::kTransient), kStart, rng);
  EXPECT_TRUE(decision.is_queued);
  EXPECT_THAT(NumbersToRetry(decision.ended), ElementsAre(1));
  EXPECT_THAT(NumbersToRetry(queue.TakeAll()), ElementsAre(2));
}

TEST(RetryQueue, AnAmbiguousFailureMakesDuplicatesPossible) {
  RetryQueue queue({});
  Rng rng(1);
  queue.Put({0, RecordsToRetry({1})}, FailureWith(FailureClass::kTransient), kStart, rng);
  queue.Put({0, RecordsToRetry({2})}, FailureWith(FailureClass::kAmbiguous), kStart, rng);
  for (const UserRecord& record : queue.TakeAll()) {
    EXPECT_EQ(record.maybe_duplicate, record.number == 2);
  }
}

TEST(RetryQueue, TheLastOfMaxAttemptsSaysSo) {
  RetryQueue queue({.max_attempts = 1});
  Rng rng(1);
  const auto decision =
      queue.Put({0, RecordsToRetry({1})}, FailureWith(FailureClass::kTransient), kStart, rng);
  EXPECT_FALSE(decision.is_queued);
  ASSERT_THAT(decision.ended, SizeIs(1));
  EXPECT_EQ(decision.ended[0].attempts.kept().back()->message,
            "no (the last of 1 attempts: max_attempts)");
}

// Fails if: requests refused for the content of another entry count as attempts of a record.
TEST(RetryQueue, HalvedRequestsDoNotCountAsAttempts) {
  RetryQueue queue({.max_attempts = 2});
  Rng rng(1);
  std::vector<UserRecord> records = RecordsToRetry({1});
  records[0].attempts.Add(Attempt{.code = "ValidationException"});
  records[0].halvings = 1;
  const auto decision =
      queue.Put({0, std::move(records)}, FailureWith(FailureClass::kTransient), kStart, rng);
  EXPECT_TRUE(decision.is_queued);
}

TEST(RetryQueue, ARetryThatWouldBeTooLateIsDueAtTheExpiryAndDoesNotCount) {
  RetryQueue queue({.base = seconds(1), .cap = seconds(1), .budget = 1});
  Rng rng(3);
  const Instant expires = kStart + nanoseconds(1);
  queue.Put({0, RecordsToRetry({1}, expires)}, FailureWith(FailureClass::kTransient), kStart, rng);
  EXPECT_EQ(queue.NextWake(), expires);
  EXPECT_EQ(queue.retries(), 0U);
}

// Fails if: a record that expires before the retry of its group has its result late, or is sent
// again; the others are sent before their retry is due.
TEST(RetryQueue, ARecordThatExpiresBeforeTheRetryLeavesItsGroup) {
  RetryQueue queue({.base = seconds(1), .cap = seconds(1)});
  Rng rng(3);
  std::vector<UserRecord> records = RecordsToRetry({1, 2, 3});
  records[1].expires = kStart + nanoseconds(1);
  queue.Put({7, std::move(records)}, FailureWith(FailureClass::kTransient), kStart, rng);
  EXPECT_EQ(queue.NextWake(), kStart + nanoseconds(1));
  const auto expired = queue.TakeDue(kStart + nanoseconds(1));
  ASSERT_TRUE(expired);
  EXPECT_TRUE(expired->others_wait);
  EXPECT_THAT(NumbersToRetry(expired->records), ElementsAre(2));
  EXPECT_GT(queue.NextWake(), kStart + milliseconds(1));
  const auto due = queue.TakeDue(*queue.NextWake());
  ASSERT_TRUE(due);
  EXPECT_FALSE(due->others_wait);
  EXPECT_EQ(due->ticket, 7U);
  EXPECT_THAT(NumbersToRetry(due->records), ElementsAre(1, 3));
}

// Fails if: a stored record does not give its budget back, or a retry takes none.
TEST(RetryQueue, RetriesOverTheBudgetWaitLonger) {
  const RetryOptions options{.base = milliseconds(1), .cap = seconds(4), .budget = 1};
  RetryQueue queue(options);
  Rng rng(1);
  const auto wait = [&] {
    queue.Put({0, RecordsToRetry({1})}, FailureWith(FailureClass::kTransient), kStart, rng);
    const nanoseconds waited = *queue.NextWake() - kStart;
    queue.TakeAll();
    return waited;
  };
  EXPECT_LT(wait(), seconds(1));
  EXPECT_GE(wait(), options.cap / 2);
  KinesisRecord stored;
  stored.records = RecordsToRetry({1});
  stored.records[0].attempts.Add(Attempt{.code = "InternalFailure"});
  queue.OnStored(stored);
  EXPECT_LT(wait(), seconds(1));
}

// Fails if: the time from which a missing stream is tolerated begins again with each attempt.
TEST(RetryQueue, AMissingStreamIsRetriedForTheHoldTime) {
  RetryQueue queue({.hold_time = seconds(1)});
  Rng rng(1);
  const auto missing = FailureWith(FailureClass::kPermanent, "ResourceNotFoundException");
  EXPECT_TRUE(queue.Put({0, RecordsToRetry({1})}, missing, kStart, rng).is_queued);
  std::vector<UserRecord> again = queue.TakeAll();
  EXPECT_EQ(again[0].held_since, missing.attempt->began);
  EXPECT_FALSE(queue.Put({0, std::move(again)}, missing, kStart + seconds(1), rng).is_queued);
}

TEST(RetryQueue, DrawsOneNumberForEachKinesisRecord) {
  RetryQueue queue({});
  Rng rng(1);
  Rng other(1);
  queue.Put({0, RecordsToRetry({1, 2, 3})}, FailureWith(FailureClass::kTransient), kStart, rng);
  other.Next();
  EXPECT_EQ(rng.Next(), other.Next());
}
}  // namespace
}  // namespace weir::kinesis
