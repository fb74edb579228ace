// The failures of calls on AWS services, classified by their remedy.
#pragma once

#include <string>
#include <string_view>

#include "weir/aws/http/http.h"
#include "weir/base/api.h"
#include "weir/base/result.h"

namespace weir {

enum class FailureClass {
  kThrottle,     ///< the service asks to slow down; certainly not applied
  kTransient,    ///< certainly not applied, and a retry may succeed
  kAmbiguous,    ///< may have been applied: no response, or an internal error of the service
  kConditional,  ///< a condition of the write did not hold
  kConflict,     ///< another write or transaction was in progress on the item; not applied
  kPermanent,    ///< this request can never succeed
  kAuth,         ///< credentials, signature or permission
  kDeadline,     ///< time ran out before it was sent, or while it waited for a retry
};

WEIR_API std::string_view Name(FailureClass kind);

struct AwsFailure {
  FailureClass kind = FailureClass::kPermanent;
  std::string code;  ///< AWS's error code, without its namespace: "ConditionalCheckFailedException"
  std::string message;  ///< one line; names the operation and the host
  /// The body of the error response, with the old item, the reasons and so on. Empty for kAuth,
  /// because a service may repeat the session token there, and if it is longer than the client's
  /// options allow.
  std::string body;
  int http_status = 0;         ///< 0: no response
  int attempts = 0;            ///< requests that were passed to the transport
  bool maybe_applied = false;  ///< this attempt or an earlier one may have been applied
  /// This attempt or an earlier one was throttled because of the writes on one key range of the
  /// table itself (refusal_reasons.h).
  bool key_range_throttled = false;
};

/// Returns AWS's code, or the name of the class if there is none: for metrics and histories.
WEIR_API std::string CodeOf(const AwsFailure& failure);

/// Returns the class of an error response. The codes are those of botocore's retry handlers, of the
/// pages "Error handling with DynamoDB" and "Common errors", and of Kinesis' API reference. An
/// unknown code is classified by the status: 429 throttle, 401 and 403 auth, 408 and 5xx ambiguous,
/// all others permanent.
///
/// `operation` matters only for LimitExceededException: from Describe..., List... and Get... it
/// asks to slow down; for a change of tables or streams that reached a limit, and if no operation
/// is given, it is permanent. TransactionCanceledException is kConditional here: the reasons in the
/// body decide (refusal_reasons.h). TransactionInProgressException is kAmbiguous: an earlier
/// request with the same client request token is still being processed, and a retry with that token
/// returns its outcome.
WEIR_API FailureClass Classify(int http_status, std::string_view code,
                               std::string_view operation = {});

/// A remedy for a failure of kAuth, which is tried once.
enum class AuthRemedy {
  kNone,
  kFreshCredentials,  ///< fetch new credentials: the old ones expired, or are no longer known
  kClock,             ///< correct the clock: the service refused the time of the signature
  kMaybeClock,        ///< correct the clock if it is wrong; otherwise the secret key is wrong
};
WEIR_API AuthRemedy RemedyOf(std::string_view code);
/// Returns whether a kAuth means a missing permission: the service knows the caller. The response
/// to such a request repeats no secret.
WEIR_API bool IsPermission(std::string_view code);

/// Returns the error code of a response, without namespace and without the address that some
/// services append: `__type` in a JSON or CBOR body, `Code` in an XML body (xml_error.h), or
/// x-amzn-errortype. Returns an empty text if there is none of these, or if the code has other
/// characters than letters, digits, '.', '_' and '-', or more than 128 of them.
WEIR_API std::string ErrorCode(const HttpResponse& response);

/// Returns the first line of the service's message, at most 300 printable characters; may be empty.
WEIR_API std::string ErrorText(const HttpResponse& response);
/// Returns the first line of `text`, at most 300 characters. Unprintable characters become '?'.
WEIR_API std::string PrintableLine(std::string text);

/// Returns the id under which the service logged the request (x-amzn-requestid, x-amz-request-id),
/// which AWS's support needs. Returns an empty text if there is none, or if it has other characters
/// than letters, digits, '-' and '=', or more than 128 of them.
WEIR_API std::string RequestId(const HttpResponse& response);

/// Converts a failure to an Error with the same message. kThrottle, kTransient, kConflict and
/// kAmbiguous become kUnavailable; kDeadline becomes kDeadlineExceeded; kAuth becomes
/// kPermissionDenied if the caller is known, else kUnauthenticated; kConditional becomes kAborted;
/// kPermanent becomes kNotFound for a table, stream or queue that does not exist,
/// kFailedPrecondition for one that is in use or for a limit of the account, else kInvalidArgument.
WEIR_API Error ToError(const AwsFailure& failure);

}  // namespace weir
