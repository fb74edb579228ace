#include "weir/sim/sim_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "weir/sim/dynamodb/dynamo_fixture.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::sim {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

/// Responds with the number of requests it has received.
class CountingServer final : public SimServer {
 public:
  HttpResponse Handle(const HttpRequest& request) override {
    seen.push_back(request.body);
    return {.status = 200, .headers = {}, .body = std::to_string(seen.size())};
  }
  std::vector<std::string> seen;
};

/// The calls of one callback: their number, the last result and its time.
struct CallbackRecord {
  int times = 0;
  int status = 0;  ///< 0: no response
  std::string body;
  HttpFailure failure;
  nanoseconds after{0};
};

struct SimNetwork : testing::Test {
  /// Sends a request with this body and, if one is given, a deadline.
  void Send(CallbackRecord& record, std::string body = "", nanoseconds wait = nanoseconds::max()) {
    HttpRequest request = DynamoRequest("UpdateItem", {});
    request.body = std::move(body);
    SendRequest(record, std::move(request), wait);
  }
  void SendRequest(CallbackRecord& record, HttpRequest request,
                   nanoseconds wait = nanoseconds::max()) {
    const Instant start = scheduler.clock().Now();
    transport.Send(std::move(request), {.deadline = Deadline::After(scheduler.clock(), wait)},
                   [this, &record, start](auto response) {
                     ++record.times;
                     record.after = scheduler.clock().Now() - start;
                     if (response) {
                       record.status = response->status;
                       record.body = response->body;
                     } else {
                       record.failure = response.error();
                     }
                   });
  }
  /// Sends a request with this fault, and runs until no request is in flight.
  CallbackRecord Meet(NetworkFault fault, nanoseconds wait = nanoseconds::max()) {
    CallbackRecord record;
    transport.Script("UpdateItem", ++sent_, fault);
    Send(record, "body", wait);
    EXPECT_TRUE(scheduler.RunAll());
    EXPECT_EQ(record.times, 1);
    EXPECT_EQ(transport.scripted(), 0U);
    return record;
  }
  void SetTrips(nanoseconds shortest, nanoseconds longest) {
    transport.faults.shortest_trip = shortest;
    transport.faults.longest_trip = longest;
  }

  SimScheduler scheduler;
  CountingServer server;
  SimTransport transport{scheduler, server, 7};

 private:
  std::uint64_t sent_ = 0;
};

TEST_F(SimNetwork, AnswersAfterATripThereAndOneBack) {
  SetTrips(milliseconds(3), milliseconds(3));
  CallbackRecord record;
  Send(record, "hello");
  EXPECT_EQ(record.times, 0) << "never before Send returns";
  scheduler.Advance(milliseconds(3));
  EXPECT_THAT(server.seen, ElementsAre("hello"));
  EXPECT_EQ(record.times, 0);
  EXPECT_TRUE(scheduler.RunAll());
  EXPECT_EQ(record.times, 1);
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.body, "1");
  EXPECT_EQ(record.after, milliseconds(6));
}

TEST_F(SimNetwork, ADeadlineThatIsMetLeavesNothingBehind) {
  CallbackRecord record;
  Send(record, "", seconds(100));
  const Instant start = scheduler.clock().Now();
  EXPECT_TRUE(scheduler.RunAll());
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(scheduler.clock().Now(), start) << "no timer is left that would move time";
}

TEST_F(SimNetwork, ARefusedConnectionSurelySentNothing) {
  const CallbackRecord record = Meet(NetworkFault::kRefuse);
  EXPECT_EQ(record.status, 0);
  EXPECT_FALSE(record.failure.maybe_sent);
  EXPECT_FALSE(record.failure.timed_out);
  EXPECT_TRUE(server.seen.empty());
  EXPECT_EQ(transport.counts().refused, 1U);
}

TEST_F(SimNetwork, ALostRequestMayHaveBeenSent) {
  const CallbackRecord record = Meet(NetworkFault::kLoseRequest);
  EXPECT_TRUE(record.failure.maybe_sent);
  EXPECT_FALSE(record.failure.timed_out);
  EXPECT_TRUE(server.seen.empty());
  EXPECT_EQ(transport.counts().lost_requests, 1U);
}

TEST_F(SimNetwork, ALostAnswerWasApplied) {
  const CallbackRecord record = Meet(NetworkFault::kLoseResponse);
  EXPECT_EQ(record.status, 0);
  EXPECT_TRUE(record.failure.maybe_sent);
  EXPECT_EQ(server.seen.size(), 1U);
  EXPECT_EQ(transport.counts().lost_responses, 1U);
}

TEST_F(SimNetwork, SilenceLastsUntilTheDeadline) {
  transport.faults.silence = 1;
  for (const NetworkFault fault : {NetworkFault::kLoseRequest, NetworkFault::kLoseResponse}) {
    const CallbackRecord record = Meet(fault, seconds(2));
    EXPECT_TRUE(record.failure.maybe_sent);
    EXPECT_TRUE(record.failure.timed_out);
    EXPECT_EQ(record.after, seconds(2));
  }
  EXPECT_EQ(transport.counts().timed_out, 2U);
  EXPECT_FALSE(Meet(NetworkFault::kLoseResponse).failure.timed_out) << "without one it breaks";
}

TEST_F(SimNetwork, ADuplicateArrivesTwiceAndIsAnsweredOnce) {
  SetTrips(milliseconds(1), milliseconds(5));
  const CallbackRecord record = Meet(NetworkFault::kDuplicate);
  EXPECT_EQ(record.body, "1");
  EXPECT_THAT(server.seen, ElementsAre("body", "body"));
  EXPECT_EQ(transport.counts().duplicates, 1U);
}

TEST_F(SimNetwork, AStrayRequestIsAppliedLongAfterItsSenderHeardOfABrokenConnection) {
  transport.faults.longest_stray = seconds(60);
  transport.faults.silence = 0;
  CallbackRecord record;
  transport.Script("UpdateItem", 1, NetworkFault::kStray);
  Send(record, "body", seconds(1));
  scheduler.Advance(nanoseconds(1));
  EXPECT_TRUE(record.failure.maybe_sent);
  EXPECT_THAT(server.seen, testing::IsEmpty());
  scheduler.Advance(seconds(60));
  EXPECT_THAT(server.seen, ElementsAre("body"));
  EXPECT_EQ(record.times, 1);
  EXPECT_EQ(transport.counts().strays, 1U);
}

TEST_F(SimNetwork, ATailMakesARequestSlower) {
  SetTrips(std::chrono::milliseconds(1), std::chrono::milliseconds(1));
  transport.faults.tail = 1;
  transport.faults.longest_tail = seconds(10);
  CallbackRecord record;
  Send(record);
  EXPECT_TRUE(scheduler.RunAll());
  EXPECT_EQ(record.status, 200);
  EXPECT_GT(record.after, std::chrono::milliseconds(2));
  EXPECT_LE(record.after, seconds(11));
  EXPECT_EQ(transport.counts().tails, 1U);
}

TEST_F(SimNetwork, FaultsOfWritesAloneSpareReads) {
  transport.faults.fail_after = 1;
  transport.faults.only_writes = true;
  CallbackRecord read;
  CallbackRecord written;
  SendRequest(read, DynamoRequest("BatchGetItem", {}));
  SendRequest(written, DynamoRequest("UpdateItem", {}));
  EXPECT_TRUE(scheduler.RunAll());
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(written.status, 500);
}

TEST_F(SimNetwork, AnErrorOfTheServerComesBeforeOrAfterItApplied) {
  EXPECT_EQ(Meet(NetworkFault::kFailBefore).status, 500);
  EXPECT_EQ(server.seen.size(), 0U);
  const CallbackRecord after = Meet(NetworkFault::kFailAfter);
  EXPECT_EQ(after.status, 500);
  EXPECT_EQ(ReadResponse({.status = 500, .headers = {}, .body = after.body}).error,
            "InternalServerError");
  EXPECT_EQ(server.seen.size(), 1U);
  EXPECT_EQ(transport.counts().failed_before, 1U);
  EXPECT_EQ(transport.counts().failed_after, 1U);
}

TEST_F(SimNetwork, AThrottleIsNotApplied) {
  const CallbackRecord record = Meet(NetworkFault::kThrottle);
  EXPECT_EQ(record.status, 400);
  EXPECT_EQ(ReadResponse({.status = 400, .headers = {}, .body = record.body}).error,
            "ThrottlingException");
  EXPECT_TRUE(server.seen.empty());
  EXPECT_EQ(transport.counts().throttled, 1U);
}

TEST_F(SimNetwork, ANetworkThatIsDownRefusesEverything) {
  transport.faults.down = true;
  CallbackRecord record;
  Send(record);
  EXPECT_TRUE(scheduler.RunAll());
  EXPECT_FALSE(record.failure.maybe_sent);
  transport.faults.down = false;
  Send(record);
  EXPECT_TRUE(scheduler.RunAll());
  EXPECT_EQ(record.status, 200);
}

TEST_F(SimNetwork, AnAnswerAfterTheDeadlineIsNotPassedOn) {
  SetTrips(milliseconds(6), milliseconds(6));
  CallbackRecord record;
  Send(record, "", milliseconds(10));
  EXPECT_TRUE(scheduler.RunAll());
  EXPECT_EQ(record.times, 1);
  EXPECT_TRUE(record.failure.timed_out);
  EXPECT_TRUE(record.failure.maybe_sent);
  EXPECT_EQ(record.after, milliseconds(10));
  EXPECT_EQ(server.seen.size(), 1U);
  EXPECT_EQ(transport.counts().late, 0U);
}

TEST_F(SimNetwork, ARequestMayArriveAfterItsSenderGaveUp) {
  SetTrips(milliseconds(6), milliseconds(6));
  CallbackRecord record;
  Send(record, "", milliseconds(5));
  scheduler.Advance(milliseconds(5));
  EXPECT_TRUE(record.failure.timed_out);
  EXPECT_TRUE(server.seen.empty());
  EXPECT_TRUE(scheduler.RunAll());
  EXPECT_EQ(server.seen.size(), 1U);
  EXPECT_EQ(record.times, 1);
  EXPECT_EQ(transport.counts().late, 1U);
}

TEST_F(SimNetwork, WhatIsLateBeforeItIsSentIsNotSent) {
  CallbackRecord record;
  Send(record, "", nanoseconds(0));
  EXPECT_EQ(record.times, 0);
  EXPECT_TRUE(scheduler.RunAll());
  EXPECT_EQ(record.times, 1);
  EXPECT_TRUE(record.failure.timed_out);
  EXPECT_FALSE(record.failure.maybe_sent);
  EXPECT_TRUE(server.seen.empty());
}

TEST_F(SimNetwork, RequestsOvertakeEachOther) {
  SetTrips(milliseconds(1), milliseconds(100));
  std::vector<CallbackRecord> record(20);
  for (std::size_t i = 0; i < record.size(); ++i) Send(record[i], std::to_string(i));
  EXPECT_TRUE(scheduler.RunAll());
  EXPECT_EQ(server.seen.size(), 20U);
  EXPECT_NE(server.seen.front(), "0");
  EXPECT_GT(transport.counts().reordered, 0U);
}

TEST_F(SimNetwork, WhatIsUnderWayOutlivesItsTransport) {
  auto other = std::make_unique<SimTransport>(scheduler, server, 1);
  int responses = 0;
  other->Send(DynamoRequest("GetItem", {}),
              {.deadline = Deadline::After(scheduler.clock(), seconds(1))},
              [&responses](const auto& response) { responses += response ? 1 : 100; });
  other.reset();
  EXPECT_TRUE(scheduler.RunAll());
  EXPECT_EQ(server.seen.size(), 1U);
  EXPECT_EQ(responses, 1);
}

TEST_F(SimNetwork, AScriptNamesARequestByItsOperationOrByItsNumberAlone) {
  transport.Script("UpdateItem", 2, NetworkFault::kLoseResponse);
  transport.Script("", 4, NetworkFault::kRefuse);
  const std::vector<std::string> operations = {"UpdateItem", "GetItem", "UpdateItem", "UpdateItem",
                                               "UpdateItem"};
  std::vector<CallbackRecord> record(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    SendRequest(record[i], DynamoRequest(operations[i], {}));
    EXPECT_TRUE(scheduler.RunAll());
  }
  EXPECT_EQ(record[0].status, 200);
  EXPECT_EQ(record[1].status, 200);
  EXPECT_TRUE(record[2].failure.maybe_sent);
  EXPECT_EQ(record[3].failure.message, "simulated network: connection refused");
  EXPECT_EQ(record[4].status, 200);
  EXPECT_EQ(transport.scripted(), 0U);
}

TEST(SimNetworkWithDynamo, TheThirdUpdateIsAppliedAndItsAnswerLost) {
  SimScheduler scheduler;
  SimDynamo dynamo(scheduler.clock(), 1);
  dynamo.Handle(DynamoRequest("CreateTable", LimitsTable()));
  SimTransport transport(scheduler, dynamo, 2);
  transport.Script("UpdateItem", 3, NetworkFault::kLoseResponse);
  const auto add = nlohmann::json::parse(
      R"({"TableName":"t","Key":{"PK":{"S":"a"},"SK":{"S":"1"}},"ReturnValues":"ALL_NEW",
          "UpdateExpression":"ADD n :1","ExpressionAttributeValues":{":1":{"N":"1"}}})");
  std::vector<std::string> responses;
  for (int i = 0; i < 4; ++i) {
    transport.Send(DynamoRequest("UpdateItem", add), {}, [&responses](auto response) {
      responses.push_back(response ? ReadResponse(*response).body["Attributes"]["n"]["N"] : "lost");
    });
    EXPECT_TRUE(scheduler.RunAll());
  }
  EXPECT_THAT(responses, ElementsAre("1", "2", "lost", "4"));
  EXPECT_EQ(dynamo.counts().Requests("UpdateItem"), 4U);
}

NetworkFaults EveryFault() {
  return {.refuse = 0.1,
          .lose_request = 0.1,
          .lose_response = 0.1,
          .duplicate = 0.1,
          .fail_before = 0.1,
          .fail_after = 0.1,
          .throttle = 0.1,
          .shortest_trip = milliseconds(1),
          .longest_trip = milliseconds(20)};
}

struct RunOfMany {
  std::string trace;
  NetworkCounts counts;
  std::vector<int> record;
  std::size_t seen = 0;
};

/// Sends 300 requests, one each millisecond, with deadlines that some of them miss.
RunOfMany RunMany(std::uint64_t seed) {
  SimScheduler scheduler(seed);
  CountingServer server;
  SimTransport transport(scheduler, server, seed);
  transport.faults = EveryFault();
  RunOfMany run{.trace = "", .counts = {}, .record = std::vector<int>(300)};
  for (std::size_t i = 0; i < run.record.size(); ++i) {
    const Deadline deadline = Deadline::After(scheduler.clock(), milliseconds(30));
    transport.Send(
        DynamoRequest("UpdateItem", {{"i", i}}), {.deadline = deadline}, [&, i](auto response) {
          ++run.record[i];
          run.trace += std::to_string(scheduler.clock().Now().nanos) + " " + std::to_string(i) +
                       " " + (response ? response->body : response.error().message) + "\n";
        });
    scheduler.Advance(milliseconds(1));
  }
  EXPECT_TRUE(scheduler.RunAll());
  run.counts = transport.counts();
  run.seen = server.seen.size();
  return run;
}

TEST(SimNetworkSeed, ReplaysARunAndAnotherSeedGivesAnother) {
  EXPECT_EQ(RunMany(1).trace, RunMany(1).trace);
  EXPECT_NE(RunMany(1).trace, RunMany(2).trace);
}

TEST(SimNetworkSeed, EveryFaultFires) {
  const NetworkCounts counts = RunMany(3).counts;
  EXPECT_EQ(counts.requests, 300U);
  EXPECT_GT(counts.refused, 0U);
  EXPECT_GT(counts.lost_requests, 0U);
  EXPECT_GT(counts.lost_responses, 0U);
  EXPECT_GT(counts.duplicates, 0U);
  EXPECT_GT(counts.failed_before, 0U);
  EXPECT_GT(counts.failed_after, 0U);
  EXPECT_GT(counts.throttled, 0U);
  EXPECT_GT(counts.timed_out, 0U);
  EXPECT_GT(counts.reordered, 0U);
}

// Fails if: the response of a duplicate or a late response is passed on too, or a silent loss never
// ends.
RC_GTEST_PROP(SimNetworkProperty, EachRequestIsToldOnceAndArrivesAsOftenAsTheCountsSay, ()) {
  const RunOfMany run = RunMany(*rc::gen::arbitrary<std::uint64_t>());
  for (const int record : run.record) RC_ASSERT(record == 1);
  const NetworkCounts& counts = run.counts;
  RC_ASSERT(run.seen == counts.requests + counts.duplicates - counts.refused -
                            counts.lost_requests - counts.failed_before - counts.throttled);
}

// Fails if: a fault of one request changes the draws of later requests.
RC_GTEST_PROP(SimNetworkProperty, OneMoreFaultLeavesTheOtherTripsAsTheyWere, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto trip_of_the_second = [seed](NetworkFault first) {
    SimScheduler scheduler;
    CountingServer server;
    SimTransport transport(scheduler, server, seed);
    transport.faults.longest_trip = milliseconds(50);
    transport.Script("", 1, first);
    nanoseconds trip{0};
    const Instant start = scheduler.clock().Now();
    transport.Send({}, {}, [](const auto&) {});
    transport.Send({}, {}, [&](const auto&) { trip = scheduler.clock().Now() - start; });
    scheduler.RunAll();
    return trip;
  };
  RC_ASSERT(trip_of_the_second(NetworkFault::kNone) ==
            trip_of_the_second(NetworkFault::kDuplicate));
  RC_ASSERT(trip_of_the_second(NetworkFault::kNone) == trip_of_the_second(NetworkFault::kRefuse));
}

}  // namespace
}  // namespace weir::sim
