// What a caller of the rate limit services is told of a failure, beside its code and message.
#pragma once

#include <string_view>

#include "weir/base/result.h"
#include "weir/grpc/call.h"

namespace weir::service {

/// The cause of a failure as programs match it: the reason of google.rpc.ErrorInfo, whose domain is
/// "weir".
enum class FailureReason {
  kTokenRefused,    ///< TOKEN_REFUSED: no valid token, or not with the scope
  kNoRules,         ///< NO_RULES: the service has just started
  kRequestInvalid,  ///< REQUEST_INVALID
  kTimeOver,        ///< TIME_OVER: the caller's deadline has passed
  kOverloaded,      ///< OVERLOADED: too many requests wait for the store
  kStoreFailed,     ///< STORE_FAILED: the store does not answer, or with an error
};

/// Returns a serialized google.rpc.Status with an ErrorInfo and, if the error says when a retry
/// makes sense, a RetryInfo (google/rpc/error_details.proto).
grpc::ErrorDetails DetailsOf(const Error& error, FailureReason reason);

}  // namespace weir::service
