// The log events and the counters of the client and of cached credentials.
#include "weir/aws/client_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "weir/aws/client_metrics.h"
#include "weir/aws/credentials/caching_provider.h"
#include "weir/aws/retrying_client.h"
#include "weir/aws/testing/scripted_aws.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/telemetry/testing/recording_log_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ClientEventsTest : public ::testing::Test {
 protected:
  void Call(const char* operation) {
    client_->Call({operation, "{}", true}, Deadline::After(scheduler_.clock(), seconds(30)),
                  [](auto) {});
    EXPECT_TRUE(scheduler_.RunAll(10'000));
  }
  void ScriptThrottle() {
    transport_.script.push_back(
        {HttpResponse{.status = 400, .body = R"({"__type":"a#ThrottlingException"})"}, {}});
  }
  void ScriptDate(std::string date) {
    HttpResponse good{.status = 200, .body = "{}"};
    good.headers.push_back({"date", std::move(date)});
    transport_.script.push_back({std::move(good), {}});
  }

  RecordingLog log_;
  sim::SimScheduler scheduler_;
  ScriptedTransport transport_{scheduler_};
  ScriptedCredentials credentials_{scheduler_};
  ScriptedSigner signer_;
  std::unique_ptr<JsonClient> client_ =
      MakeJsonClient({transport_, signer_, credentials_, scheduler_},
                     {.target_prefix = "DynamoDB_20120810", .host = "h:8000", .log = &log_});
};

// A table that throttles for an hour must not fill the disk with log lines. Fails if: each throttle
// is an event, or no event has the number of suppressed ones.
TEST_F(ClientEventsTest, ThrottlingIsOneEventInTenSecondsThatCountsTheOthers) {
  for (int response = 0; response < 3; ++response) ScriptThrottle();
  Call("UpdateItem");
  EXPECT_THAT(log_.lines(),
              ElementsAre(HasSubstr("warning aws.throttled host=h:8000 operation=UpdateItem "
                                    "code=ThrottlingException message=")));
  EXPECT_THAT(log_.lines().front(), HasSubstr("suppressed=0"));
  scheduler_.Advance(seconds(10));
  ScriptThrottle();
  Call("GetItem");
  ASSERT_EQ(log_.lines().size(), 2U);
  EXPECT_THAT(log_.lines().back(), HasSubstr("suppressed=2"));
}

// Fails if: a step of the service's time, by which buckets refill, is not logged.
TEST_F(ClientEventsTest, AStepOfTheServicesTimeIsAnEvent) {
  ScriptDate("Thu, 01 Jan 2026 00:00:00 GMT");
  Call("GetItem");
  EXPECT_THAT(log_.lines(), IsEmpty());
  for (const char* date : {"Thu, 01 Jan 2026 01:00:06 GMT", "Thu, 01 Jan 2026 01:00:12 GMT",
                           "Thu, 01 Jan 2026 01:00:18 GMT"}) {
    scheduler_.Advance(seconds(6));
    ScriptDate(date);
    Call("GetItem");
  }
  EXPECT_THAT(log_.lines(),
              ElementsAre(HasSubstr("warning clock.service_time_stepped host=h:8000 by_ms=3599")));
}

TEST_F(ClientEventsTest, CallsRetriesAndTimesHaveNamesInARegistry) {
  ScriptThrottle();
  Call("UpdateItem");
  Registry registry;
  ASSERT_TRUE(RegisterMetrics(registry, *client_, "dynamodb"));
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("weir_aws_calls_total{service=\"dynamodb\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_aws_requests_total{service=\"dynamodb\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("weir_aws_retries_total{service=\"dynamodb\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_aws_throttled_total{service=\"dynamodb\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_aws_request_seconds_count{service=\"dynamodb\"} 2\n"));
}

// Completes each call at once with the next one of its results.
class ListedSource final : public CredentialsProvider {
 public:
  explicit ListedSource(std::deque<Result<Credentials>>& results) : results_(results) {}
  void Get(Deadline, Done<Credentials> done) override {
    Result<Credentials> next = std::move(results_.front());
    results_.pop_front();
    done(std::move(next));
  }

 private:
  std::deque<Result<Credentials>>& results_;
};

Credentials Keys(std::string id, std::optional<UnixMillis> expires) {
  return {.access_key_id = std::move(id),
          .secret_access_key = "secret",
          .session_token = "token",
          .expires = expires};
}

class CredentialsEventsTest : public ::testing::Test {
 protected:
  void Ask() {
    cached_->Get(Deadline::After(scheduler_.clock(), seconds(1)),
                 [this](Result<Credentials> got) { last_ = std::move(got); });
  }

  RecordingLog log_;
  sim::SimScheduler scheduler_;
  std::deque<Result<Credentials>> results_;
  std::unique_ptr<CredentialsProvider> cached_ =
      MakeCachedCredentials(std::make_unique<ListedSource>(results_), scheduler_, 1, log_);
  Result<Credentials> last_ = Fail(Code::kUnavailable, "none yet");
};

// Fails if: an operator cannot see that a refresh failed while the old credentials are still valid,
// or an event contains a key.
TEST_F(CredentialsEventsTest, RefreshesAndFailuresAreEventsWithoutKeys) {
  results_ = {Keys("first", scheduler_.clock().WallNow() + milliseconds(hours(1))),
              Fail(Code::kUnavailable, "the source is down"), Keys("second", std::nullopt)};
  Ask();
  EXPECT_THAT(log_.lines(), ElementsAre("info credentials.refreshed expires_in_s=3600"));
  while (results_.size() > 1) scheduler_.Advance(milliseconds(50));
  ASSERT_EQ(log_.lines().size(), 2U);
  EXPECT_THAT(log_.lines()[1],
              HasSubstr("warning credentials.failed message=the source is down retry_after_ms="));
  EXPECT_THAT(log_.lines()[1], HasSubstr("usable=true"));
  while (!results_.empty()) scheduler_.Advance(milliseconds(50));
  ASSERT_EQ(log_.lines().size(), 3U);
  EXPECT_EQ(log_.lines()[2], "info credentials.refreshed");
  for (const std::string& line : log_.lines()) {
    EXPECT_EQ(line.find("first"), line.npos);
    EXPECT_EQ(line.find("secret"), line.npos);
    EXPECT_EQ(line.find("token"), line.npos);
  }
}

TEST_F(CredentialsEventsTest, WhatAwsRefusesIsOneEvent) {
  results_ = {Keys("first", std::nullopt), Keys("second", std::nullopt)};
  Ask();
  cached_->Rejected(*last_);
  cached_->Rejected(*last_);
  Ask();
  EXPECT_THAT(log_.lines(),
              ElementsAre("info credentials.refreshed", "warning credentials.rejected",
                          "info credentials.refreshed"));
}

}  // namespace
}  // namespace weir
