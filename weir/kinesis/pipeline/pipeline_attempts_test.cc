// Tests of records with a bound on their attempts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "weir/kinesis/pipeline/pipeline.h"
#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kThrottled = "ProvisionedThroughputExceededException";

EntryResponse StoredEntry() { return {.shard = "shardId-000000000000", .sequence_number = "7"}; }
PutResponse AllAre(const std::vector<KinesisRecord>& records, const EntryResponse& response) {
  return std::vector<EntryResponse>(records.size(), response);
}
EntryResponse ThrottledEntry() { return {.code = kThrottled, .message = "too much"}; }
PutResponse InDoubt() {
  return tl::unexpected(
      AwsFailure{.kind = FailureClass::kAmbiguous, .message = "no answer", .maybe_applied = true});
}

/// One shard, without aggregates, and a service that responds at once.
class AttemptsRun {
 public:
  using Service = std::function<PutResponse(const std::vector<KinesisRecord>&)>;

  AttemptsRun(PipelineOptions options, Service service)
      : pipeline_(Separately(options), 1), service_(std::move(service)) {
    Take(pipeline_.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, now));
  }

  void Put(std::uint64_t number, const std::string& data = "data") {
    UserRecord record{.number = number,
                      .partition_key = "key",
                      .data = data,
                      .deadline = now,
                      .expires = now + seconds(30)};
    record.hash = HashOfPartitionKey(record.partition_key);
    Take(pipeline_.Put(std::move(record), now));
  }
  void Advance(nanoseconds time) {
    const Instant until = now + time;
    while (wake_ && *wake_ <= until) {
      now = std::max(now, *wake_);
      Take(pipeline_.OnWake(now));
    }
    now = until;
  }

  Instant now = kStart;
  int requests = 0;
  std::map<std::uint64_t, RecordResult> results;

 private:
  static PipelineOptions Separately(PipelineOptions options) {
    options.aggregator.mode = AggregatorOptions::Mode::kSeparately;
    return options;
  }
  void Take(PipelineStep step) {
    wake_ = step.wake;
    for (RecordResult& result : step.results) {
      const std::uint64_t number = result.number;
      EXPECT_TRUE(results.emplace(number, std::move(result)).second) << "one result each";
    }
    for (const PipelineStep::Send& send : step.sends) {
      ++requests;
      Take(pipeline_.OnResponse(send.id, service_(*send.records), now));
    }
  }

  Pipeline pipeline_;
  Service service_;
  std::optional<Instant> wake_;
};

PipelineOptions WithAttempts(std::uint32_t most, std::int64_t budget = 1'000) {
  PipelineOptions options;
  options.retry.max_attempts = most;
  options.retry.budget = budget;
  return options;
}

// Fails if: the record is retried; the result does not say why it failed and why it ended.
TEST(PipelineAttempts, ARecordThatWasRefusedSoOftenFailsWithItsLastError) {
  AttemptsRun run(WithAttempts(3),
                  [](const auto& records) { return AllAre(records, ThrottledEntry()); });
  run.Put(0);
  run.Advance(seconds(29));
  ASSERT_THAT(run.results, SizeIs(1)) << "before it expires";
  EXPECT_EQ(run.requests, 3);
  const RecordResult& result = run.results.at(0);
  EXPECT_FALSE(result.stored);
  EXPECT_FALSE(result.maybe_duplicate);
  EXPECT_EQ(result.attempts.count(), 3U);
  const Attempt* cause = result.attempts.LastCause();
  ASSERT_NE(cause, nullptr);
  EXPECT_EQ(cause->code, kThrottled);
  EXPECT_EQ(cause->message, "too much (the last of 3 attempts: max_attempts)");
  EXPECT_EQ(result.attempts.kept().front()->message, "too much");
}

TEST(PipelineAttempts, ARequestInDoubtIsAnAttemptAndTheResultSaysSo) {
  AttemptsRun run(WithAttempts(2), [](const auto&) { return InDoubt(); });
  run.Put(0);
  run.Advance(seconds(29));
  ASSERT_THAT(run.results, SizeIs(1));
  EXPECT_EQ(run.requests, 2);
  EXPECT_FALSE(run.results.at(0).stored);
  EXPECT_TRUE(run.results.at(0).maybe_duplicate);
  EXPECT_THAT(run.results.at(0).attempts.LastCause()->message, HasSubstr("max_attempts"));
}

TEST(PipelineAttempts, WhatIsStoredByTheLastAttemptIsStored) {
  int asked = 0;
  AttemptsRun run(WithAttempts(3), [&](const auto& records) {
    return AllAre(records, ++asked < 3 ? ThrottledEntry() : StoredEntry());
  });
  run.Put(0);
  run.Advance(seconds(29));
  ASSERT_THAT(run.results, SizeIs(1));
  EXPECT_TRUE(run.results.at(0).stored);
}

// Fails if: a request that was refused for one of its records counts as an attempt of the others.
TEST(PipelineAttempts, TheHalvingOfARequestIsNoAttemptOfItsRecords) {
  std::map<std::string, int> throttles;
  AttemptsRun run(WithAttempts(2), [&](const std::vector<KinesisRecord>& records) -> PutResponse {
    const bool is_poisoned = std::ranges::any_of(
        records, [](const KinesisRecord& record) { return record.data == "poison"; });
    if (is_poisoned) {
      return tl::unexpected(AwsFailure{.kind = FailureClass::kPermanent,
                                       .code = "ValidationException",
                                       .message = "poison",
                                       .http_status = 400});
    }
    std::vector<EntryResponse> responses;
    responses.reserve(records.size());
    for (const KinesisRecord& record : records) {
      responses.push_back(++throttles[record.data] == 1 ? ThrottledEntry() : StoredEntry());
    }
    return responses;
  });
  for (std::uint64_t i = 0; i < 8; ++i) run.Put(i, i == 5 ? "poison" : "data" + std::to_string(i));
  run.Advance(seconds(29));
  ASSERT_THAT(run.results, SizeIs(8));
  for (const auto& [number, result] : run.results) EXPECT_EQ(result.stored, number != 5);
  EXPECT_EQ(run.results.at(5).attempts.LastCause()->message, "poison") << "it is not tried again";
}

// Fails if: a record that is not retried takes from the budget, and others wait because of that.
TEST(PipelineAttempts, TheLastAttemptTakesNothingOfTheRetryBudget) {
  int asked = 0;
  AttemptsRun run(WithAttempts(2, 2), [&](const auto& records) -> PutResponse {
    return ++asked <= 3 ? InDoubt() : AllAre(records, StoredEntry());
  });
  run.Put(0);
  run.Advance(seconds(10));
  ASSERT_THAT(run.results, SizeIs(1));
  run.Put(1);
  run.Advance(seconds(2));
  ASSERT_THAT(run.results, SizeIs(2)) << "it is within the budget";
  EXPECT_TRUE(run.results.at(1).stored);
}

/// A service that responds to requests in flight when the test asks for it.
class SilentService {
 public:
  SilentService() : pipeline_(WithAttempts(0, 1), 1) {
    Take(pipeline_.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, now_));
  }
  void Put(std::uint64_t number, nanoseconds ttl) {
    UserRecord record{.number = number,
                      .partition_key = "key",
                      .data = "data",
                      .deadline = now_,
                      .expires = now_ + ttl};
    Take(pipeline_.Put(std::move(record), now_));
    Take(pipeline_.Flush(now_));
  }
  void Advance(nanoseconds time) {
    const Instant until = now_ + time;
    while (wake_ && *wake_ <= until) {
      now_ = std::max(now_, *wake_);
      Take(pipeline_.OnWake(now_));
    }
    now_ = until;
  }
  void Fail() { Take(pipeline_.OnResponse(in_flight_.value(), InDoubt(), now_)); }

  std::size_t sent = 0;

 private:
  void Take(const PipelineStep& step) {
    wake_ = step.wake;
    for (const PipelineStep::Send& send : step.sends) in_flight_ = send.id;
    sent += step.sends.size();
  }

  Pipeline pipeline_;
  Instant now_ = kStart;
  std::optional<Instant> wake_;
  std::optional<std::uint64_t> in_flight_;
};

// Fails if: a record that has its result already takes from the budget, and others wait from 2.5 to
// 5 s because of that.
TEST(PipelineAttempts, ARecordThatHasItsResultTakesNothingOfTheRetryBudget) {
  SilentService run;
  run.Put(0, seconds(1));
  run.Advance(seconds(3));
  run.Fail();
  run.Put(1, seconds(30));
  run.Fail();
  run.Advance(seconds(1));
  EXPECT_EQ(run.sent, 3U) << "the retry of record 1 is within the budget";
}

// Fails if: a record whose retry falls on its expiry, so that it is not sent, takes from the
// budget.
TEST(PipelineAttempts, ARecordThatExpiresBeforeItsRetryTakesNothingOfTheRetryBudget) {
  SilentService run;
  run.Put(0, seconds(1));
  run.Advance(seconds(1) - nanoseconds(1));
  run.Fail();
  run.Put(1, seconds(30));
  run.Fail();
  run.Advance(seconds(1));
  EXPECT_EQ(run.sent, 3U) << "the retry of record 1 is within the budget";
}

}  // namespace
}  // namespace weir::kinesis
