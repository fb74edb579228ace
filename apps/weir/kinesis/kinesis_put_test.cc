#include "apps/weir/kinesis/kinesis_put.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "apps/weir/testing/process_context_fixture.h"

namespace weir::app {
namespace {

using kinesis::RecordResult;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

RecordResult Stored() {
  RecordResult result;
  result.stored = true;
  return result;
}
RecordResult Failed(const std::string& code, const std::string& message) {
  RecordResult result;
  kinesis::Attempt attempt;
  attempt.code = code;
  attempt.message = message;
  result.attempts.Add(std::move(attempt));
  return result;
}

// A service that responds at once, or never.
class OnOffEndpoint final : public JsonClient {
 public:
  void Call(JsonCall, Deadline, JsonDone done) override {
    if (results) done(JsonReply{});
  }
  bool results = true;
};

// A run on a producer that completes records when it is flushed, or as the test configures it.
class PutLinesTest : public WorldTest {
 protected:
  PutLinesTest() {
    process_.hurried = [this] { return --hurries_ < 0; };
  }

  PutOutcome Run(const std::string& text, RecordKeys keys = RecordKeys::Field("k")) {
    in_.str(text);
    LineReader lines(in_, 40);
    PutInput input{lines, keys};
    if (keep_) input.failed_lines = [this]() -> std::ostream& { return kept_; };
    auto outcome = PutLines(
        {.put = [this](kinesis::Record record,
                       kinesis::PutDone done) { return Put(std::move(record), std::move(done)); },
         .flush = [this](Deadline deadline) { return Flush(deadline); },
         .close = [this](Deadline deadline) { Close(deadline); },
         .watch = watch_},
        input, process_);
    EXPECT_EQ(closed_, 1);
    if (outcome) return *outcome;
    error_ = outcome.error().message;
    return {};
  }

  Status Put(kinesis::Record record, kinesis::PutDone done) {
    clock().Advance(milliseconds(1));
    if (!refusals_.empty()) {
      const Code code = refusals_.front();
      refusals_.pop_front();
      return Fail(code, "refused");
    }
    keys_.push_back(record.partition_key);
    data_.push_back(record.data);
    waiting_.push_back(std::move(done));
    return {};
  }
  Status Flush(Deadline deadline) {
    if (flushes_-- > 0) {
      clock().Advance(deadline.Left(clock().Now()));
      return Fail(Code::kDeadlineExceeded, "not yet");
    }
    RespondToAll();
    return {};
  }
  void Close(Deadline deadline) {
    ++closed_;
    patience_ = deadline.Left(clock().Now());
    RespondToAll();
  }
  void RespondToAll() {
    for (kinesis::PutDone& done : std::exchange(waiting_, {})) {
      done(results_.empty() ? Stored() : results_.front());
      if (!results_.empty()) results_.pop_front();
    }
  }
  sim::SimClock& clock() { return scheduler_.sim_clock(); }

  std::ostringstream kept_;
  bool keep_ = true;
  std::deque<Code> refusals_;
  std::deque<RecordResult> results_;
  int flushes_ = 0;  // the number of flushes that end too early
  int hurries_ = 1'000'000;
  int closed_ = 0;
  const EndpointWatch* watch_ = nullptr;
  nanoseconds patience_{0};
  std::vector<kinesis::PutDone> waiting_;
  std::vector<std::string> keys_, data_;
  std::string error_;
};

TEST_F(PutLinesTest, EachLineIsARecordWithItsKey) {
  const PutOutcome outcome = Run("{\"k\":\"a\"}\n{\"k\":2}\n");
  EXPECT_EQ(outcome.records, 2U);
  EXPECT_EQ(outcome.bytes, 16U);
  EXPECT_EQ(outcome.failed, 0U);
  EXPECT_THAT(data_, ElementsAre("{\"k\":\"a\"}", "{\"k\":2}"));
  EXPECT_THAT(keys_, ElementsAre("a", "2"));
  EXPECT_EQ(outcome.latency.count(), 2U);
  EXPECT_GE(outcome.latency.max(), 1'000'000);
  EXPECT_EQ(kept_.str(), "");
}

TEST_F(PutLinesTest, ALineWithoutAKeyFailsByItsNumberAndTheOthersGoOn) {
  const PutOutcome outcome = Run("{\"k\":1}\nnone\n{\"k\":3}\n");
  EXPECT_EQ(outcome.records, 3U);
  EXPECT_EQ(outcome.failed, 1U);
  EXPECT_THAT(keys_, ElementsAre("1", "3"));
  EXPECT_EQ(kept_.str(), "none\n");
  EXPECT_EQ(FailuresOf(outcome, "f"),
            "1 of 3 records failed: line 2: the line is not a JSON object; see f");
}

TEST_F(PutLinesTest, WhatKinesisRefusedIsKeptWithItsCause) {
  results_ = {Stored(), Failed("InternalFailure", "later"), Failed("Throttled", "")};
  const PutOutcome outcome = Run("{\"k\":1}\n{\"k\":2}\n{\"k\":3}\n");
  EXPECT_EQ(outcome.failed, 2U);
  EXPECT_EQ(kept_.str(), "{\"k\":2}\n{\"k\":3}\n");
  EXPECT_THAT(FailuresOf(outcome, ""),
              AllOf(HasSubstr("line 2: InternalFailure: later; line 3: Throttled;"),
                    HasSubstr("--failed-to")));
}

TEST_F(PutLinesTest, OnlyTheFirstCausesAreTold) {
  results_ = {Failed("A", ""), Failed("B", ""), Failed("C", ""), Failed("D", ""), Failed("B", "")};
  const PutOutcome outcome = Run("{\"k\":1}\n{\"k\":2}\n{\"k\":3}\n{\"k\":4}\n{\"k\":5}\n");
  EXPECT_EQ(outcome.failed, 5U);
  EXPECT_EQ(FailuresOf(outcome, "f"),
            "5 of 5 records failed: line 1: A; line 2 and 1 others: B; line 3: C; ...; see f");
}

// U9. Fails if: a cause that all lines share is repeated for every line.
TEST_F(PutLinesTest, U9OneCauseOfManyLinesIsNamedOnce) {
  for (int i = 0; i < 40; ++i) results_.push_back(Failed("ResourceNotFoundException", "no stream"));
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += "{\"k\":1}\n";
  EXPECT_EQ(FailuresOf(Run(lines), "f"),
            "40 of 40 records failed: line 1 and 39 others: ResourceNotFoundException: no stream; "
            "see f");
}

// U4. Fails if: an interruption is not in the outcome, or looks like the end of the input.
TEST_F(PutLinesTest, U4AnInterruptionSaysWhereItStopped) {
  looks_ = 2;
  const PutOutcome outcome = Run("{\"k\":1}\n{\"k\":2}\n{\"k\":3}\n");
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(StopOf(outcome), "stopped at line 2; input not read to its end");
  EXPECT_THAT(err_.str(),
              HasSubstr("weir: interrupted: the lines that were read have 10 s to be stored; "
                        "another signal ends this at once\n"));
}

TEST_F(PutLinesTest, U4WhatEndsByItselfIsNotInterrupted) {
  const PutOutcome outcome = Run("{\"k\":1}\n{\"k\":2}");
  EXPECT_FALSE(outcome.interrupted);
  EXPECT_TRUE(outcome.read_all);
  EXPECT_EQ(outcome.records, 2U);
  EXPECT_EQ(err_.str(), "");
}

// U4. Fails if: a line that the interruption cut in two is put.
TEST_F(PutLinesTest, U4ALineThatAnInterruptionCutIsNotPut) {
  looks_ = 2;
  const PutOutcome outcome = Run("{\"k\":1}\n{\"k\":2}");
  EXPECT_EQ(outcome.records, 1U);
  EXPECT_THAT(keys_, ElementsAre("1"));
  EXPECT_FALSE(outcome.read_all);
}

TEST_F(PutLinesTest, U9ASilentServiceIsReportedAndGivenUp) {
  OnOffEndpoint service;
  service.results = false;
  EndpointWatch watch(service, clock(), "http://localhost:1");
  watch_ = &watch;
  watch.Call({}, Deadline::Never(), [](auto) {});
  const Instant begin = clock().Now();
  flushes_ = 1'000'000;
  results_ = {Failed("Closed", "")};
  const PutOutcome outcome = Run("{\"k\":1}\n");
  EXPECT_EQ(outcome.failed, 1U);
  EXPECT_EQ(err_.str(), "weir: cannot reach http://localhost:1, retrying\n");
  EXPECT_EQ(GivenUpOf(outcome, "f"),
            "cannot reach http://localhost:1: none of 1 lines is stored; see f");
  EXPECT_GE(clock().Now() - begin, kGiveUpSilence);
  EXPECT_LE(clock().Now() - begin, kGiveUpSilence + std::chrono::seconds(1));
  EXPECT_EQ(patience_, nanoseconds(0));
}

// Q3. Fails if: a request that may have been applied counts as one that was not.
TEST_F(PutLinesTest, Q3WhatMayBeStoredIsNotCalledLost) {
  OnOffEndpoint service;
  service.results = false;
  EndpointWatch watch(service, clock(), "http://localhost:1");
  watch_ = &watch;
  watch.Call({}, Deadline::Never(), [](auto) {});
  flushes_ = 1'000'000;
  results_ = {Failed("Ambiguous", ""), Failed("Ambiguous", ""), Failed("Closed", "")};
  results_[0].maybe_duplicate = results_[1].maybe_duplicate = true;
  const PutOutcome outcome = Run("{\"k\":1}\n{\"k\":2}\n{\"k\":3}\n");
  EXPECT_EQ(outcome.maybe_stored, 2U);
  EXPECT_EQ(GivenUpOf(outcome, ""),
            "cannot reach http://localhost:1: none of 3 lines is known to be stored, and 2 may be; "
            "--failed-to FILE keeps such lines");
}

// Fails if: lines that a late response reported as stored are said not to be.
TEST_F(PutLinesTest, LinesThatWereStoredBeforeTheRunGaveUpAreCounted) {
  EXPECT_EQ(
      GivenUpOf({.records = 3, .failed = 1, .read_all = true, .unreachable = "cannot reach x"},
                "f"),
      "cannot reach x: 2 of 3 lines are stored; see f");
  EXPECT_EQ(GivenUpOf({.records = 3, .read_all = true, .unreachable = "cannot reach x"}, "f"),
            "cannot reach x: 3 of 3 lines are stored");
}

// Q4. Fails if: the endpoint is checked only when a line arrives.
TEST_F(PutLinesTest, Q4SilenceIsSeenWhileTheInputWaits) {
  OnOffEndpoint service;
  service.results = false;
  EndpointWatch watch(service, clock(), "http://localhost:1");
  watch_ = &watch;
  watch.Call({}, Deadline::Never(), [](auto) {});
  process_.watch_input = [this](const std::function<bool()>& look) {
    if (!look) return;
    clock().Advance(kReportSilence);
    EXPECT_FALSE(look());
    EXPECT_EQ(err_.str(), "weir: cannot reach http://localhost:1, retrying\n");
    clock().Advance(kGiveUpSilence);
    EXPECT_TRUE(look());
  };
  const PutOutcome outcome = Run("{\"k\":1}\n");
  EXPECT_THAT(outcome.unreachable, HasSubstr("cannot reach"));
  EXPECT_FALSE(outcome.read_all);
  EXPECT_THAT(GivenUpOf(outcome, "f"), HasSubstr("; input not read to its end; see f"));
}

// A service that always responds with an error of its own.
class ErringEndpoint final : public JsonClient {
 public:
  void Call(JsonCall, Deadline, JsonDone done) override {
    done(tl::unexpected(AwsFailure{.message = "500 InternalFailure", .http_status = 500}));
  }
};

// Q4. Fails if: a service that only fails is retried without a message, or given up.
TEST_F(PutLinesTest, Q4AServiceThatOnlyFailsIsReported) {
  ErringEndpoint service;
  EndpointWatch watch(service, clock(), "http://localhost:1");
  watch_ = &watch;
  watch.Call({}, Deadline::Never(), [](auto) {});
  flushes_ = 100;
  EXPECT_EQ(Run("{\"k\":1}\n").unreachable, "");
  EXPECT_EQ(
      err_.str(),
      "weir: only errors are received from http://localhost:1, retrying: 500 InternalFailure\n");
}

// Fails if: the run gives up a service that has responded once.
TEST_F(PutLinesTest, U9AServiceThatAnsweredIsRetriedWithoutEnd) {
  OnOffEndpoint service;
  EndpointWatch watch(service, clock(), "http://localhost:1");
  watch_ = &watch;
  watch.Call({}, Deadline::Never(), [](auto) {});
  service.results = false;
  watch.Call({}, Deadline::Never(), [](auto) {});
  flushes_ = 100;
  EXPECT_EQ(Run("{\"k\":1}\n").failed, 0U);
  EXPECT_EQ(error_, "");
  EXPECT_THAT(err_.str(), StartsWith("weir: cannot reach"));
}

// Q1. Fails if: a long line is stored before failed lines above it.
TEST_F(PutLinesTest, Q1ALongLineIsKeptWhereItStood) {
  results_ = {Failed("A", ""), Failed("A", "")};
  const std::string line(100, 'x');
  Run("{\"k\":1}\n" + line + "\n{\"k\":2}\n");
  EXPECT_EQ(kept_.str(), "{\"k\":1}\n" + line + "\n{\"k\":2}\n");
}

TEST_F(PutLinesTest, NothingIsKeptUnlessAsked) {
  keep_ = false;
  EXPECT_EQ(Run("a\n").failed, 1U);
}

TEST_F(PutLinesTest, ALineThatIsTooLongFailsAlone) {
  const PutOutcome outcome = Run(std::string(100, 'x') + "\n{\"k\":1}\n");
  EXPECT_EQ(outcome.records, 2U);
  EXPECT_EQ(outcome.failed, 1U);
  EXPECT_THAT(keys_, ElementsAre("1"));
  EXPECT_THAT(FailuresOf(outcome, ""),
              HasSubstr("line 1: it has more than the 40 bytes of a record;"));
  EXPECT_EQ(kept_.str(), std::string(100, 'x') + "\n") << "U9";
  keep_ = false;
  closed_ = 0;
  in_.clear();
  EXPECT_THAT(FailuresOf(Run(std::string(100, 'x') + "\n"), ""),
              HasSubstr("line 1: it has more than the 40 bytes of a record, and is not kept;"));
}

TEST_F(PutLinesTest, WhereThereIsNoRoomItWaits) {
  refusals_ = {Code::kResourceExhausted, Code::kResourceExhausted};
  EXPECT_EQ(Run("{\"k\":1}\n").failed, 0U);
  EXPECT_THAT(keys_, ElementsAre("1"));
}

TEST_F(PutLinesTest, WhatCanNeverBePutIsNotTriedAgain) {
  refusals_ = {Code::kInvalidArgument};
  EXPECT_THAT(FailuresOf(Run("{\"k\":1}\n{\"k\":2}\n"), ""), HasSubstr("line 1: refused"));
  EXPECT_THAT(keys_, ElementsAre("2"));
}

TEST_F(PutLinesTest, AnInterruptionEndsReadingAndLeavesTenSeconds) {
  looks_ = 2;
  flushes_ = 1'000'000;
  const Instant begin = clock().Now();
  const PutOutcome outcome = Run("{\"k\":1}\n{\"k\":2}\n{\"k\":3}\n");
  EXPECT_EQ(outcome.records, 2U);
  EXPECT_THAT(keys_, ElementsAre("1", "2"));
  EXPECT_GE(clock().Now() - begin, kLastFlush);
  EXPECT_LE(clock().Now() - begin, kLastFlush + std::chrono::seconds(1));
  EXPECT_EQ(patience_, nanoseconds(0));
  EXPECT_EQ(outcome.latency.count(), 2U);
}

// Q5. Fails if: a second signal loses the lines without a result.
TEST_F(PutLinesTest, Q5ASecondSignalEndsTheRunAndKeepsWhatIsUnanswered) {
  looks_ = 2;
  hurries_ = 5;
  flushes_ = 1'000'000;
  results_ = {Failed("Closed", ""), Failed("Closed", "")};
  const Instant begin = clock().Now();
  const PutOutcome outcome = Run("{\"k\":1}\n{\"k\":2}\n{\"k\":3}\n");
  EXPECT_LE(clock().Now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(outcome.failed, 2U);
  EXPECT_EQ(kept_.str(), "{\"k\":1}\n{\"k\":2}\n");
}

TEST_F(PutLinesTest, AnInterruptionEndsTheWaitForRoomAndForTheEnd) {
  looks_ = 3;
  refusals_.assign(100, Code::kResourceExhausted);
  EXPECT_EQ(Run("{\"k\":1}\n{\"k\":2}\n").failed, 1U);
  looks_ = 5;
  closed_ = 0;
  refusals_.clear();
  flushes_ = 1000;
  in_.clear();
  EXPECT_EQ(Run("{\"k\":1}\n").failed, 0U);
  EXPECT_GT(flushes_, 940) << "ten seconds of them";
}

TEST_F(PutLinesTest, ItShowsHowFarItIsOnATerminal) {
  process_.err_is_terminal = true;
  flushes_ = 2;
  Run("{\"k\":1}\nx\n");
  EXPECT_THAT(err_.str(), HasSubstr("2 records read, 1 failed"));
}

TEST_F(PutLinesTest, InputThatBreaksIsAnError) {
  process_.interrupted = [this] {
    if (data_.size() == 1) in_.setstate(std::ios::badbit);
    return false;
  };
  Run("{\"k\":1}\n{\"k\":2}\n");
  EXPECT_EQ(error_, "cannot read standard input after line 1");
}

TEST(PutReport, HasTheseMembers) {
  Histogram latency;
  latency.Record(2'000'000);
  const PutReport report{
      .outcome = {.records = 10,
                  .bytes = 70,
                  .failed = 2,
                  .elapsed = std::chrono::seconds(2),
                  .latency = latency.Snapshot()},
      .stats = {
          .maybe_duplicate = 1, .kinesis_records = 5, .requests = 3, .throttled = 4, .retries = 6}};
  EXPECT_EQ(
      ToJson(report).dump(),
      R"({"records":10,"bytes":70,"failed":2,"kinesis_records":5,"requests":3,"throttled":4,)"
      R"("retries":6,"maybe_duplicates":1,"p50_ms":2,"p99_ms":2,"records_per_s":4,"interrupted":false,"read_all":true})");
  EXPECT_EQ(TextOf(report),
            "records   10: stored 8, failed 2, possible duplicates 1\n"
            "bytes     70\n"
            "sent      5 Kinesis records in 3 requests, 4 throttled, 6 retries of lines\n"
            "latency   p50 2 ms, p99 2 ms\n"
            "rate      4 records/s for 2s\n");
}

}  // namespace
}  // namespace weir::app
