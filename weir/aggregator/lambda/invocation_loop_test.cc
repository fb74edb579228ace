// The loop over invocations and its client, on a scripted runtime API.
#include "weir/aggregator/lambda/invocation_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/aws/testing/scripted_aws.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/telemetry/testing/recording_log_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class InvocationLoopTest : public ::testing::Test {
 protected:
  /// The next response of the API is an invocation.
  void Deliver(const std::string& event, const std::string& id = "a-1") {
    api_.script.push_back(
        {HttpResponse{.status = 200,
                      .headers = {{"lambda-runtime-aws-request-id", id},
                                  {"lambda-runtime-deadline-ms",
                                   std::to_string(scheduler_.clock().WallNow().value + 60'000)}},
                      .body = event}});
  }
  void Reply(int status, const std::string& body = "") {
    api_.script.push_back({HttpResponse{.status = status, .body = body}});
  }
  Error Run() {
    RuntimeClient client(api_, scheduler_.clock());
    return ServeInvocations(
        {.runtime = client,
         .clock = scheduler_.clock(),
         .log = log_,
         .handle = [this](const StreamInvocation& invocation, Done<std::string> done) {
           handled_.push_back(invocation.event);
           deadlines_.push_back(invocation.deadline);
           done(response_);
         }});
  }
  std::vector<std::string> Paths() const {
    std::vector<std::string> paths;
    paths.reserve(api_.requests.size());
    for (const HttpRequest& request : api_.requests) {
      paths.push_back(request.method + ' ' + request.path.substr(request.path.rfind("runtime/")));
    }
    return paths;
  }

  sim::SimScheduler scheduler_;
  ScriptedTransport api_{scheduler_};
  RecordingLog log_;
  Result<std::string> response_ = "{}";
  std::vector<std::string> handled_;
  std::vector<Deadline> deadlines_;
};

TEST_F(InvocationLoopTest, RespondsToEachInvocation) {
  Deliver("one", "a-1");
  Reply(202);
  Deliver("two", "b-2");
  Reply(202);
  Reply(500, "container error");
  const Error ended = Run();
  EXPECT_EQ(ended.code, Code::kUnavailable);
  EXPECT_THAT(ended.message, HasSubstr("the next invocation: status 500: container error"));
  EXPECT_THAT(handled_, ElementsAre("one", "two"));
  EXPECT_THAT(Paths(),
              ElementsAre("GET runtime/invocation/next", "POST runtime/invocation/a-1/response",
                          "GET runtime/invocation/next", "POST runtime/invocation/b-2/response",
                          "GET runtime/invocation/next"));
  EXPECT_EQ(api_.requests[1].body, "{}");
  EXPECT_TRUE(api_.all_limits[0].deadline.is_never()) << "Lambda suspends the process meanwhile";
  EXPECT_FALSE(api_.all_limits[1].deadline.is_never());
}

TEST_F(InvocationLoopTest, TheResponseIsDueBeforeTheDeadline) {
  Deliver("one");
  Reply(202);
  Reply(500);
  static_cast<void>(Run());
  ASSERT_EQ(deadlines_.size(), 1U);
  EXPECT_EQ(deadlines_[0].Left(scheduler_.clock().Now()), seconds(60) - kResponseMargin);
  const Clock& clock = scheduler_.clock();
  EXPECT_TRUE(ResponseDeadline({0}, clock).ExpiredAt(clock.Now()));
  EXPECT_LE(ResponseDeadline({INT64_MAX}, clock).Left(clock.Now()), std::chrono::hours(1));
}

TEST_F(InvocationLoopTest, AnErrorIsReportedAndTheNextInvocationServed) {
  response_ = Fail(Code::kFailedPrecondition, "counted by \"another\"");
  Deliver("one");
  Reply(202);
  Deliver("two");
  Reply(202);
  Reply(500);
  static_cast<void>(Run());
  EXPECT_THAT(Paths()[1], "POST runtime/invocation/a-1/error");
  EXPECT_EQ(api_.requests[1].body,
            R"({"errorMessage":"counted by \"another\"","errorType":"FAILED_PRECONDITION",)"
            R"("stackTrace":[]})");
  EXPECT_THAT(api_.requests[1].headers, Contains(HttpHeader{"lambda-runtime-function-error-type",
                                                            "Weir.FAILED_PRECONDITION"}));
  EXPECT_EQ(handled_.size(), 2U);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("error lambda.invocation_failed request=a-1")));
}

TEST_F(InvocationLoopTest, AResponseThatLambdaRefusesEndsNothing) {
  Deliver("one");
  Reply(400, "InvalidRequestID");
  Deliver("two");
  Reply(202);
  Reply(500);
  static_cast<void>(Run());
  EXPECT_EQ(handled_.size(), 2U);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("warning lambda.report_refused request=a-1")));
}

// Fails if: the process goes on although Lambda does not know the result of an invocation.
TEST_F(InvocationLoopTest, AResponseThatIsLostEndsTheLoop) {
  Deliver("one");
  api_.script.push_back({tl::unexpected(HttpFailure{true, false, "broken: h"})});
  EXPECT_THAT(Run().message, HasSubstr("Lambda's runtime API: broken: h"));
  EXPECT_EQ(handled_.size(), 1U);
}

TEST_F(InvocationLoopTest, AnInvocationMustHaveAnIdAndADeadline) {
  for (const char* id : {"", "a/../b", "a b"}) {
    Deliver("one", id);
    EXPECT_EQ(Run().code, Code::kDataLoss) << id;
  }
  api_.script.push_back(
      {HttpResponse{.status = 200, .headers = {{"lambda-runtime-aws-request-id", "a"}}}});
  EXPECT_EQ(Run().code, Code::kDataLoss);
  EXPECT_TRUE(handled_.empty());
}

TEST_F(InvocationLoopTest, AFailedStartIsReported) {
  Reply(202);
  RuntimeClient client(api_, scheduler_.clock());
  ASSERT_TRUE(client.ReportInitError({Code::kInvalidArgument, "TABLE_NAME is not set"}));
  EXPECT_THAT(Paths(), ElementsAre("POST runtime/init/error"));
  EXPECT_THAT(api_.requests[0].body, HasSubstr("TABLE_NAME is not set"));
}

}  // namespace
}  // namespace weir::dynamo
