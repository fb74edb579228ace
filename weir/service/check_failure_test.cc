#include "weir/service/check_failure.h"

#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "weir/grpc/status_text.h"

namespace weir::service {
namespace {

google::rpc::Status Parsed(const Error& error, FailureReason reason) {
  google::rpc::Status status;
  EXPECT_TRUE(status.ParseFromString(DetailsOf(error, reason).status));
  return status;
}

TEST(DetailsOf, HaveTheReasonOfTheFailure) {
  const auto status = Parsed({Code::kUnavailable, "no store"}, FailureReason::kStoreFailed);
  EXPECT_EQ(status.code(), 14);
  EXPECT_EQ(status.message(), "no store");
  ASSERT_EQ(status.details_size(), 1);
  EXPECT_EQ(status.details(0).type_url(), "type.googleapis.com/google.rpc.ErrorInfo");
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(status.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "STORE_FAILED");
  EXPECT_EQ(info.domain(), "weir");
}

TEST(DetailsOf, HaveTheTimeOfARetryIfItIsKnown) {
  const Error error{Code::kUnavailable, "throttled", milliseconds(1'250)};
  const auto status = Parsed(error, FailureReason::kStoreFailed);
  ASSERT_EQ(status.details_size(), 2);
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(status.details(1).UnpackTo(&retry));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 250'000'000);
}

// Fails if: a client that compares it with `grpc-message` finds another text (Python's
// grpc_status).
TEST(DetailsOf, TheMessageIsThatOfTheHeader) {
  for (const std::string& message : {std::string("the token 'j\xC3\xBCrgen' lacks the scope\n"),
                                     std::string("a \xff b"), std::string(2'000, 'x')}) {
    const auto status = Parsed({Code::kInvalidArgument, message}, FailureReason::kRequestInvalid);
    EXPECT_EQ(status.message(), grpc::StatusMessage(message));
  }
}

TEST(ReasonOf, TellsTheRequestFromTheStoreAndALateStoreFromAFailedOne) {
  const auto reason = [](Code code) { return NameOf(ReasonOf({code, ""})); };
  EXPECT_EQ(reason(Code::kInvalidArgument), "REQUEST_INVALID");
  EXPECT_EQ(reason(Code::kNotFound), "REQUEST_INVALID");
  EXPECT_EQ(reason(Code::kDataLoss), "REQUEST_INVALID");
  EXPECT_EQ(reason(Code::kDeadlineExceeded), "STORE_LATE");
  EXPECT_EQ(reason(Code::kUnavailable), "STORE_FAILED");
}

}  // namespace
}  // namespace weir::service
