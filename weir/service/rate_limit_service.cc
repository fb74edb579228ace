#include "weir/service/rate_limit_service.h"

#include <fmt/format.h>

#include <utility>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "weir/service/message_arena.h"
#include "weir/service/pending_check.h"

namespace weir::service {

using envoy::service::ratelimit::v3::RateLimitRequest;

void RateLimitService::AddTo(grpc::MethodTable& methods) {
  const auto method = [this](CheckKind kind) {
    return grpc::UnaryMethod(
        [this, kind](const grpc::CallHead& head, std::string_view message,
                     grpc::CallWriter writer) { Check(kind, head, message, std::move(writer)); });
  };
  methods.Add("envoy.service.ratelimit.v3.RateLimitService", "ShouldRateLimit",
              method(CheckKind::kShouldRateLimit));
  constexpr char kKuadrant[] = "kuadrant.service.ratelimit.v1.RateLimitService";
  methods.Add(kKuadrant, "CheckRateLimit", method(CheckKind::kCheck));
  methods.Add(kKuadrant, "Report", method(CheckKind::kReport));
}

std::optional<RateLimitService::Refusal> RateLimitService::FindRefusal(const grpc::CallHead& head) {
  const Clock& clock = head.loop.clock();
  if (tokens_ != nullptr) {
    Status allowed = tokens_->Check(head.authorization, AccessScope::kDecide, clock.WallNow());
    if (!allowed) {
      counts_.denied.Add();
      return Refusal{FailureReason::kTokenRefused, std::move(allowed.error())};
    }
  }
  if (rules_ == nullptr) {
    return Refusal{FailureReason::kNoRules, {Code::kUnavailable, "no rules have been loaded yet"}};
  }
  // A caller that has given up is not charged.
  if (head.deadline.ExpiredAt(clock.Now())) {
    return Refusal{FailureReason::kTimeOver,
                   {Code::kDeadlineExceeded, "the call's deadline had passed before it began"}};
  }
  if (in_flight_.load(std::memory_order_relaxed) < options_.max_in_flight) return std::nullopt;
  counts_.overloaded.Add();
  return Refusal{FailureReason::kOverloaded,
                 {Code::kResourceExhausted,
                  fmt::format("{} requests wait for the store", options_.max_in_flight)}};
}

void RateLimitService::Refuse(const grpc::CallHead& head, Refusal refusal,
                              const grpc::CallWriter& writer) {
  counts_.errors.Add();
  const Instant now = head.loop.clock().Now();
  if (refusal.reason == FailureReason::kTokenRefused) {
    log_.Denied(head.ids, refusal.error.message, now);
  } else {
    log_.Failed(head.ids, refusal.reason, refusal.error, now);
  }
  const grpc::ErrorDetails details = DetailsOf(refusal.error, refusal.reason);
  writer.Finish(Fail(std::move(refusal.error)), details);
}

void RateLimitService::Check(CheckKind kind, const grpc::CallHead& head, std::string_view message,
                             grpc::CallWriter writer) {
  if (std::optional<Refusal> refusal = FindRefusal(head)) {
    return Refuse(head, *std::move(refusal), writer);
  }
  const MessageArena arena;
  auto& request = arena.Make<RateLimitRequest>();
  if (!request.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    constexpr char kWhy[] = "the message is not a RateLimitRequest";
    return Refuse(head, {FailureReason::kRequestInvalid, {Code::kInvalidArgument, kWhy}}, writer);
  }
  auto plan = PlanDescriptors(request, rules_->rules(), *targets_, kind);
  if (!plan) {
    return Refuse(head, {FailureReason::kRequestInvalid, std::move(plan.error())}, writer);
  }
  const PendingCheck::Terms terms{.limiter = limiter_,
                                  .counts = counts_,
                                  .log = log_,
                                  .in_flight = in_flight_,
                                  .detached = detached_,
                                  .max_detached = options_.max_detached,
                                  .store_timeout = options_.store_timeout};
  const auto check = std::make_shared<PendingCheck>(terms, kind, head, std::move(writer));
  check->Start(*std::move(plan), rules_);
}

}  // namespace weir::service
