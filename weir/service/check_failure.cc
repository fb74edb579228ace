#include "weir/service/check_failure.h"

#include <string>
#include <utility>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "weir/grpc/status_text.h"

namespace weir::service {

std::string_view NameOf(FailureReason reason) {
  switch (reason) {
    case FailureReason::kTokenRefused:
      return "TOKEN_REFUSED";
    case FailureReason::kNoRules:
      return "NO_RULES";
    case FailureReason::kRequestInvalid:
      return "REQUEST_INVALID";
    case FailureReason::kTimeOver:
      return "TIME_OVER";
    case FailureReason::kOverloaded:
      return "OVERLOADED";
    case FailureReason::kStoreLate:
      return "STORE_LATE";
    case FailureReason::kStoreFailed:
      return "STORE_FAILED";
  }
  std::unreachable();
}

bool IsOfRequest(const Error& error) {
  switch (error.code) {
    case Code::kInvalidArgument:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kDataLoss:
    case Code::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

FailureReason ReasonOf(const Error& error) {
  // When other buckets are full, the store has space again.
  if (error.code == Code::kResourceExhausted) return FailureReason::kStoreFailed;
  // After kNotFound, too, a retry fails in the same way.
  if (IsOfRequest(error) || error.code == Code::kNotFound) return FailureReason::kRequestInvalid;
  return error.code == Code::kDeadlineExceeded ? FailureReason::kStoreLate
                                               : FailureReason::kStoreFailed;
}

grpc::ErrorDetails DetailsOf(const Error& error, FailureReason reason) {
  google::rpc::Status status;
  status.set_code(static_cast<int>(error.code));
  status.set_message(grpc::StatusMessage(error.message));
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(NameOf(reason)));
  info.set_domain("weir");
  status.add_details()->PackFrom(info);
  if (error.retry_after.value_or(milliseconds(0)) > milliseconds(0)) {
    google::rpc::RetryInfo retry;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(*error.retry_after);
    retry.mutable_retry_delay()->set_seconds(seconds.count());
    retry.mutable_retry_delay()->set_nanos(
        static_cast<int>(nanoseconds(*error.retry_after - seconds).count()));
    status.add_details()->PackFrom(retry);
  }
  return {.status = status.SerializeAsString()};
}

}  // namespace weir::service
