#include "weir/aws/json_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir {
namespace {

FailureClass ClassOf(Code code) {
  switch (code) {
    case Code::kDeadlineExceeded:
      return FailureClass::kDeadline;
    case Code::kUnavailable:
    case Code::kResourceExhausted:
    case Code::kCancelled:
      return FailureClass::kTransient;
    default:
      return FailureClass::kAuth;
  }
}

}  // namespace

JsonExchange::JsonExchange(const JsonClientOptions& options, JsonCall call, Deadline deadline)
    : options_(options),
      call_(std::move(call)),
      deadline_(deadline),
      policy_(options.retry, call_.repeatable, deadline) {}

JsonStep JsonExchange::StartAttempt(Instant now) {
  if (deadline_.ExpiredAt(now)) return FinalFailure(OutOfTime());
  return FetchCredentials{deadline_};
}

JsonStep JsonExchange::OnCredentials(Result<Credentials> got, Moment at, SharedRetries& shared) {
  if (!got) {
    AwsFailure failure;
    failure.kind = ClassOf(got.error().code);
    failure.message = fmt::format("{} at {}: no credentials: {}", call_.operation, options_.host,
                                  got.error().message);
    const FailedAttempt failed{.kind = failure.kind};
    return OnFailure(std::move(failure), failed, at, shared);
  }
  if (deadline_.ExpiredAt(at.now)) return FinalFailure(OutOfTime());
  // Another attempt with the same credentials would be rejected again.
  if (rejection_ && SameKeys(*got, credentials_)) {
    return FinalFailure(*std::move(rejection_), "credentials that were fetched again are the same");
  }
  rejection_.reset();
  credentials_ = *std::move(got);
  signed_for_ = shared.skew.SigningTime(at.wall);
  return SignFor{signed_for_};
}

JsonStep JsonExchange::OnSigned(const Status& signed_well, Instant now) {
  if (!signed_well) {
    AwsFailure failure;
    failure.kind = FailureClass::kAuth;
    failure.message = fmt::format("{} at {}: cannot sign: {}", call_.operation, options_.host,
                                  signed_well.error().message);
    return FinalFailure(std::move(failure));
  }
  ++attempts_;
  is_out_ = true;
  handed_over_ = now;
  // Do not send a request with an old signature.
  return SendBy{{.deadline = deadline_,
                 .begin_by = Deadline::At(now + kSignatureLife),
                 .response_timeout = options_.attempt_timeout}};
}

JsonStep JsonExchange::OnAttempt(Attempt attempt, Moment at, SharedRetries& shared) {
  is_out_ = false;
  rejected_ = false;
  // Failed requests correct the clock too.
  if (attempt.server_time) shared.skew.Observe(*attempt.server_time, at.wall);
  if (attempt.result) {
    policy_.OnSuccess(shared.quota);
    return JsonResult(
        JsonReply{std::move(*attempt.result), attempts_, maybe_applied_, key_range_throttled_});
  }
  AwsFailure& failure = attempt.result.error();
  if (failure.kind == FailureClass::kAmbiguous) maybe_applied_ = true;
  if (failure.key_range_throttled) key_range_throttled_ = true;
  if (ExpiredInQueue(attempt, at.now)) {
    last_cause_ = std::move(failure.message);
    return StartAttempt(at.now);
  }
  const AuthRemedy remedy = ApplyRemedy(attempt, shared);
  rejected_ = remedy == AuthRemedy::kFreshCredentials;
  if (rejected_) rejection_ = failure;
  const FailedAttempt failed = {
      .kind = failure.kind, .remedy = remedy, .timed_out = attempt.timed_out};
  return OnFailure(std::move(failure), failed, at, shared);
}

// A request that expired in the queue was never sent; only its signature got old. So signing again
// costs no retry. (The transport's clock and `now` may differ, so half of the life is enough.)
bool JsonExchange::ExpiredInQueue(const Attempt& attempt, Instant now) const {
  const bool never_begun =
      attempt.timed_out && attempt.result.error().kind == FailureClass::kTransient;
  return never_begun && now - handed_over_ >= kSignatureLife / 2;
}

JsonStep JsonExchange::OnFailure(AwsFailure failure, FailedAttempt failed, Moment at,
                                 SharedRetries& shared) {
  // The request never left this machine, and the deadline has passed.
  if (failed.kind == FailureClass::kTransient && deadline_.ExpiredAt(at.now)) {
    failure.kind = FailureClass::kDeadline;
    return FinalFailure(std::move(failure), "the deadline has passed");
  }
  const RetryDecision decision = policy_.OnFailure(failed, at.now, shared.quota, shared.rng);
  if (!decision.again) return FinalFailure(std::move(failure), decision.why_not);
  last_cause_ = std::move(failure.message);
  return WakeAt{decision.at};
}

AuthRemedy JsonExchange::ApplyRemedy(const Attempt& attempt, SharedRetries& shared) const {
  const AwsFailure& failure = attempt.result.error();
  if (failure.kind != FailureClass::kAuth) return AuthRemedy::kNone;
  const AuthRemedy remedy = RemedyOf(failure.code);
  if (remedy != AuthRemedy::kCorrectClock && remedy != AuthRemedy::kCorrectClockIfWrong) {
    return remedy;
  }
  // Without the service's time the clock cannot be corrected.
  if (!attempt.server_time) return AuthRemedy::kNone;
  const milliseconds off = std::chrono::abs(*attempt.server_time - signed_for_);
  // The clock is right, so the secret key is wrong.
  if (remedy == AuthRemedy::kCorrectClockIfWrong && off <= kTolerableSkew) return AuthRemedy::kNone;
  shared.skew.OnRefused();
  return AuthRemedy::kCorrectClock;
}

AwsFailure JsonExchange::OutOfTime() const {
  AwsFailure failure;
  failure.kind = FailureClass::kDeadline;
  failure.message = last_cause_.empty()
                        ? fmt::format("{} at {}: the deadline had passed before a request was sent",
                                      call_.operation, options_.host)
                        : fmt::format("{}; the deadline passed before another try", last_cause_);
  return failure;
}

tl::unexpected<AwsFailure> JsonExchange::FinalFailure(AwsFailure failure,
                                                      std::string_view why_not) const {
  failure.attempts = attempts_;
  failure.maybe_applied = maybe_applied_;
  failure.key_range_throttled = key_range_throttled_;
  if (attempts_ > 1) failure.message += fmt::format(" (after {} attempts)", attempts_);
  if (!why_not.empty()) failure.message += fmt::format("; {}", why_not);
  if (maybe_applied_) failure.message += "; it may have been applied";
  return tl::unexpected(std::move(failure));
}

JsonResult JsonExchange::Abandon() {
  AwsFailure failure;
  failure.kind = is_out_ ? FailureClass::kAmbiguous : FailureClass::kTransient;
  maybe_applied_ |= is_out_;
  failure.message = fmt::format("{} at {}: the client was shut down before the response",
                                call_.operation, options_.host);
  return FinalFailure(std::move(failure));
}

HttpRequest JsonExchange::MakeRequest() const {
  if (const auto& target = call_.target) {
    HttpRequest request{.method = target->method,
                        .path = target->path,
                        .headers = {{"host", options_.host}},
                        .body = call_.body};
    std::ranges::copy(target->headers, std::back_inserter(request.headers));
    return request;
  }
  return {.path = options_.path,
          .headers = {{"host", options_.host},
                      {"content-type", options_.content_type},
                      {"x-amz-target", options_.target_prefix + "." + call_.operation}},
          .body = call_.body};
}

AttemptContext JsonExchange::context() const {
  return {call_.operation, options_.host, options_.max_error_body};
}

}  // namespace weir
