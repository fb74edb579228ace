#include "weir/aggregator/lambda/runtime_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "weir/base/integer_text.h"
#include "weir/codec/json_text.h"
#include "weir/runtime/await.h"

namespace weir {
namespace {

constexpr std::string_view kRoot = "/2018-06-01/runtime/";
constexpr std::chrono::seconds kReportTime{3};
constexpr std::size_t kLongestId = 128;

/// The identifier becomes a part of paths.
bool IsRequestId(std::string_view id) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !id.empty() && id.size() <= kLongestId && std::ranges::all_of(id, is_allowed);
}

tl::unexpected<Error> Refused(const HttpResponse& response, std::string_view what) {
  constexpr std::size_t kMaxText = 200;
  return Fail(response.status < 500 ? Code::kFailedPrecondition : Code::kUnavailable,
              fmt::format("Lambda's runtime API: {}: status {}: {}", what, response.status,
                          std::string_view(response.body).substr(0, kMaxText)));
}

std::string ErrorBody(const Error& error) {
  std::string body = R"({"errorMessage":)";
  AppendJson(body, error.message);
  body += R"(,"errorType":)";
  AppendJson(body, CodeName(error.code));
  return body + R"(,"stackTrace":[]})";
}

std::string PathOf(const Invocation& invocation, std::string_view what) {
  return fmt::format("{}invocation/{}/{}", kRoot, invocation.id, what);
}

}  // namespace

Result<HttpResponse> RuntimeClient::Send(HttpRequest request, const SendLimits& limits) {
  return Await<HttpResponse>([&](Done<HttpResponse> done) {
    transport_.Send(std::move(request), limits,
                    [done = std::move(done)](tl::expected<HttpResponse, HttpFailure> sent) mutable {
                      if (sent) return done(*std::move(sent));
                      done(Fail(Code::kUnavailable,
                                "Lambda's runtime API: " + std::move(sent.error().message)));
                    });
  });
}

Result<Invocation> RuntimeClient::Next() {
  constexpr std::string_view kWhat = "the next invocation";
  WEIR_ASSIGN_OR_RETURN(HttpResponse response,
                        Send({.method = "GET",
                              .path = fmt::format("{}invocation/next", kRoot),
                              .headers = {},
                              .body = {}},
                             {}));
  if (response.status != 200) return Refused(response, kWhat);
  const std::string* id = response.Header("lambda-runtime-aws-request-id");
  const std::string* text = response.Header("lambda-runtime-deadline-ms");
  const auto deadline = text == nullptr ? std::nullopt : ReadInteger<std::int64_t>(*text);
  if (id == nullptr || !IsRequestId(*id) || !deadline || *deadline < 0) {
    return Fail(Code::kDataLoss,
                "Lambda's runtime API: an invocation without a request id or a deadline");
  }
  return Invocation{.id = *id, .deadline = {*deadline}, .event = std::move(response.body)};
}

Status RuntimeClient::Post(std::string path, std::string body, std::string_view error_type) {
  HttpRequest request{.path = std::move(path),
                      .headers = {{"content-type", "application/json"}},
                      .body = std::move(body)};
  if (!error_type.empty()) {
    request.headers.push_back(
        {"lambda-runtime-function-error-type", fmt::format("Weir.{}", error_type)});
  }
  const std::string what = request.path;
  WEIR_ASSIGN_OR_RETURN(
      const HttpResponse response,
      Send(std::move(request), {.deadline = Deadline::After(clock_, kReportTime)}));
  if (response.status / 100 != 2) return Refused(response, what);
  return {};
}

Status RuntimeClient::Respond(const Invocation& invocation, std::string response) {
  return Post(PathOf(invocation, "response"), std::move(response), "");
}

Status RuntimeClient::ReportError(const Invocation& invocation, const Error& error) {
  return Post(PathOf(invocation, "error"), ErrorBody(error), CodeName(error.code));
}

Status RuntimeClient::ReportInitError(const Error& error) {
  return Post(fmt::format("{}init/error", kRoot), ErrorBody(error), CodeName(error.code));
}

}  // namespace weir
