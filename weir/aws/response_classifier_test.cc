#include "weir/aws/response_classifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr AttemptContext kContext = {"UpdateItem", "dynamodb.eu-west-1.amazonaws.com", 64};
// Its crc32 is cbf43926, the check value in every description of the algorithm.
constexpr const char* kCheckValue = "123456789";

Attempt AttemptAfter(HttpResponse response) {
  return ClassifyResponse(std::move(response), kContext);
}
Attempt Lost(HttpFailure failure) {
  return ClassifyResponse(tl::unexpected(std::move(failure)), kContext);
}

std::string Body(std::string_view code, std::string_view more) {
  return R"({"__type":"com.amazonaws.dynamodb.v20120810#)" + std::string(code) + "\"" +
         std::string(more) + "}";
}

TEST(ClassifyResponse, AGoodAnswerIsItsBody) {
  const Attempt attempt = AttemptAfter({.status = 200, .body = "{}"});
  ASSERT_TRUE(attempt.result);
  EXPECT_EQ(*attempt.result, "{}");
  EXPECT_FALSE(attempt.timed_out);
  EXPECT_EQ(attempt.server_time, std::nullopt);
}

TEST(ClassifyResponse, TheServersTimeComesAlong) {
  const HttpHeader date{"date", "Sun, 06 Nov 1994 08:49:37 GMT"};
  EXPECT_EQ(AttemptAfter({.status = 200, .headers = {date}}).server_time,
            UnixMillis{784'111'777'000});
  EXPECT_EQ(AttemptAfter({.status = 400, .headers = {date}}).server_time,
            UnixMillis{784'111'777'000});
  EXPECT_EQ(AttemptAfter({.status = 200, .headers = {{"date", "today"}}}).server_time,
            std::nullopt);
}

TEST(ClassifyResponse, ARefusalSaysWhatWhereAndWhy) {
  const Attempt attempt = AttemptAfter(
      {.status = 400, .body = Body("ThrottlingException", R"(,"message":"Slow down")")});
  ASSERT_FALSE(attempt.result);
  const AwsFailure& failure = attempt.result.error();
  EXPECT_EQ(failure.kind, FailureClass::kThrottle);
  EXPECT_EQ(failure.code, "ThrottlingException");
  EXPECT_EQ(failure.http_status, 400);
  EXPECT_EQ(failure.message,
            "UpdateItem at dynamodb.eu-west-1.amazonaws.com: 400 ThrottlingException: Slow down");
}

TEST(ClassifyResponse, ARefusalNamesTheRequestAsTheServiceLoggedIt) {
  const auto message = [](HttpHeader header) {
    return AttemptAfter({.status = 400,
                         .headers = {std::move(header)},
                         .body = Body("ThrottlingException", R"(,"message":"Slow down")")})
        .result.error()
        .message;
  };
  const std::string refused =
      "UpdateItem at dynamodb.eu-west-1.amazonaws.com: 400 ThrottlingException: Slow down";
  EXPECT_EQ(message({"x-amzn-requestid", "4KBNVRGD25RG1KEO9UT4V3FQDJVV4KQNSO5AEMVJF66Q9ASUAAJG"}),
            refused + " (request 4KBNVRGD25RG1KEO9UT4V3FQDJVV4KQNSO5AEMVJF66Q9ASUAAJG)");
  EXPECT_EQ(message({"x-amz-request-id", "79104EXAMPLEB723"}),
            refused + " (request 79104EXAMPLEB723)");
  EXPECT_EQ(message({"x-amzn-requestid", "an id\nof two lines"}), refused);
  EXPECT_EQ(message({"x-amzn-requestid", std::string(129, 'A')}), refused);
}

TEST(ClassifyResponse, AnAnswerThatIsNotJsonGoesByItsStatus) {
  const Attempt attempt = AttemptAfter({.status = 502, .body = "<html>Bad Gateway</html>"});
  EXPECT_EQ(attempt.result.error().kind, FailureClass::kAmbiguous);
  EXPECT_EQ(attempt.result.error().message, "UpdateItem at dynamodb.eu-west-1.amazonaws.com: 502");
}

TEST(ClassifyResponse, AnErrorInXmlIsReadAsWell) {
  const auto refused = [](std::string_view code) {
    return AttemptAfter({.status = 403,
                         .body = "<ErrorResponse><Error><Code>" + std::string(code) +
                                 "</Code><Message>WHY</Message></Error></ErrorResponse>"})
        .result.error();
  };
  EXPECT_EQ(refused("AccessDenied").message,
            "UpdateItem at dynamodb.eu-west-1.amazonaws.com: 403 AccessDenied: WHY");
  EXPECT_EQ(refused("AccessDenied").kind, FailureClass::kAuth);
  EXPECT_EQ(refused("SlowDown").kind, FailureClass::kThrottle);
  EXPECT_EQ(refused("SignatureDoesNotMatch").message,
            "UpdateItem at dynamodb.eu-west-1.amazonaws.com: 403 SignatureDoesNotMatch")
      << "the words may repeat what was signed";
}

TEST(ClassifyResponse, NoAnswerIsAmbiguousOnlyIfTheRequestMayHaveArrived) {
  const Attempt sent = Lost({.maybe_sent = true, .timed_out = true, .message = "timed out: h"});
  EXPECT_EQ(sent.result.error().kind, FailureClass::kAmbiguous);
  EXPECT_EQ(sent.result.error().message, "UpdateItem: timed out: h");
  EXPECT_EQ(sent.result.error().http_status, 0);
  EXPECT_TRUE(sent.timed_out);
  const Attempt unsent = Lost({.maybe_sent = false, .message = "refused"});
  EXPECT_EQ(unsent.result.error().kind, FailureClass::kTransient);
  EXPECT_FALSE(unsent.timed_out);
}

TEST(ClassifyResponse, TheChecksumMustBeTheBodys) {
  const auto with = [](int status, std::string crc32) {
    return AttemptAfter(
        {.status = status, .headers = {{"x-amz-crc32", std::move(crc32)}}, .body = kCheckValue});
  };
  EXPECT_TRUE(with(200, "3421780262").result);
  for (const int status : {200, 400, 500}) {
    const Attempt damaged = with(status, "3421780263");
    ASSERT_FALSE(damaged.result);
    EXPECT_EQ(damaged.result.error().kind, FailureClass::kAmbiguous);
    EXPECT_THAT(damaged.result.error().message, HasSubstr("damaged"));
  }
  EXPECT_FALSE(with(200, "").result);
  EXPECT_EQ(with(400, "3421780262").result.error().kind, FailureClass::kPermanent);
}

TEST(ClassifyResponse, TheBodyOfARefusalIsKept) {
  const std::string body = Body("ConditionalCheckFailedException", R"(,"Item":{"a":{"N":"1"}})");
  EXPECT_EQ(AttemptAfter({.status = 400, .body = body}).result.error().body, body);
}

TEST(ClassifyResponse, ALongBodyIsLeftOutUnlessItHoldsImages) {
  const std::string filler = R"(,"x":")" + std::string(100, 'x') + "\"";
  const auto body_of = [&](std::string_view code) {
    return AttemptAfter({.status = 400, .body = Body(code, filler)}).result.error().body;
  };
  EXPECT_THAT(body_of("ValidationException"), IsEmpty());
  EXPECT_THAT(body_of("ConditionalCheckFailedException"), Not(IsEmpty()));
  EXPECT_THAT(body_of("TransactionCanceledException"), Not(IsEmpty()));
  EXPECT_THAT(body_of("TransactionConflictException"), Not(IsEmpty()));
  EXPECT_EQ(AttemptAfter({.status = 400, .body = Body("ValidationException", filler)})
                .result.error()
                .code,
            "ValidationException");
}

TEST(ClassifyResponse, WhatWasSignedIsNotRepeated) {
  const std::string told = R"(,"message":"expected x-amz-security-token:TOKEN")";
  for (const char* code : {"InvalidSignatureException", "ExpiredTokenException"}) {
    const Attempt attempt = AttemptAfter({.status = 400, .body = Body(code, told)});
    const AwsFailure& failure = attempt.result.error();
    EXPECT_EQ(failure.kind, FailureClass::kAuth);
    EXPECT_THAT(failure.message, HasSubstr(code));
    EXPECT_THAT(failure.message, Not(HasSubstr("TOKEN")));
    EXPECT_THAT(failure.body, IsEmpty());
  }
  const Attempt unknown = AttemptAfter({.status = 403, .body = R"({"message":"TOKEN"})"});
  EXPECT_THAT(unknown.result.error().message, Not(HasSubstr("TOKEN")));
}

TEST(ClassifyResponse, AMissingPermissionIsExplained) {
  const Attempt attempt = AttemptAfter(
      {.status = 400,
       .body = Body("AccessDeniedException", R"(,"message":"not authorized: UpdateItem")")});
  EXPECT_THAT(attempt.result.error().message, HasSubstr("not authorized: UpdateItem"));
}

}  // namespace
}  // namespace weir
