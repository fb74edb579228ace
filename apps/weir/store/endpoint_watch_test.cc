#include "apps/weir/store/endpoint_watch.h"

#include <gtest/gtest.h>

#include <deque>

#include "weir/sim/sim_scheduler.h"

namespace weir::app {
namespace {

class EndpointWatchTest : public testing::Test, public JsonClient {
 protected:
  void Call(JsonCall, Deadline, JsonDone done) override { waiting_.push_back(std::move(done)); }
  void Ask() {
    watch_.Call({}, Deadline::Never(), [this](auto) { ++done_; });
  }
  void WriteResult(tl::expected<JsonReply, AwsFailure> reply) {
    waiting_.front()(std::move(reply));
    waiting_.pop_front();
  }
  static tl::expected<JsonReply, AwsFailure> Failure(int status, const std::string& message) {
    return tl::unexpected(AwsFailure{.message = message, .http_status = status});
  }

  sim::SimClock clock_;
  std::deque<JsonDone> waiting_;
  int done_ = 0;
  EndpointWatch watch_{*this, clock_, "http://localhost:1"};
};

// U9. Fails if: a call that fails without a response ends the silence.
TEST_F(EndpointWatchTest, U9SilenceLastsUntilTheServiceAnswers) {
  EXPECT_FALSE(watch_.CurrentOutage());
  Ask();
  clock_.Advance(milliseconds(700));
  WriteResult(Failure(0, "connection refused"));
  Ask();
  clock_.Advance(milliseconds(800));
  ASSERT_TRUE(watch_.CurrentOutage());
  EXPECT_EQ(watch_.CurrentOutage()->length, milliseconds(1500));
  EXPECT_EQ(watch_.CurrentOutage()->cause, "connection refused");
  EXPECT_TRUE(watch_.CurrentOutage()->never_reached);
  WriteResult(JsonReply{});
  EXPECT_FALSE(watch_.CurrentOutage());
  EXPECT_EQ(done_, 2);
}

TEST_F(EndpointWatchTest, U9ARefusalIsAnAnswer) {
  Ask();
  WriteResult(Failure(400, "no such stream"));
  EXPECT_FALSE(watch_.CurrentOutage());
  Ask();
  clock_.Advance(milliseconds(10));
  ASSERT_TRUE(watch_.CurrentOutage());
  EXPECT_FALSE(watch_.CurrentOutage()->never_reached);
  WriteResult(JsonReply{});
}

// Q4. Fails if: a service that only fails counts as one that responds, or as one that does not
// exist.
TEST_F(EndpointWatchTest, Q4AnErrorOfTheServerEndsNoSilence) {
  Ask();
  clock_.Advance(milliseconds(900));
  WriteResult(Failure(503, "503 ServiceUnavailable"));
  Ask();
  clock_.Advance(milliseconds(600));
  ASSERT_TRUE(watch_.CurrentOutage());
  EXPECT_EQ(watch_.CurrentOutage()->length, milliseconds(1500));
  EXPECT_EQ(watch_.CurrentOutage()->cause, "503 ServiceUnavailable");
  EXPECT_TRUE(watch_.CurrentOutage()->server_error);
  EXPECT_FALSE(watch_.CurrentOutage()->never_reached);
  WriteResult(Failure(429, "slow down"));
  EXPECT_FALSE(watch_.CurrentOutage());
}

// Fails if: a silence grows without end although no call is made.
TEST_F(EndpointWatchTest, ASilenceDoesNotGrowBeyondTheDelayOfARetry) {
  Ask();
  clock_.Advance(milliseconds(700));
  WriteResult(Failure(0, "connection refused"));
  clock_.Advance(std::chrono::hours(1));
  ASSERT_TRUE(watch_.CurrentOutage());
  EXPECT_EQ(watch_.CurrentOutage()->length, milliseconds(700) + kLongestRetryDelay);
  Ask();
  EXPECT_EQ(watch_.CurrentOutage()->length, nanoseconds(0))
      << "the service was not asked for an hour";
  clock_.Advance(milliseconds(300));
  EXPECT_EQ(watch_.CurrentOutage()->length, milliseconds(300));
  WriteResult(JsonReply{});
}

// A retry after a pause continues the silence.
TEST_F(EndpointWatchTest, TheDelaysOfRetriesBelongToTheSilence) {
  Ask();
  WriteResult(Failure(0, "connection refused"));
  clock_.Advance(milliseconds(900));
  EXPECT_EQ(watch_.CurrentOutage()->length, milliseconds(900));
  Ask();
  WriteResult(Failure(0, "connection refused"));
  EXPECT_EQ(watch_.CurrentOutage()->length, milliseconds(900));
}

// Fails if: a response ends the silence of calls that are still pending.
TEST_F(EndpointWatchTest, OtherPendingCallsAreSilentSinceTheLastResponse) {
  Ask();
  Ask();
  clock_.Advance(milliseconds(500));
  WriteResult(JsonReply{});
  clock_.Advance(milliseconds(1500));
  ASSERT_TRUE(watch_.CurrentOutage());
  EXPECT_EQ(watch_.CurrentOutage()->length, milliseconds(1500));
  WriteResult(JsonReply{});
  EXPECT_FALSE(watch_.CurrentOutage());
}

}  // namespace
}  // namespace weir::app
