// Why a call on an AWS service failed, by what to do about it.
#pragma once

#include <string>
#include <string_view>

#include "weir/aws/http.h"
#include "weir/base/result.h"

namespace weir {

enum class FailureClass {
  kThrottle,     ///< the service asks to slow down; surely not applied
  kTransient,    ///< surely not applied, and may go better next time
  kAmbiguous,    ///< may have been applied: no answer, or an error of the server's own
  kConditional,  ///< a condition of the write did not hold
  kConflict,     ///< another write or transaction was on the item; not applied
  kPermanent,    ///< this request can never succeed
  kAuth,         ///< credentials, signature or permission
  kDeadline,     ///< time ran out before it was sent, or while it waited for another try
};

std::string_view Name(FailureClass kind);

struct AwsFailure {
  FailureClass kind = FailureClass::kPermanent;
  std::string code;     ///< AWS's, without its namespace: "ConditionalCheckFailedException"
  std::string message;  ///< one line; names the operation and the host
  /// Of the error answer: holds the old item, the reasons, ... Empty for kAuth, where a service may
  /// repeat the session token, and where it is longer than the client's options let it be.
  std::string body;
  int http_status = 0;         ///< 0: no answer
  int attempts = 0;            ///< requests that were handed to the transport
  bool maybe_applied = false;  ///< this attempt or an earlier one may have been applied
  /// This attempt or an earlier one was throttled for the writes on one key range of the table
  /// itself (refusal_reasons.h).
  bool key_range_throttled = false;
};

/// AWS's code, or the class by its name where there is none: what metrics and histories tell.
std::string CodeOf(const AwsFailure& failure);

/// The class of an answer that is no success. Codes as in botocore's retry handlers, the pages
/// "Error handling with DynamoDB" and "Common errors", and Kinesis' API reference; a code that is
/// not known goes by the status: 429 throttle, 401 and 403 auth, 408 and 5xx ambiguous, all else
/// permanent.
///
/// `operation` matters for LimitExceededException alone: from Describe..., List... and Get... it
/// asks to slow down; a change of tables or streams that met a limit is permanent, and so it is
/// where no operation is given. TransactionCanceledException is kConditional here: the reasons in
/// the body decide (refusal_reasons.h). TransactionInProgressException is kAmbiguous: an earlier
/// request with the same token is being carried out, and asking again with that token is the way to
/// learn how it ends.
FailureClass Classify(int http_status, std::string_view code, std::string_view operation = {});

/// What may mend a failure of kAuth, once.
enum class AuthRemedy {
  kNone,
  kFreshCredentials,  ///< they expired, or are no longer known
  kClock,             ///< the request was signed at a time that the service does not believe
  kMaybeClock,        ///< so it looks if our clock is wrong; else the secret key is
};
AuthRemedy RemedyOf(std::string_view code);
/// kAuth for want of a permission: the service knows the caller. Such an answer repeats no secret.
bool IsPermission(std::string_view code);

/// The code in an answer of a service: `__type` in a body of JSON or CBOR, which its first byte
/// tells apart, `Code` in one of XML (xml_error.h), or x-amzn-errortype, without namespace and
/// without the address some services add; empty where there is none of these, or where it is not
/// made of at most 128 letters, digits, '.', '_' and '-'.
std::string ErrorCode(const HttpResponse& response);

/// The service's own words, its first line, at most 300 printable characters; may be empty.
std::string ErrorText(const HttpResponse& response);
/// The first line of the service's own words, at most 300 printable characters.
std::string PrintableLine(std::string text);

/// The identifier under which the service logged the request (x-amzn-requestid, x-amz-request-id),
/// which AWS's support asks for; empty if there is none, or if it is not made of at most 128
/// letters, digits, '-' and '='.
std::string RequestId(const HttpResponse& response);

/// As an error of ours, with the failure's message: kThrottle, kTransient, kConflict, kAmbiguous
/// kUnavailable; kDeadline kDeadlineExceeded; kAuth kPermissionDenied where the caller is known,
/// else kUnauthenticated; kConditional kAborted; kPermanent kNotFound for a table, stream or queue
/// that does not exist, kFailedPrecondition for one that is in use or a limit of the account, else
/// kInvalidArgument.
Error ToError(const AwsFailure& failure);

/// kDataLoss: the answer to that operation is no such answer, and why.
tl::unexpected<Error> MalformedAnswer(std::string_view operation, std::string_view why);

}  // namespace weir
