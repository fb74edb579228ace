#include "weir/aws/failure.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "weir/aws/xml_error.h"
#include "weir/codec/cbor.h"

namespace weir {
namespace {

using enum FailureClass;

constexpr std::size_t kLongestCode = 128;
constexpr std::size_t kLongestText = 300;
constexpr std::string_view kLimitExceeded = "LimitExceededException";

struct KnownCode {
  std::string_view code;
  FailureClass kind;
};

constexpr KnownCode kKnownCodes[] = {
    {"ConditionalCheckFailedException", kConditional},
    {"TransactionCanceledException", kConditional},

    {"ProvisionedThroughputExceededException", kThrottle},
    {"ThrottlingException", kThrottle},
    {"Throttling", kThrottle},
    {"ThrottledException", kThrottle},
    {"RequestLimitExceeded", kThrottle},
    {"RequestThrottled", kThrottle},
    {"RequestThrottledException", kThrottle},
    {"TooManyRequestsException", kThrottle},
    {"BandwidthLimitExceeded", kThrottle},
    {"SlowDown", kThrottle},
    {"KMSThrottlingException", kThrottle},
    {"KmsThrottled", kThrottle},
    {"KMS.ThrottlingException", kThrottle},
    {"OverLimit", kThrottle},

    {"TransactionConflictException", kConflict},
    {"ReplicatedWriteConflictException", kConflict},

    {"InternalServerError", kAmbiguous},
    {"InternalServerErrorException", kAmbiguous},
    {"InternalFailure", kAmbiguous},
    {"InternalFailureException", kAmbiguous},
    {"InternalError", kAmbiguous},
    {"ServiceUnavailable", kAmbiguous},
    {"ServiceUnavailableException", kAmbiguous},
    {"RequestTimeout", kAmbiguous},
    {"RequestTimeoutException", kAmbiguous},
    {"TransactionInProgressException", kAmbiguous},

    {"ExpiredTokenException", kAuth},
    {"ExpiredToken", kAuth},
    {"TokenRefreshRequired", kAuth},
    {"UnrecognizedClientException", kAuth},
    {"InvalidClientTokenId", kAuth},
    {"InvalidAccessKeyId", kAuth},
    {"InvalidToken", kAuth},
    {"RequestTimeTooSkewed", kAuth},
    {"RequestExpired", kAuth},
    {"RequestInTheFuture", kAuth},
    {"InvalidSignatureException", kAuth},
    {"SignatureDoesNotMatch", kAuth},
    {"AuthFailure", kAuth},
    {"IncompleteSignature", kAuth},
    {"IncompleteSignatureException", kAuth},
    {"MissingAuthenticationToken", kAuth},
    {"MissingAuthenticationTokenException", kAuth},
    {"AccessDeniedException", kAuth},
    {"AccessDenied", kAuth},
    {"NotAuthorized", kAuth},
    {"KMSAccessDeniedException", kAuth},
    {"KmsAccessDenied", kAuth},
    {"KMS.AccessDeniedException", kAuth},
    {"OptInRequired", kAuth},

    {"InvalidObjectState", kPermanent},
    {"ValidationException", kPermanent},
    {"ValidationError", kPermanent},
    {"ResourceNotFoundException", kPermanent},
    {"ResourceInUseException", kPermanent},
    {"SerializationException", kPermanent},
    {"UnknownOperationException", kPermanent},
    {"InvalidArgumentException", kPermanent},
    {"IdempotentParameterMismatchException", kPermanent},
    {"ItemCollectionSizeLimitExceededException", kPermanent},
};

FailureClass ClassOfStatus(int status) {
  if (status == 429) return kThrottle;
  if (status == 401 || status == 403) return kAuth;
  if (status == 408 || status >= 500) return kAmbiguous;
  return kPermanent;
}

bool OnlyReads(std::string_view operation) {
  return operation.starts_with("Describe") || operation.starts_with("List") ||
         operation.starts_with("Get");
}

bool OneOf(std::string_view code, std::initializer_list<std::string_view> codes) {
  return std::ranges::find(codes, code) != codes.end();
}

bool IsCodeCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

/// Extracts X from "com.amazonaws.dynamodb.v20120810#X" and from "X:http://...". Returns an empty
/// text if X has other characters than those of a code, or is too long.
std::string BareCode(std::string_view type) {
  type = type.substr(0, type.find(':'));
  const std::size_t space_end = type.rfind('#');
  if (space_end != std::string_view::npos) type.remove_prefix(space_end + 1);
  const bool sound = type.size() <= kLongestCode && std::ranges::all_of(type, IsCodeCharacter);
  return sound ? std::string(type) : std::string();
}

using Names = std::initializer_list<std::string_view>;

std::string TextInJson(const std::string& body, Names names) {
  // Not On-Demand, which must not be used further after an error: the body may be anything.
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(body).get(document) != simdjson::SUCCESS) return {};
  for (const std::string_view name : names) {
    std::string_view text;
    if (document[name].get(text) == simdjson::SUCCESS) return std::string(text);
  }
  return {};
}

std::string TextInCbor(std::string_view body, Names names) {
  CborReader in(body);
  std::string text;
  const auto* best = names.end();
  for (auto members = in.Map(); in.More(members);) {
    const auto* const name = std::find(names.begin(), best, in.Text());
    if (name == best || !in.AtText()) {
      in.Skip();
    } else {
      text = in.Text();
      best = name;
    }
  }
  return in.Finish() ? text : std::string();
}

/// Returns the text member of the body's object with the first of these names that exists; else an
/// empty text.
std::string TextIn(const std::string& body, Names names) {
  return IsCborMap(body) ? TextInCbor(body, names) : TextInJson(body, names);
}

}  // namespace

std::string_view Name(FailureClass kind) {
  switch (kind) {
    case kThrottle:
      return "throttle";
    case kTransient:
      return "transient";
    case kAmbiguous:
      return "ambiguous";
    case kConditional:
      return "conditional";
    case kConflict:
      return "conflict";
    case kPermanent:
      return "permanent";
    case kAuth:
      return "auth";
    case kDeadline:
      return "deadline";
  }
  return "unknown";
}

std::string CodeOf(const AwsFailure& failure) {
  return failure.code.empty() ? std::string(Name(failure.kind)) : failure.code;
}

FailureClass Classify(int http_status, std::string_view code, std::string_view operation) {
  if (code == kLimitExceeded) return OnlyReads(operation) ? kThrottle : kPermanent;
  const auto known = std::ranges::find(kKnownCodes, code, &KnownCode::code);
  return known == std::end(kKnownCodes) ? ClassOfStatus(http_status) : known->kind;
}

AuthRemedy RemedyOf(std::string_view code) {
  if (OneOf(code, {"ExpiredTokenException", "ExpiredToken", "TokenRefreshRequired",
                   "UnrecognizedClientException", "InvalidClientTokenId", "InvalidAccessKeyId",
                   "InvalidToken"})) {
    return AuthRemedy::kFreshCredentials;
  }
  if (OneOf(code, {"RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture"})) {
    return AuthRemedy::kCorrectClock;
  }
  if (OneOf(code, {"InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure"})) {
    return AuthRemedy::kCorrectClockIfWrong;
  }
  return AuthRemedy::kNone;
}

bool IsPermissionDenied(std::string_view code) {
  return OneOf(code, {"AccessDeniedException", "AccessDenied", "NotAuthorized", "OptInRequired",
                      "KMSAccessDeniedException", "KmsAccessDenied", "KMS.AccessDeniedException"});
}

std::string ErrorCode(const HttpResponse& response) {
  std::string code = BareCode(TextIn(response.body, {"__type"}));
  if (!code.empty()) return code;
  if (const auto error = ReadXmlError(response.body)) return BareCode(error->code);
  const std::string* const header = response.Header("x-amzn-errortype");
  return header == nullptr ? std::string() : BareCode(*header);
}

std::string ErrorText(const HttpResponse& response) {
  std::string text = TextIn(response.body, {"message", "Message"});
  if (const auto error = ReadXmlError(response.body)) text = error->message;
  return PrintableLine(std::move(text));
}

std::string PrintableLine(std::string text) {
  text.resize(std::min({text.size(), text.find_first_of("\r\n"), kLongestText}));
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string RequestId(const HttpResponse& response) {
  constexpr std::size_t kLongestId = 128;
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '='; };
  for (const std::string_view name : {"x-amzn-requestid", "x-amz-request-id"}) {
    const std::string* const id = response.Header(name);
    if (id == nullptr) continue;
    return id->size() <= kLongestId && std::ranges::all_of(*id, allowed) ? *id : std::string();
  }
  return {};
}

Error ToError(const AwsFailure& failure) {
  const auto as = [&](Code code) { return Error{code, failure.message}; };
  switch (failure.kind) {
    case kThrottle:
    case kTransient:
    case kConflict:
    case kAmbiguous:
      return as(Code::kUnavailable);
    case kDeadline:
      return as(Code::kDeadlineExceeded);
    case kConditional:
      return as(Code::kAborted);
    case kAuth:
      return as(IsPermissionDenied(failure.code) ? Code::kPermissionDenied
                                                 : Code::kUnauthenticated);
    case kPermanent:
      break;
  }
  if (OneOf(failure.code,
            {"ResourceNotFoundException", "QueueDoesNotExist",
             "AWS.SimpleQueueService.NonExistentQueue", "NoSuchBucket", "NoSuchKey"})) {
    return as(Code::kNotFound);
  }
  if (OneOf(failure.code, {"ResourceInUseException", kLimitExceeded})) {
    return as(Code::kFailedPrecondition);
  }
  if (OneOf(failure.code, {"SerializationException", "UnknownOperationException"})) {
    return as(Code::kInternal);
  }
  // Without a code, the response is not the service's: a proxy's page, for example.
  return as(failure.code.empty() ? Code::kUnknown : Code::kInvalidArgument);
}

}  // namespace weir
