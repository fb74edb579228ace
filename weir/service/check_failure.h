// The reason of a failed request, and the details of its error for the caller.
#pragma once

#include <cstddef>
#include <string_view>

#include "weir/base/result.h"
#include "weir/grpc/call.h"

namespace weir::service {

/// The cause of a failure as programs match it: the reason of google.rpc.ErrorInfo, whose domain is
/// "weir".
enum class FailureReason {
  kTokenRefused,    ///< TOKEN_REFUSED: no valid token, or a token without the scope
  kNoRules,         ///< NO_RULES: the service has just started
  kRequestInvalid,  ///< REQUEST_INVALID: a retry fails in the same way: the request, the limits
                    ///< that are set for it or the store's configuration must change
  kTimeOver,        ///< TIME_OVER: the deadline passed before the call began; nothing was charged
  kOverloaded,      ///< OVERLOADED: too many requests wait for the store; nothing was charged
  kStoreLate,       ///< STORE_LATE: there is no result in time; there may be a charge
  kStoreFailed,     ///< STORE_FAILED: the store reports an error
};
constexpr std::size_t kFailureReasons = 7;

/// Returns the reason's text, such as "STORE_LATE".
std::string_view NameOf(FailureReason reason);

/// Returns whether the error belongs to the request, or to the limits and buckets that it names,
/// and not to the whole store: a retry fails in the same way, other requests may succeed, and a
/// client can cause it by the values that it chooses. A table that does not exist is kNotFound, and
/// a response that is not DynamoDB's is kUnknown. One error of a whole store has such a code: a
/// damaged page of a SQLite file is kDataLoss. kFailedPrecondition is of one entity or bucket: its
/// parents are a cycle, it has no room for a limit, or it uses a feature that Weir does not
/// implement. kResourceExhausted is of a bucket that does not exist: the store has no space for it.
bool IsOfRequest(const Error& error);
/// Returns why the limiter failed to decide.
FailureReason ReasonOf(const Error& error);

/// Returns a serialized google.rpc.Status with an ErrorInfo and, if the error says when a retry
/// makes sense, a RetryInfo (google/rpc/error_details.proto).
grpc::ErrorDetails DetailsOf(const Error& error, FailureReason reason);

}  // namespace weir::service
