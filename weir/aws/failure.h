// Failures of calls to AWS services, classified by how the caller should react.
#pragma once

#include <string>
#include <string_view>

#include "weir/aws/http/http.h"
#include "weir/base/api.h"
#include "weir/base/result.h"

namespace weir {

enum class FailureClass {
  kThrottle,     ///< the service asks the caller to slow down; certainly not applied
  kTransient,    ///< certainly not applied, and a retry may succeed
  kAmbiguous,    ///< may have been applied: no response, or an internal error of the service
  kConditional,  ///< a condition of the write did not hold
  kConflict,     ///< another write or transaction was in progress on the item; not applied
  kPermanent,    ///< an immediate retry cannot succeed
  kAuth,         ///< credentials, signature or permission
  kDeadline,     ///< time ran out before the request was sent, or while it waited for a retry
};

WEIR_API std::string_view Name(FailureClass kind);

struct AwsFailure {
  FailureClass kind = FailureClass::kPermanent;
  std::string code;  ///< AWS's error code, without its namespace: "ConditionalCheckFailedException"
  std::string message;  ///< one line; names the operation and the host
  /// The body of the error response, e.g. with the existing item of a failed condition, or with the
  /// cancellation reasons of a transaction. Empty
  /// - for every kAuth, because a service may repeat the session token in the body;
  /// - if the body is longer than the client's options allow, unless the failure is kConditional or
  ///   kConflict.
  std::string body;
  int http_status = 0;         ///< 0: no response
  int attempts = 0;            ///< requests that were passed to the transport
  bool maybe_applied = false;  ///< this attempt or an earlier one may have been applied
  /// This attempt or an earlier one was throttled by writes to a single key range of the base
  /// table, not of an index (refusal_reasons.h).
  bool key_range_throttled = false;
};

/// Returns AWS's error code, or the name of the FailureClass if there is none; for metrics and
/// recorded attempts.
WEIR_API std::string CodeOf(const AwsFailure& failure);

/// Returns the class of an error response. The known codes are those of botocore's retry handlers,
/// of the pages "Error handling with DynamoDB" and "Common errors", and of Kinesis' API reference.
/// An unknown code is classified by the status: 429 throttle, 401 and 403 auth, 408 and 5xx
/// ambiguous, all others permanent.
///
/// `operation` matters only for LimitExceededException. From Describe..., List... and Get... it
/// means throttling (kThrottle). From any other operation, and if `operation` is empty, it means
/// that a limit of the account was reached (kPermanent).
///
/// TransactionCanceledException is provisionally kConditional: the caller refines the class from
/// the reasons in the body (refusal_reasons.h). TransactionInProgressException is kAmbiguous: an
/// earlier request with the same client request token is still being processed, and a retry with
/// that token returns the outcome of that request.
WEIR_API FailureClass Classify(int http_status, std::string_view code,
                               std::string_view operation = {});

/// The remedy that the client tries once after a kAuth failure.
enum class AuthRemedy {
  kNone,
  kFreshCredentials,  ///< fetch new credentials: the old ones expired, or are no longer known
  kCorrectClock,      ///< correct the clock: the service refused the time of the signature
  /// Correct the clock if it is wrong; otherwise the secret key is wrong.
  kCorrectClockIfWrong,
};
WEIR_API AuthRemedy RemedyOf(std::string_view code);
/// Returns whether the code means that the caller was authenticated but lacks permission. Of kAuth
/// responses, only these contain no secret, and their message may be shown.
WEIR_API bool IsPermissionDenied(std::string_view code);

/// Returns the error code of a response, without namespace and without the address that some
/// services append: `__type` in a JSON or CBOR body, `Code` in an XML body (xml_error.h), or
/// x-amzn-errortype. Returns an empty string if there is none of these, or if the code contains
/// characters other than letters, digits, '.', '_' and '-', or is longer than 128 characters.
WEIR_API std::string ErrorCode(const HttpResponse& response);

/// Returns the first line of the service's message, at most 300 printable characters; may be empty.
WEIR_API std::string ErrorText(const HttpResponse& response);
/// Returns the first line of `text`, at most 300 characters. Unprintable characters become '?'.
WEIR_API std::string PrintableLine(std::string text);

/// Returns the request id that AWS Support asks for (header x-amzn-requestid or x-amz-request-id).
/// Returns an empty string if there is none, or if the id contains characters other than letters,
/// digits, '-' and '=', or is longer than 128 characters.
WEIR_API std::string RequestId(const HttpResponse& response);

/// Converts a failure to an Error with the same message. kThrottle, kTransient, kConflict and
/// kAmbiguous become kUnavailable; kDeadline becomes kDeadlineExceeded; kAuth becomes
/// kPermissionDenied if IsPermissionDenied(code), else kUnauthenticated; kConditional becomes
/// kAborted; kPermanent becomes kNotFound for a table, stream, queue, bucket or object that does
/// not exist, kFailedPrecondition for one that is in use or for a limit of the account, kInternal
/// if the service does not know the operation or cannot parse the request, kUnknown if the response
/// has no error code (it may be a proxy's), else kInvalidArgument.
WEIR_API Error ToError(const AwsFailure& failure);

}  // namespace weir
