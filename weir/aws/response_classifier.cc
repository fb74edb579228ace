#include "weir/aws/response_classifier.h"

#include <fmt/format.h>
#include <zlib.h>

#include <utility>

#include "weir/aws/clock_skew.h"
#include "weir/aws/refusal_reasons.h"

namespace weir {
namespace {

Attempt WithoutResponse(const HttpFailure& failure, const AttemptContext& context) {
  AwsFailure aws;
  aws.kind = failure.maybe_sent ? FailureClass::kAmbiguous : FailureClass::kTransient;
  aws.message = fmt::format("{}: {}", context.operation, failure.message);
  return {.result = tl::unexpected(std::move(aws)), .timed_out = failure.timed_out};
}

std::string Crc32Text(std::string_view body) {
  return std::to_string(
      crc32_z(0, reinterpret_cast<const unsigned char*>(body.data()), body.size()));
}

/// Returns false if the response has no checksum.
bool HasWrongChecksum(const HttpResponse& response) {
  const std::string* const expected_crc = response.Header("x-amz-crc32");
  return expected_crc != nullptr && *expected_crc != Crc32Text(response.body);
}

AwsFailure DamagedResponse(const HttpResponse& response, const AttemptContext& context) {
  AwsFailure failure;
  failure.kind = FailureClass::kAmbiguous;
  failure.http_status = response.status;
  failure.message = fmt::format("{} at {}: the response was damaged in transit (its crc32 is {})",
                                context.operation, context.host, Crc32Text(response.body));
  return failure;
}

bool HoldsImages(FailureClass kind) {
  return kind == FailureClass::kConditional || kind == FailureClass::kConflict;
}

/// Returns the service's message. Replaces the class of a cancelled transaction by that of its
/// reasons.
std::string ExplainError(const HttpResponse& response, AwsFailure& failure) {
  // AWS explains a rejected signature by repeating the signed data, with the session token.
  if (failure.kind == FailureClass::kAuth && !IsPermissionDenied(failure.code)) return {};
  std::string text = ErrorText(response);
  if (failure.code != kTransactionCancelled) return text;
  Cancellation cancellation = ReadCancellation(response.body);
  failure.kind = cancellation.kind;
  if (cancellation.text.empty()) return text;
  return fmt::format("{}: {}", text, PrintableLine(std::move(cancellation.text)));
}

AwsFailure RefusedRequest(HttpResponse& response, const AttemptContext& context) {
  AwsFailure failure;
  failure.http_status = response.status;
  failure.code = ErrorCode(response);
  failure.kind = Classify(response.status, failure.code, context.operation);
  failure.message = fmt::format("{} at {}: {}{}{}", context.operation, context.host,
                                response.status, failure.code.empty() ? "" : " ", failure.code);
  const std::string text = ExplainError(response, failure);
  if (!text.empty()) failure.message += ": " + text;
  if (const std::string id = RequestId(response); !id.empty()) {
    failure.message += fmt::format(" (request {})", id);
  }
  if (failure.kind == FailureClass::kThrottle) {
    failure.key_range_throttled = IsTableKeyRangeThrottled(response.body);
  }
  const bool fits = response.body.size() <= context.max_error_body || HoldsImages(failure.kind);
  if (fits && failure.kind != FailureClass::kAuth) failure.body = std::move(response.body);
  return failure;
}

tl::expected<std::string, AwsFailure> ResultOf(HttpResponse& response,
                                               const AttemptContext& context) {
  if (HasWrongChecksum(response)) return tl::unexpected(DamagedResponse(response, context));
  if (response.status >= 200 && response.status < 300) return std::move(response.body);
  return tl::unexpected(RefusedRequest(response, context));
}

}  // namespace

Attempt ClassifyResponse(tl::expected<HttpResponse, HttpFailure> response,
                         const AttemptContext& context) {
  if (!response) return WithoutResponse(response.error(), context);
  const std::string* const date = response->Header("date");
  const auto server_time = date == nullptr ? std::nullopt : ParseHttpDate(*date);
  return {.result = ResultOf(*response, context), .server_time = server_time};
}

}  // namespace weir
