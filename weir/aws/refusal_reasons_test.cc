#include "weir/aws/refusal_reasons.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "weir/aws/response_classifier.h"

namespace weir {
namespace {

std::string CancelledFor(const std::vector<std::string>& codes) {
  std::string reasons;
  for (const std::string& code : codes) {
    reasons += fmt::format(R"({}{{"Code":"{}","Message":"about {}"}})", reasons.empty() ? "" : ",",
                           code, code);
  }
  return fmt::format(
      R"({{"__type":"com.amazonaws#TransactionCanceledException","CancellationReasons":[{}]}})",
      reasons);
}

FailureClass ClassFor(const std::vector<std::string>& codes) {
  return ReadCancellation(CancelledFor(codes)).kind;
}

// Fails if: a throttled or invalid transaction looks like one whose condition failed, so that
// callers plan it again at once.
TEST(Cancellation, D15TheReasonsDetermineTheClass) {
  EXPECT_EQ(ClassFor({"None", "ThrottlingError"}), FailureClass::kThrottle);
  EXPECT_EQ(ClassFor({"ProvisionedThroughputExceeded", "None"}), FailureClass::kThrottle);
  EXPECT_EQ(ClassFor({"TransactionConflict", "ThrottlingError"}), FailureClass::kThrottle);
  EXPECT_EQ(ClassFor({"ValidationError", "None"}), FailureClass::kPermanent);
  EXPECT_EQ(ClassFor({"ThrottlingError", "ItemCollectionSizeLimitExceeded"}),
            FailureClass::kPermanent);
  EXPECT_EQ(ClassFor({"NobodyKnowsThis"}), FailureClass::kPermanent);
}

TEST(Cancellation, D15AConditionThatFailedIsTheCallersToActOn) {
  EXPECT_EQ(ClassFor({"ValidationError", "ConditionalCheckFailed"}), FailureClass::kConditional);
  EXPECT_EQ(ClassFor({"ConditionalCheckFailed", "ThrottlingError"}), FailureClass::kConditional);
  EXPECT_EQ(ClassFor({"None", "TransactionConflict"}), FailureClass::kConditional);
  EXPECT_EQ(ClassFor({"None", "None"}), FailureClass::kConditional);
  for (const char* body : {"", "{", "{}", R"({"CancellationReasons":1})",
                           R"({"CancellationReasons":[]})", R"({"CancellationReasons":[{}]})"}) {
    EXPECT_EQ(ReadCancellation(body).kind, FailureClass::kConditional) << body;
  }
}

TEST(Cancellation, D15TheMessageNamesTheCause) {
  const Attempt attempt = ClassifyResponse(
      HttpResponse{.status = 400, .body = CancelledFor({"None", "ValidationError"})},
      {"TransactWriteItems", "h", 1024});
  ASSERT_FALSE(attempt.result);
  EXPECT_EQ(attempt.result.error().kind, FailureClass::kPermanent);
  EXPECT_THAT(attempt.result.error().message, testing::HasSubstr("about ValidationError"));
}

std::string Throttled(std::string_view field, std::string_view reason) {
  return fmt::format(
      R"({{"__type":"a#T","{}":[{{"reason":"{}","resource":"arn:aws:dynamodb:::table/t"}}]}})",
      field, reason);
}

// Fails if: the throttle of an index, of a whole table or of an account causes the division of a
// bucket.
TEST(ThrottlingReasons, D8OnlyTheTablesOwnKeyRangeCounts) {
  for (const char* field : {"ThrottlingReasons", "throttlingReasons"}) {
    EXPECT_TRUE(IsTableKeyRangeThrottled(Throttled(field, "TableWriteKeyRangeThroughputExceeded")));
  }
  for (const char* reason :
       {"IndexWriteKeyRangeThroughputExceeded", "TableReadKeyRangeThroughputExceeded",
        "TableWriteProvisionedThroughputExceeded", "TableWriteAccountLimitExceeded",
        "TableWriteMaxOnDemandThroughputExceeded", ""}) {
    EXPECT_FALSE(IsTableKeyRangeThrottled(Throttled("ThrottlingReasons", reason))) << reason;
  }
  for (const char* body : {"", "[]", "{}", R"({"ThrottlingReasons":{}})",
                           R"({"ThrottlingReasons":[1,{"reason":2}]})"}) {
    EXPECT_FALSE(IsTableKeyRangeThrottled(body)) << body;
  }
}

}  // namespace
}  // namespace weir
