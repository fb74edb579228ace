#include "weir/aws/credentials/caller_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "weir/aws/retrying_client.h"
#include "weir/aws/testing/scripted_aws.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

using testing::HasSubstr;

// The example of the API reference.
constexpr char kCaller[] =
    "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
    "<GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/Alice</Arn>"
    "<UserId>AIDACKCEVSQ6C2EXAMPLE</UserId><Account>123456789012</Account>"
    "</GetCallerIdentityResult><ResponseMetadata><RequestId>01234567-89ab-cdef</RequestId>"
    "</ResponseMetadata></GetCallerIdentityResponse>";

class CallerIdentityTest : public testing::Test {
 protected:
  Result<std::string> Arn(int status, std::string body) {
    transport_.always.response = HttpResponse{.status = status, .headers = {}, .body = body};
    Result<std::string> result = Fail(Code::kInternal, "not called");
    GetCallerArn(*client_, Deadline::After(scheduler_.clock(), std::chrono::seconds(3)),
                 [&](Result<std::string> arn) { result = std::move(arn); });
    scheduler_.RunAll();
    return result;
  }

  sim::SimScheduler scheduler_;
  ScriptedTransport transport_{scheduler_};
  ScriptedCredentials credentials_{scheduler_};
  ScriptedSigner signer_;
  std::unique_ptr<JsonClient> client_ = MakeJsonClient(
      {transport_, signer_, credentials_, scheduler_}, {.target_prefix = "", .host = "h"});
};

TEST_F(CallerIdentityTest, ReturnsTheArn) {
  EXPECT_EQ(Arn(200, kCaller).value_or("?"), "arn:aws:iam::123456789012:user/Alice");
  const HttpRequest& request = transport_.requests.at(0);
  EXPECT_EQ(request.method + request.path, "POST/");
  EXPECT_EQ(request.body, "Action=GetCallerIdentity&Version=2011-06-15");
}

TEST_F(CallerIdentityTest, AFailureIsReturned) {
  const auto refused =
      Arn(403,
          "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error>"
          "</ErrorResponse>");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("GetCallerIdentity at h: 403 AccessDenied"));
}

TEST_F(CallerIdentityTest, AResponseWithoutAnArnIsAFailure) {
  for (const char* body : {"", "{}", "<GetCallerIdentityResponse/>"}) {
    EXPECT_EQ(Arn(200, body).error().code, Code::kUnknown) << body;
  }
}

}  // namespace
}  // namespace weir
