#include "weir/aws/failure.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace weir {
namespace {

using enum FailureClass;
using ::testing::IsEmpty;

HttpResponse WithBody(std::string body) { return {.status = 400, .body = std::move(body)}; }
HttpResponse WithType(std::string type) {
  return {.status = 400, .headers = {{"x-amzn-errortype", std::move(type)}}};
}

TEST(HttpResponse, HeaderGivesTheFirstOfThatName) {
  const HttpResponse response{.status = 200, .headers = {{"a", "1"}, {"b", "2"}, {"b", "3"}}};
  ASSERT_NE(response.Header("b"), nullptr);
  EXPECT_EQ(*response.Header("b"), "2");
  EXPECT_EQ(response.Header("c"), nullptr);
}

struct Case {
  int status;
  std::string_view code;
  FailureClass kind;
};

class ClassifyTest : public ::testing::TestWithParam<Case> {};

TEST_P(ClassifyTest, SaysWhatToDo) {
  EXPECT_EQ(Classify(GetParam().status, GetParam().code), GetParam().kind) << GetParam().code;
}

INSTANTIATE_TEST_SUITE_P(
    DynamoDb, ClassifyTest,
    ::testing::Values(Case{400, "ProvisionedThroughputExceededException", kThrottle},
                      Case{400, "ThrottlingException", kThrottle},
                      Case{400, "RequestLimitExceeded", kThrottle},
                      Case{400, "ConditionalCheckFailedException", kConditional},
                      Case{400, "TransactionCanceledException", kConditional},
                      Case{400, "TransactionConflictException", kConflict},
                      Case{400, "ReplicatedWriteConflictException", kConflict},
                      Case{400, "TransactionInProgressException", kAmbiguous},
                      Case{500, "InternalServerError", kAmbiguous},
                      Case{503, "ServiceUnavailable", kAmbiguous},
                      Case{400, "ValidationException", kPermanent},
                      Case{400, "ResourceNotFoundException", kPermanent},
                      Case{400, "ResourceInUseException", kPermanent},
                      Case{400, "SerializationException", kPermanent},
                      Case{400, "ItemCollectionSizeLimitExceededException", kPermanent},
                      Case{400, "IdempotentParameterMismatchException", kPermanent},
                      Case{400, "LimitExceededException", kPermanent}));

INSTANTIATE_TEST_SUITE_P(Kinesis, ClassifyTest,
                         ::testing::Values(Case{400, "KMSThrottlingException", kThrottle},
                                           Case{400, "KMSAccessDeniedException", kAuth},
                                           Case{400, "KMSDisabledException", kPermanent},
                                           Case{400, "InvalidArgumentException", kPermanent},
                                           Case{400, "ExpiredIteratorException", kPermanent},
                                           Case{500, "InternalFailureException", kAmbiguous}));

INSTANTIATE_TEST_SUITE_P(Sqs, ClassifyTest,
                         ::testing::Values(Case{403, "OverLimit", kThrottle},
                                           Case{400, "KmsThrottled", kThrottle},
                                           Case{400, "KMS.ThrottlingException", kThrottle},
                                           Case{400, "KmsAccessDenied", kAuth},
                                           Case{400, "QueueDoesNotExist", kPermanent}));

INSTANTIATE_TEST_SUITE_P(EveryService, ClassifyTest,
                         ::testing::Values(Case{400, "Throttling", kThrottle},
                                           Case{403, "RequestThrottled", kThrottle},
                                           Case{503, "SlowDown", kThrottle},
                                           Case{400, "RequestTimeout", kAmbiguous},
                                           Case{403, "RequestTimeTooSkewed", kAuth},
                                           Case{403, "InvalidSignatureException", kAuth},
                                           Case{400, "ExpiredTokenException", kAuth},
                                           Case{400, "UnrecognizedClientException", kAuth},
                                           Case{400, "AccessDeniedException", kAuth},
                                           Case{403, "MissingAuthenticationToken", kAuth},
                                           Case{404, "UnknownOperationException", kPermanent}));

INSTANTIATE_TEST_SUITE_P(
    UnknownCodesGoByTheStatus, ClassifyTest,
    ::testing::Values(Case{429, "", kThrottle}, Case{500, "", kAmbiguous},
                      Case{502, "", kAmbiguous}, Case{503, "NewFailure", kAmbiguous},
                      Case{504, "", kAmbiguous}, Case{408, "", kAmbiguous}, Case{401, "", kAuth},
                      Case{403, "", kAuth}, Case{400, "", kPermanent}, Case{413, "", kPermanent},
                      Case{301, "", kPermanent}, Case{400, "NewException", kPermanent}));

TEST(Classify, ALimitMetByAReadIsAThrottleAndByAChangeIsPermanent) {
  EXPECT_EQ(Classify(400, "LimitExceededException", "DescribeStream"), kThrottle);
  EXPECT_EQ(Classify(400, "LimitExceededException", "ListShards"), kThrottle);
  EXPECT_EQ(Classify(400, "LimitExceededException", "CreateTable"), kPermanent);
  EXPECT_EQ(Classify(400, "LimitExceededException", "UpdateTable"), kPermanent);
}

// Fails if: a 5xx with an unknown code is classified as kTransient ("certainly not applied").
RC_GTEST_PROP(ClassifyProperty, NoServerErrorIsSurelyNotAppliedUnlessItsCodeSaysSo,
              (const std::string& code)) {
  const int status = *rc::gen::inRange(500, 600);
  const FailureClass kind = Classify(status, code);
  if (kind != kAmbiguous) RC_ASSERT(Classify(400, code) == kind);
  RC_ASSERT(kind != kTransient && kind != kDeadline);
}

TEST(RemedyOf, TellsCredentialsFromClocks) {
  EXPECT_EQ(RemedyOf("ExpiredTokenException"), AuthRemedy::kFreshCredentials);
  EXPECT_EQ(RemedyOf("UnrecognizedClientException"), AuthRemedy::kFreshCredentials);
  EXPECT_EQ(RemedyOf("RequestTimeTooSkewed"), AuthRemedy::kCorrectClock);
  EXPECT_EQ(RemedyOf("InvalidSignatureException"), AuthRemedy::kCorrectClockIfWrong);
  EXPECT_EQ(RemedyOf("AccessDeniedException"), AuthRemedy::kNone);
  EXPECT_EQ(RemedyOf("ThrottlingException"), AuthRemedy::kNone);
}

TEST(IsPermissionDenied, IsNotABadSignature) {
  EXPECT_TRUE(IsPermissionDenied("AccessDeniedException"));
  EXPECT_FALSE(IsPermissionDenied("InvalidSignatureException"));
  EXPECT_FALSE(IsPermissionDenied(""));
}

TEST(ErrorCode, ComesFromTheBodyWithOrWithoutNamespace) {
  EXPECT_EQ(ErrorCode(WithBody(
                R"({"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"})")),
            "ResourceNotFoundException");
  EXPECT_EQ(ErrorCode(WithBody(R"({"__type":"SerializationException","message":"m"})")),
            "SerializationException");
  EXPECT_EQ(ErrorCode(WithBody(R"({"Item":{"a":{"S":"__type"}},"__type":"a.b#X"})")), "X");
}

TEST(ErrorCode, ComesFromTheHeaderWhereTheBodyHasNone) {
  EXPECT_EQ(ErrorCode(WithType("ThrottlingException")), "ThrottlingException");
  EXPECT_EQ(ErrorCode(WithType("X:http://internal.amazon.com/coral/com.amazon.coral.validate/")),
            "X");
  EXPECT_EQ(ErrorCode(WithType("a.b#X:http://internal.amazon.com/#/")), "X");
  HttpResponse both = WithType("OfTheHeader");
  both.body = R"({"__type":"OfTheBody"})";
  EXPECT_EQ(ErrorCode(both), "OfTheBody");
}

TEST(ErrorCode, IsEmptyWhereThereIsNone) {
  for (const char* body :
       {"", "<html>502</html>", "[]", "{}", "7", R"({"__type":7})", R"({"inner":{"__type":"X"}})",
        R"({"__type":"<script>"})", R"({"__type":"X":*"message":"m"})", R"({"__type":"X")"}) {
    EXPECT_THAT(ErrorCode(WithBody(body)), IsEmpty()) << body;
  }
  EXPECT_THAT(ErrorCode(WithType(std::string(129, 'x'))), IsEmpty());
}

HttpResponse WithCbor(const nlohmann::json& body) {
  const auto bytes = nlohmann::json::to_cbor(body);
  return {.status = 400, .body = {bytes.begin(), bytes.end()}};
}

TEST(ErrorCode, ComesFromCborAsWell) {
  HttpResponse response = WithCbor({{"inner", {{"__type", "Y"}}},
                                    {"message", "one\ntwo"},
                                    {"__type", "com.amazonaws.kinesis#ExpiredTokenException"}});
  EXPECT_EQ(ErrorCode(response), "ExpiredTokenException");
  EXPECT_EQ(ErrorText(response), "one");
  EXPECT_EQ(ErrorText(WithCbor({{"Message", "of old"}, {"at", 1.5}})), "of old");
  EXPECT_EQ(ErrorText(WithCbor({{"Message", "second"}, {"message", "first"}})), "first");
  EXPECT_EQ(ErrorText(WithCbor({{"message", 7}, {"Message", "a text"}})), "a text");
  response.headers = {{"x-amzn-errortype", "OfTheHeader"}};
  EXPECT_EQ(ErrorCode(response), "ExpiredTokenException");
  response.body.pop_back();
  EXPECT_EQ(ErrorCode(response), "OfTheHeader") << "a body that is cut says nothing";
  EXPECT_THAT(ErrorText(response), IsEmpty());
}

TEST(ErrorCode, IsEmptyWhereCborHasNone) {
  for (const nlohmann::json& body : {nlohmann::json::object(),
                                     {{"__type", 7}},
                                     {{"__type", "<b>"}},
                                     {{"inner", {{"__type", "X"}}}}}) {
    EXPECT_THAT(ErrorCode(WithCbor(body)), IsEmpty()) << body;
  }
  EXPECT_THAT(ErrorCode(WithBody("\xa1\x66__type\x61X!")), IsEmpty());
  EXPECT_EQ(ErrorCode(WithBody("\xbf\x66__type\x7f\x61X\x61Y\xff\xff")), "XY");
}

constexpr const char* kXml =
    "<ErrorResponse><Errors><Error><Code>SignatureDoesNotMatch</Code><Message>one\ntwo</Message>"
    "</Error></Errors></ErrorResponse>";

TEST(ErrorCode, ComesFromXmlAsWell) {
  EXPECT_EQ(ErrorCode(WithBody(kXml)), "SignatureDoesNotMatch");
  EXPECT_EQ(ErrorText(WithBody(kXml)), "one");
  EXPECT_THAT(ErrorCode(WithBody("<Error><Code>&lt;b&gt;</Code></Error>")), IsEmpty());
  EXPECT_EQ(ErrorText(WithBody("<Error><Code>X</Code><Message>a\tb</Message></Error>")), "a?b");
}

TEST(ErrorText, IsTheFirstLineOfTheMessage) {
  EXPECT_EQ(ErrorText(WithBody(R"({"message":"rate exceeded"})")), "rate exceeded");
  EXPECT_EQ(ErrorText(WithBody(R"({"__type":"X","Message":"of old"})")), "of old");
  EXPECT_EQ(ErrorText(WithBody(R"({"message":"one\ntwo"})")), "one");
  EXPECT_EQ(ErrorText(WithBody(R"({"message":"a\tb\u00e9"})")), "a?b??");
  EXPECT_EQ(ErrorText(WithBody(R"({"message":")" + std::string(5000, 'x') + R"("})")).size(), 300U);
  EXPECT_THAT(ErrorText(WithBody("not json")), IsEmpty());
}

// Fails if: unprintable characters stay in the text, or the characters of the code are not checked.
RC_GTEST_PROP(ErrorTextProperty, WhateverComesGoesInAMessageOfOneLine, (const std::string& body)) {
  std::string escaped;
  for (const auto byte : *rc::gen::arbitrary<std::vector<std::uint8_t>>()) {
    escaped += fmt::format("\\u{:04x}", byte);
  }
  const std::string message =
      R"({"message":")" + escaped + R"(\u0007","__type":")" + escaped + "\"}";
  for (const HttpResponse& response : {WithBody(body), WithType(body), WithBody(message)}) {
    for (const std::string& shown : {ErrorText(response), ErrorCode(response)}) {
      RC_ASSERT(shown.size() <= 300U);
      for (const char c : shown) RC_ASSERT(c >= ' ' && c <= '~');
    }
  }
}

TEST(FailureName, IsOneWordForEach) {
  std::set<std::string_view> names;
  for (const FailureClass kind :
       {kThrottle, kTransient, kAmbiguous, kConditional, kConflict, kPermanent, kAuth, kDeadline}) {
    names.insert(Name(kind));
  }
  EXPECT_EQ(names.size(), 8U);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(CodeOf, IsNeverEmpty) {
  EXPECT_EQ(CodeOf({.kind = kThrottle, .code = "ThrottlingException"}), "ThrottlingException");
  EXPECT_EQ(CodeOf({.kind = kDeadline}), Name(kDeadline));
}

TEST(ToError, TellsTheCallerWhatToDo) {
  const auto code_of = [](FailureClass kind, std::string code = "") {
    return ToError({.kind = kind, .code = std::move(code)}).code;
  };
  for (const FailureClass kind : {kThrottle, kTransient, kConflict, kAmbiguous}) {
    EXPECT_EQ(code_of(kind), Code::kUnavailable) << Name(kind);
  }
  EXPECT_EQ(code_of(kDeadline), Code::kDeadlineExceeded);
  EXPECT_EQ(code_of(kConditional), Code::kAborted);
  EXPECT_EQ(code_of(kAuth, "AccessDeniedException"), Code::kPermissionDenied);
  EXPECT_EQ(code_of(kAuth, "ExpiredTokenException"), Code::kUnauthenticated);
  EXPECT_EQ(code_of(kPermanent, "ValidationException"), Code::kInvalidArgument);
  EXPECT_EQ(code_of(kPermanent, "ResourceNotFoundException"), Code::kNotFound);
  EXPECT_EQ(code_of(kPermanent, "QueueDoesNotExist"), Code::kNotFound);
  EXPECT_EQ(code_of(kPermanent, "AWS.SimpleQueueService.NonExistentQueue"), Code::kNotFound);
  EXPECT_EQ(code_of(kAuth, "KmsAccessDenied"), Code::kPermissionDenied);
  EXPECT_EQ(code_of(kPermanent, "ResourceInUseException"), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(kPermanent, "LimitExceededException"), Code::kFailedPrecondition);
  EXPECT_EQ(ToError({.kind = kThrottle, .message = "why"}).message, "why");
}

TEST(ToError, OnlyACodeOfTheServiceBlamesTheArguments) {
  const auto code_of = [](std::string code) {
    return ToError({.kind = kPermanent, .code = std::move(code)}).code;
  };
  EXPECT_EQ(code_of("ItemCollectionSizeLimitExceededException"), Code::kInvalidArgument);
  EXPECT_EQ(code_of("AFutureCode"), Code::kInvalidArgument);
  EXPECT_EQ(code_of(""), Code::kUnknown);
  EXPECT_EQ(code_of("SerializationException"), Code::kInternal);
  EXPECT_EQ(code_of("UnknownOperationException"), Code::kInternal);
}

}  // namespace
}  // namespace weir
