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

void RateLimitService::Check(CheckKind kind, const grpc::CallHead& head, std::string_view message,
                             grpc::CallWriter writer) {
  const auto fail = [&](const Status& status) {
    counts_.errors.Add();
    writer.Finish(status);
  };
  if (tokens_ != nullptr) {
    Status allowed =
        tokens_->Check(head.authorization, AccessScope::kDecide, head.loop.clock().WallNow());
    if (!allowed) {
      counts_.denied.Add();
      return fail(allowed);
    }
  }
  if (rules_ == nullptr) return fail(Fail(Code::kUnavailable, "no rules have been loaded yet"));
  const MessageArena arena;
  auto& request = arena.Make<RateLimitRequest>();
  if (!request.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return fail(Fail(Code::kInvalidArgument, "the message is not a RateLimitRequest"));
  }
  // A caller that has given up is not charged.
  if (head.deadline.ExpiredAt(head.loop.clock().Now())) {
    return fail(Fail(Code::kDeadlineExceeded, "the call's time was over before it began"));
  }
  if (in_flight_.load(std::memory_order_relaxed) >= options_.max_in_flight) {
    counts_.overloaded.Add();
    return fail(Fail(Code::kResourceExhausted,
                     fmt::format("{} requests wait for the store", options_.max_in_flight)));
  }
  auto plan = PlanDescriptors(request, rules_->rules(), kind);
  if (!plan) return fail(Fail(std::move(plan.error())));
  const PendingCheck::Terms terms{limiter_, counts_, log_, in_flight_, options_.store_timeout};
  const auto check = std::make_shared<PendingCheck>(terms, kind, head, std::move(writer));
  check->Start(*std::move(plan), rules_);
}

}  // namespace weir::service
