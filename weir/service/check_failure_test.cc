#include "weir/service/check_failure.h"

#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

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

// A client of another language refuses a string that is not UTF-8.
TEST(DetailsOf, AMessageWithAnyBytesIsText) {
  const auto status =
      Parsed({Code::kInvalidArgument, "a \xff b \x01"}, FailureReason::kRequestInvalid);
  EXPECT_EQ(status.message(), "a ? b ?");
}

}  // namespace
}  // namespace weir::service
