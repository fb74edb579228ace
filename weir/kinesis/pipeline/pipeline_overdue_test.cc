// Tests of records with different expiries in one request to which the service responds late, or
// never.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "weir/kinesis/pipeline/pipeline.h"
#include "weir/kinesis/testing/record_fixture.h"
#include "weir/runtime/deadline.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kOnlyShard = "shardId-000000000000";

/// One request with record 0, which expires after 2 s, and record 1, which expires after 9 s.
class OverdueRun {
 public:
  explicit OverdueRun(const PipelineOptions& options = {}) : pipeline(options, 1) {
    Take(pipeline.OnWake(kStart));
    Take(pipeline.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, kStart));
    Put(0, kStart + seconds(2));
    Put(1, kStart + seconds(9));
    Take(pipeline.Flush(kStart));
  }

  void Put(std::uint64_t number, Instant expires) {
    UserRecord record{.number = number,
                      .partition_key = "key",
                      .data = "data",
                      .deadline = kStart + seconds(1),
                      .expires = expires};
    record.hash = HashOfPartitionKey(record.partition_key);
    Take(pipeline.Put(std::move(record), now));
  }
  /// Wakes the pipeline at the times that it returns; no request gets a response.
  void AdvanceTo(Instant until) {
    while (wake && *wake <= until) {
      now = std::max(now, *wake);
      Take(pipeline.OnWake(now));
    }
    now = until;
  }
  /// Grants the latest budget request.
  void Grant() { Take(pipeline.OnBudget(asks.back().shard, {.granted = true}, now)); }
  /// Passes the response to the oldest request.
  void Respond(const PutResponse& response) {
    const std::uint64_t id = requests.front();
    requests.erase(requests.begin());
    Take(pipeline.OnResponse(id, response, now));
  }
  void Take(PipelineStep step) {
    for (const PipelineStep::Send& send : step.sends) requests.push_back(send.id);
    asks.insert(asks.end(), step.budget_requests.begin(), step.budget_requests.end());
    for (RecordResult& result : step.results) {
      latest[result.number] = now;
      results[result.number].push_back(std::move(result));
    }
    for (const std::uint64_t number : step.released) ++released[number];
    wake = step.wake;
  }

  Pipeline pipeline;
  Instant now = kStart;
  std::optional<Instant> wake;
  std::vector<std::uint64_t> requests;  // without a response
  // All budget requests.
  std::vector<BudgetRequest> asks;
  std::map<std::uint64_t, std::vector<RecordResult>> results;
  std::map<std::uint64_t, Instant> latest;  // the time at which the last result arrived
  std::map<std::uint64_t, int> released;
};

PutResponse StoredOn(const std::string& shard) {
  return std::vector<EntryResponse>{{.shard = shard, .sequence_number = "7"}};
}

PutResponse RefusedFor(const std::string& code) {
  return std::vector<EntryResponse>{{.code = code, .message = "no"}};
}

PutResponse NoResponse(FailureClass kind, const std::string& code) {
  AwsFailure failure{.kind = kind, .code = code, .message = "no", .http_status = 400};
  failure.maybe_applied = kind == FailureClass::kAmbiguous;
  return tl::unexpected(failure);
}

// Fails if: a record waits for the response as long as the youngest record of its request.
TEST(PipelineOverdue, I14ARecordInFlightHasItsResultASecondAfterItExpires) {
  for (const bool ordered : {false, true}) {
    OverdueRun run({.ordered = ordered});
    ASSERT_THAT(run.requests, SizeIs(1));
    run.AdvanceTo(kStart + seconds(3) - milliseconds(1));
    EXPECT_THAT(run.results, IsEmpty());
    run.AdvanceTo(kStart + seconds(3));
    ASSERT_THAT(run.results[0], SizeIs(1));
    EXPECT_THAT(run.results[1], IsEmpty());
    EXPECT_EQ(run.pipeline.pending(), 1U);
    const RecordResult& result = run.results[0].front();
    EXPECT_FALSE(result.stored);
    EXPECT_TRUE(result.maybe_duplicate) << "it may be stored";
    EXPECT_TRUE(result.is_in_flight);
    EXPECT_EQ(result.attempts.kept().back()->code, kExpired);
    ASSERT_NE(result.attempts.LastCause(), nullptr);
    EXPECT_EQ(result.attempts.LastCause()->message, "its request had no response in time");
    EXPECT_THAT(run.released, IsEmpty()) << "the request holds it";
    run.AdvanceTo(kStart + seconds(60));
    EXPECT_THAT(run.results[0], SizeIs(1));
    EXPECT_EQ(run.latest[1], kStart + seconds(10));
    EXPECT_EQ(run.pipeline.pending(), 0U);
  }
}

// Fails if: the late response reports the older record again, or changes the index of the younger
// one.
TEST(PipelineOverdue, I14ALateSuccessIsOneResultForEachRecord) {
  OverdueRun run;
  run.AdvanceTo(kStart + seconds(4));
  run.Respond(StoredOn(kOnlyShard));
  EXPECT_THAT(run.results[0], SizeIs(1));
  ASSERT_THAT(run.results[1], SizeIs(1));
  EXPECT_TRUE(run.results[1].front().stored);
  EXPECT_EQ(run.results[1].front().sub_number, 1U);
  EXPECT_FALSE(run.results[1].front().maybe_duplicate);
  EXPECT_EQ(run.pipeline.pending(), 0U);
  EXPECT_THAT(run.released, ElementsAre(std::pair(0, 1)));
}

// Fails if: after a late response of some kind the older record gets a second result, is retried,
// or is never released.
TEST(PipelineOverdue, I14WhateverTheLateAnswerIsThereIsOneResult) {
  const std::map<std::string, PutResponse> responses{
      {"throttled", RefusedFor("ProvisionedThroughputExceededException")},
      {"failed", RefusedFor("InternalFailure")},
      {"refused", RefusedFor("AccessDeniedException")},
      {"miscounted", std::vector<EntryResponse>{}},
      {"unknown shard", StoredOn("shardId-000000000009")},
      {"lost", NoResponse(FailureClass::kAmbiguous, "")},
      {"poisoned", NoResponse(FailureClass::kPermanent, "ValidationException")},
      {"denied", NoResponse(FailureClass::kAuth, "AccessDeniedException")}};
  for (const bool ordered : {false, true}) {
    for (const auto& [name, response] : responses) {
      OverdueRun run({.ordered = ordered});
      run.AdvanceTo(kStart + seconds(4));
      run.Respond(response);
      run.AdvanceTo(kStart + seconds(60));
      EXPECT_THAT(run.results[0], SizeIs(1)) << name;
      EXPECT_THAT(run.results[1], SizeIs(1)) << name;
      EXPECT_LE(run.latest[1], kStart + seconds(10)) << name;
      EXPECT_EQ(run.pipeline.pending(), 0U) << name;
      EXPECT_EQ(run.released[0], 1) << name;
    }
  }
}

// Fails if: reported records of a request that is halved are sent or reported again.
TEST(PipelineOverdue, I14ARequestThatIsCutInHalvesLeavesTheReportedOut) {
  OverdueRun run({.aggregator = {.mode = AggregatorOptions::Mode::kSeparately}});
  run.AdvanceTo(kStart + seconds(4));
  run.Respond(NoResponse(FailureClass::kPermanent, "ValidationException"));
  EXPECT_EQ(run.released[0], 1);
  ASSERT_THAT(run.requests, SizeIs(1)) << "the younger one alone";
  run.Respond(StoredOn(kOnlyShard));
  EXPECT_THAT(run.results[0], SizeIs(1));
  ASSERT_THAT(run.results[1], SizeIs(1));
  EXPECT_TRUE(run.results[1].front().stored);
}

TEST(PipelineOverdue, I14CloseReportsTheYoungerRecordAlone) {
  OverdueRun run;
  run.AdvanceTo(kStart + seconds(4));
  run.Take(run.pipeline.Close(run.now));
  EXPECT_THAT(run.results[0], SizeIs(1));
  EXPECT_THAT(run.results[1], SizeIs(1));
  EXPECT_THAT(run.released, ElementsAre(std::pair(0, 1)));
  EXPECT_EQ(run.pipeline.pending(), 0U);
}

// Fails if: a key's next record is sent while an older one, which has its result, may still be
// stored.
TEST(PipelineOverdue, I14InOrderedModeAReportedRecordKeepsItsTurn) {
  OverdueRun run({.ordered = true});
  run.AdvanceTo(kStart + seconds(4));
  run.Put(2, kStart + seconds(20));
  run.AdvanceTo(kStart + seconds(6));
  EXPECT_THAT(run.requests, SizeIs(1));
  run.Respond(StoredOn(kOnlyShard));
  run.AdvanceTo(kStart + seconds(7));
  EXPECT_THAT(run.requests, SizeIs(1)) << "the third record";
}

// Fails if: a record is sent that expired while its budget request was pending; its result comes
// later than the decision.
TEST(PipelineOverdue, I14ARecordThatExpiredBeforeItsBudgetIsGrantedIsNotSent) {
  for (const bool ordered : {false, true}) {
    OverdueRun run({.shared_budget = BudgetOptions{}, .ordered = ordered});
    ASSERT_THAT(run.asks, SizeIs(1));
    run.AdvanceTo(kStart + milliseconds(2500));
    run.Grant();
    ASSERT_THAT(run.results[0], SizeIs(1)) << "ordered " << ordered;
    const RecordResult& expired = run.results[0].front();
    EXPECT_FALSE(expired.stored);
    EXPECT_FALSE(expired.maybe_duplicate) << "it was never sent";
    EXPECT_EQ(expired.attempts.kept().back()->code, kExpired);
    EXPECT_THAT(run.requests, IsEmpty());
    ASSERT_THAT(run.asks, SizeIs(2)) << "the younger one alone";
    EXPECT_EQ(run.asks.back().records, 1U);
    run.Grant();
    run.AdvanceTo(kStart + seconds(3));
    ASSERT_THAT(run.requests, SizeIs(1));
    run.Respond(StoredOn(kOnlyShard));
    ASSERT_THAT(run.results[1], SizeIs(1));
    EXPECT_TRUE(run.results[1].front().stored);
    EXPECT_EQ(run.results[1].front().sub_number, std::nullopt);
    EXPECT_THAT(run.results[0], SizeIs(1));
  }
}

TEST(PipelineOverdue, ARecordThatNeverExpiresIsWaitedFor) {
  OverdueRun run;
  run.Respond(StoredOn(kOnlyShard));
  run.Put(2, Deadline::Never().at());
  run.Take(run.pipeline.Flush(run.now));
  ASSERT_THAT(run.requests, SizeIs(1));
  EXPECT_EQ(run.wake, std::nullopt);
}

}  // namespace
}  // namespace weir::kinesis
