// Messages of the rate limit service: a plan has one entry for each descriptor, and its charges are
// valid for the limiter.
#include <string>
#include <string_view>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "fuzz/require.h"
#include "weir/model/identifier.h"
#include "weir/rules/rules_file.h"
#include "weir/service/descriptor_plan.h"

namespace weir {
namespace {

constexpr char kRules[] = R"(
domains:
  d:
    rules:
      - {match: user, limits: {requests: 10/min}}
      - {match: {path: "/a*"}, limits: {requests: 10/min}, shadow: true}
      - {match: [user, path], limits: {requests: 10/min, tokens: 5/sec}, charge: always}
      - {match: tenant, entity: "{tenant}", resource: llm, amounts: {rpm: 2}}
      - {match: free, unlimited: true}
)";

void CheckPlan(const envoy::service::ratelimit::v3::RateLimitRequest& request,
               service::CheckKind kind) {
  static const rules::RuleSet rules = *rules::ParseRules(kRules, "rules.yaml");
  static service::RuleTargets targets;
  const auto plan = service::PlanDescriptors(request, rules, targets, kind);
  if (!plan) return RequireRefusal(plan.error());
  Require(plan->size() == static_cast<std::size_t>(request.descriptors_size()),
          "each descriptor has a plan");
  for (const service::PlannedDescriptor& planned : *plan) {
    if (planned.action == service::PlannedDescriptor::Action::kNone) continue;
    const BucketKey bucket = planned.target != nullptr
                                 ? planned.target->key
                                 : BucketKey{planned.entity, planned.resource};
    Require(CheckEntityId(bucket.entity).has_value(), "the entity is valid");
    Require(CheckResource(bucket.resource).has_value(), "the resource is valid");
    Require(!planned.amounts.empty(), "there are amounts");
    for (const Amount& amount : planned.amounts) {
      Require(amount.tokens.milli() >= 0 && amount.tokens.milli() <= kMaxMillitokens,
              "amounts are in bounds");
    }
  }
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  envoy::service::ratelimit::v3::RateLimitRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  for (const auto kind : {weir::service::CheckKind::kShouldRateLimit,
                          weir::service::CheckKind::kCheck, weir::service::CheckKind::kReport}) {
    weir::CheckPlan(request, kind);
  }
  return 0;
}
