#include "weir/service/check_response.h"

#include <algorithm>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "weir/service/message_arena.h"
#include "weir/service/rate_units.h"

namespace weir::service {
namespace {

using envoy::service::ratelimit::v3::RateLimitResponse;

RateLimitResponse::Code CodeOf(bool is_over) {
  return is_over ? RateLimitResponse::OVER_LIMIT : RateLimitResponse::OK;
}

void SetLimit(const PlannedDescriptor& planned, const DescriptorState& state,
              RateLimitResponse::DescriptorStatus& status) {
  const StatedRate rate = RateOf(state.limit.quota);
  RateLimitResponse::RateLimit& limit = *status.mutable_current_limit();
  limit.set_name(planned.rule == nullptr ? state.limit.name : planned.rule->name);
  limit.set_requests_per_unit(rate.requests);
  limit.set_unit(static_cast<RateLimitResponse::RateLimit::Unit>(rate.unit));
  if (rate.multiplier != 1) limit.mutable_unit_multiplier()->set_value(rate.multiplier);
}

// Returns whole seconds, rounded up, so that a caller that waits for this time does not return too
// early; at most the maximum of a Duration (google/protobuf/duration.proto).
std::int64_t SecondsOf(milliseconds wait) {
  constexpr std::int64_t kMaxSeconds = 315'576'000'000;
  return std::min((wait.count() + 999) / 1'000, kMaxSeconds);
}

void SetState(const PlannedDescriptor& planned, const DescriptorState& state,
              RateLimitResponse::DescriptorStatus& status) {
  SetLimit(planned, state, status);
  const std::int64_t remaining = state.remaining / kMillitokens;
  status.set_limit_remaining(
      static_cast<std::uint32_t>(std::min<std::int64_t>(remaining, UINT32_MAX)));
  if (state.reset) status.mutable_duration_until_reset()->set_seconds(SecondsOf(*state.reset));
}

}  // namespace

std::string ResponseBytes(std::span<const PlannedDescriptor> plan,
                          std::span<const DescriptorResult> results, bool is_refused) {
  const MessageArena arena;
  auto& response = arena.Make<RateLimitResponse>();
  response.set_overall_code(CodeOf(is_refused));
  for (std::size_t i = 0; i < results.size(); ++i) {
    RateLimitResponse::DescriptorStatus& status = *response.add_statuses();
    status.set_code(CodeOf(results[i].is_over));
    if (results[i].state) SetState(plan[i], *results[i].state, status);
  }
  return response.SerializeAsString();
}

std::string ResponseBytes(bool is_refused) {
  const MessageArena arena;
  auto& response = arena.Make<RateLimitResponse>();
  response.set_overall_code(CodeOf(is_refused));
  return response.SerializeAsString();
}

}  // namespace weir::service
