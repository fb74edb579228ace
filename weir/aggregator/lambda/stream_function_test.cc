// The function on a simulated table, in simulated time.
#include "weir/aggregator/lambda/stream_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "weir/aggregator/testing/change_fixture.h"
#include "weir/aggregator/testing/counted_usage_fixture.h"
#include "weir/aggregator/testing/event_fixture.h"
#include "weir/telemetry/testing/recording_log_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;

constexpr char kAllApplied[] = R"({"batchItemFailures":[]})";

std::string FailedAt(std::uint64_t sequence) {
  return fmt::format(R"({{"batchItemFailures":[{{"itemIdentifier":"{:0>21}"}}]}})", sequence);
}

class StreamFunctionTest : public ::testing::Test {
 protected:
  void TearDown() override {
    sim_.client.refusal.clear();
    for (const auto& each : environments_) {
      bool is_idle = false;
      each->Stop([&](const Status&) { is_idle = true; });
      Advance(seconds(60));
      EXPECT_TRUE(is_idle);
    }
  }

  StreamFunction& Start(const std::string& owner = "weir lambda f") {
    return *environments_.emplace_back(std::make_unique<StreamFunction>(
        FunctionParts{.table = sim_.table, .scheduler = sim_.scheduler, .log = log_},
        FunctionOptions{.aggregator = {}, .lease = {.owner = owner}}, 1));
  }
  /// Returns the response, within the time of an invocation.
  Result<std::string> Handle(StreamFunction& function, std::string event,
                             nanoseconds time = seconds(60)) {
    std::optional<Result<std::string>> response;
    function.Handle({.id = "r-1",
                     .event = std::move(event),
                     .deadline = Deadline::After(sim_.scheduler.clock(), time)},
                    [&](Result<std::string> result) { response = std::move(result); });
    const Instant end = sim_.scheduler.clock().Now() + time;
    sim_.scheduler.RunReady();
    while (!response && sim_.scheduler.clock().Now() < end) Advance(milliseconds(10));
    if (!response) return Fail(Code::kInternal, "no response by the deadline");
    return *std::move(response);
  }

  /// Returns the record of a use of acme on the resource api.
  std::string Use(std::int64_t millitokens) {
    const std::int64_t before = used_;
    used_ += millitokens;
    return EventRecordOf(
        Changed({"acme", "api", 0}, ++sequence_, {{"rpm", before}}, {{"rpm", used_}}));
  }
  /// Returns a record that can never be counted: it has no old image.
  std::string Uncountable() {
    ChangeRecord record = Changed({"acme", "api", 0}, ++sequence_, {{"rpm", 0}}, {{"rpm", 1}});
    record.old_image.clear();
    return EventRecordOf(record);
  }
  /// Returns a record that has a number, and no keys.
  std::string Unreadable() {
    return fmt::format(R"({{"eventName":"MODIFY","dynamodb":{{"SequenceNumber":"{:0>21}"}}}})",
                       ++sequence_);
  }
  static std::string Event(const std::vector<std::string>& records) {
    return StreamEventOf(records);
  }
  std::int64_t Counted() { return CountedUsage(sim_); }
  void Advance(nanoseconds time) { sim_.scheduler.Advance(time); }
  void Suspend(nanoseconds time) { sim_.scheduler.sim_clock().Suspend(time, /*is_counted=*/false); }

  ZaeSimTable sim_;
  RecordingLog log_;
  std::vector<std::unique_ptr<StreamFunction>> environments_;
  std::int64_t used_ = 0;
  std::uint64_t sequence_ = 0;
};

TEST_F(StreamFunctionTest, CountsTheRecordsOfAnEvent) {
  StreamFunction& function = Start();
  EXPECT_EQ(Handle(function, Event({Use(1'500), Use(2'500)})), kAllApplied);
  EXPECT_EQ(Counted(), 4);
  EXPECT_EQ(Handle(function, Event({Use(3'000)})), kAllApplied);
  EXPECT_EQ(Counted(), 7);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("lambda.batch request=r-1 records=2 applied=2")));
}

TEST_F(StreamFunctionTest, ARepeatedEventIsCountedOnce) {
  StreamFunction& function = Start();
  const std::string event = Event({Use(2'000), Use(1'000)});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Handle(function, event), kAllApplied);
  EXPECT_EQ(Handle(Start(), event), kAllApplied) << "in another environment of the function";
  EXPECT_EQ(Counted(), 3);
}

// Fails if: a later record is reported, and those before it are lost.
TEST_F(StreamFunctionTest, ReportsTheFirstRecordThatCannotBeCountedAndAppliesThoseBeforeIt) {
  StreamFunction& function = Start();
  const std::string event =
      Event({Use(1'000), Use(1'000), Uncountable(), Use(1'000), Uncountable()});
  EXPECT_EQ(Handle(function, event), FailedAt(3));
  EXPECT_EQ(Counted(), 2);
}

TEST_F(StreamFunctionTest, ReportsARecordThatCannotBeRead) {
  StreamFunction& function = Start();
  EXPECT_EQ(Handle(function, Event({Use(1'000), Unreadable(), Use(5'000)})), FailedAt(2));
  EXPECT_EQ(Counted(), 1);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("aggregator.batch_failed")));
  EXPECT_EQ(Handle(function, Event({Unreadable()})), FailedAt(4));
  EXPECT_EQ(Handle(function, Event({Use(1'000), Uncountable(), Unreadable()})), FailedAt(6));
}

TEST_F(StreamFunctionTest, AnEventThatIsNoneFailsTheInvocation) {
  const auto response = Handle(Start(), "{}");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kDataLoss);
  EXPECT_EQ(Handle(Start(), Event({})), kAllApplied);
}

// Fails if: the response is later than the deadline, or says that records are applied.
TEST_F(StreamFunctionTest, ATableThatFailsIsReportedByTheDeadline) {
  StreamFunction& function = Start();
  EXPECT_EQ(Handle(function, Event({Use(1'000)})), kAllApplied);
  sim_.client.refusal = "InternalServerError";
  EXPECT_EQ(Handle(function, Event({Use(1'000), Use(1'000)}), seconds(5)), FailedAt(2));
  sim_.client.refusal.clear();
  EXPECT_EQ(Counted(), 1);
}

TEST_F(StreamFunctionTest, ALeaseThatIsNotAcquiredInTimeFailsTheInvocation) {
  sim_.client.refusal = "InternalServerError";
  const auto response = Handle(Start(), Event({Use(1'000)}), seconds(20));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kDeadlineExceeded);
}

TEST_F(StreamFunctionTest, RefusesToCountBesideAnotherAggregator) {
  ASSERT_TRUE(Handle(Start("weir aggregate"), Event({Use(1'000)})));
  StreamFunction& function = Start();
  const auto response = Handle(function, Event({Use(1'000)}));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(response.error().message, HasSubstr("is counted by 'weir aggregate'"));
  const auto next = Handle(function, Event({Use(1'000)}), seconds(1));
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, Code::kFailedPrecondition) << "known at once";
  EXPECT_EQ(Counted(), 1);
}

// Fails if: a function refuses for ever once it has found another aggregator.
TEST_F(StreamFunctionTest, CountsAgainWhenTheOtherAggregatorHasEnded) {
  StreamFunction& other = Start("weir aggregate");
  ASSERT_TRUE(Handle(other, Event({Use(1'000)})));
  StreamFunction& function = Start();
  const std::string event = Event({Use(1'000)});
  ASSERT_FALSE(Handle(function, event));
  bool is_idle = false;
  other.Stop([&](const Status&) { is_idle = true; });
  sim_.scheduler.RunReady();
  environments_.erase(environments_.begin());
  EXPECT_TRUE(is_idle);
  // Only the wall clock shows that time passes between the invocations.
  Suspend(seconds(60));
  EXPECT_EQ(Handle(function, event), kAllApplied);
  EXPECT_EQ(Counted(), 2);
}

// Fails if: an environment relies on a lease that another process has claimed while this one was
// suspended.
TEST_F(StreamFunctionTest, ALeaseDoesNotLastThroughASuspension) {
  StreamFunction& function = Start();
  ASSERT_TRUE(Handle(function, Event({Use(1'000)})));
  Item lease = *sim_.Get(LeaseKey());
  lease["owner"] = Of("weir aggregate");
  lease["renewals"] = Of(7);
  sim_.Put(lease);
  Suspend(std::chrono::minutes(10));
  const auto response = Handle(function, Event({Use(1'000)}), seconds(20));
  ASSERT_FALSE(response) << *response;
  EXPECT_THAT(response.error().message, HasSubstr("'weir aggregate' may hold it"));
  EXPECT_EQ(Counted(), 1);
}

// Fails if: short invocations renew the lease only when the monotonic clock has moved.
TEST_F(StreamFunctionTest, ALeaseIsRenewedAlthoughTheClockStopsBetweenInvocations) {
  StreamFunction& function = Start();
  ASSERT_TRUE(Handle(function, Event({Use(1'000)})));
  const auto renewals = [&] { return GetNumber(*sim_.Get(LeaseKey()), "renewals").value(); };
  const std::int64_t first = renewals();
  for (int i = 0; i < 20; ++i) {
    Suspend(seconds(8));
    ASSERT_EQ(Handle(function, Event({Use(1'000)})), kAllApplied);
  }
  EXPECT_GE(renewals() - first, 8);
  EXPECT_EQ(Counted(), 21);
}

// Fails if: a renewal counts from when its response was handled, which may be after a suspension.
TEST_F(StreamFunctionTest, ARenewalWhoseResponseCameAfterASuspensionIsOutdated) {
  StreamFunction& function = Start();
  ASSERT_TRUE(Handle(function, Event({Use(1'000)})));
  bool is_sent = false;
  sim_.client.before_each = [&](const JsonCall& call) {
    if (is_sent || call.operation != "UpdateItem") return;
    is_sent = true;
    // After the renewal is applied, and before its response is handled.
    sim_.scheduler.Post([&] {
      Suspend(std::chrono::minutes(10));
      Item lease = *sim_.Get(LeaseKey());
      lease["owner"] = Of("weir aggregate");
      lease["renewals"] = Of(70);
      sim_.Put(lease);
    });
  };
  Advance(seconds(10) + milliseconds(1));
  ASSERT_TRUE(is_sent);
  const auto response = Handle(function, Event({Use(1'000)}), seconds(20));
  EXPECT_FALSE(response) << *response << ": counted beside weir aggregate";
  EXPECT_EQ(Counted(), 1);
}

// Fails if: the stream of a restored or copied table is counted in this one.
TEST_F(StreamFunctionTest, TheStreamOfAnotherTableIsRefused) {
  StreamFunction& function = Start();
  std::string record = Use(1'000);
  record.insert(1, R"("eventSourceARN":"arn:aws:dynamodb:eu-west-1:1:table/copy/stream/2026",)");
  const auto response = Handle(function, Event({record}));
  ASSERT_FALSE(response) << *response;
  EXPECT_THAT(response.error().message, HasSubstr("table/copy/stream/2026"));
  EXPECT_EQ(Counted(), 0);
}

}  // namespace
}  // namespace weir::dynamo
