#include "weir/service/descriptor_plan.h"

#include <absl/container/inlined_vector.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "weir/rules/escaped_id.h"
#include "weir/rules/id_template.h"
#include "weir/service/rate_units.h"

namespace weir::service {
namespace {

using envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
using envoy::service::ratelimit::v3::RateLimitRequest;
using Action = PlannedDescriptor::Action;

constexpr char kOverrideLimit[] = "override";
// Begins the entities of descriptors that state their limit; no template of a rule yields this
// text.
constexpr char kOverridePrefix[] = "override.:_";
constexpr char kSeparator = ':';

using Entries = absl::InlinedVector<rules::DescriptorEntry, 4>;

Entries EntriesOf(const RateLimitDescriptor& descriptor) {
  Entries entries;
  for (const auto& entry : descriptor.entries()) entries.push_back({entry.key(), entry.value()});
  return entries;
}

struct Hits {
  std::uint64_t count;
  bool is_negative;
};

// The descriptor's own addend overrides that of the request. In the descriptor 0 means no hits; in
// the request it means one hit.
Hits HitsOf(const RateLimitRequest& request, const RateLimitDescriptor& descriptor,
            CheckKind kind) {
  if (kind == CheckKind::kCheck) return {0, false};
  if (descriptor.has_hits_addend()) {
    return {descriptor.hits_addend().value(), descriptor.is_negative_hits()};
  }
  return {std::max<std::uint32_t>(request.hits_addend(), 1), descriptor.is_negative_hits()};
}

Action ActionOf(const rules::Rule* rule, const Hits& hits, CheckKind kind) {
  if (hits.is_negative) return hits.count == 0 ? Action::kNone : Action::kGiveBack;
  if (hits.count == 0) return Action::kLook;
  const bool always_charges = rule != nullptr && rule->always_charges;
  return always_charges || kind == CheckKind::kReport ? Action::kDebit : Action::kTake;
}

// Saturates: more than any capacity stays more than any capacity.
Tokens Times(Tokens per_hit, std::uint64_t hits) {
  std::int64_t milli = 0;
  if (hits > static_cast<std::uint64_t>(kMaxMillitokens) ||
      __builtin_mul_overflow(per_hit.milli(), static_cast<std::int64_t>(hits), &milli)) {
    return Tokens::Milli(kMaxMillitokens);
  }
  return Tokens::Milli(std::min(milli, kMaxMillitokens));
}

// Amounts for a look are those of one hit.
Amounts AmountsOf(const rules::Rule& rule, std::uint64_t hits) {
  Amounts amounts;
  for (const auto& [limit, per_hit] : rule.amounts) {
    amounts.push_back({limit, Times(per_hit, std::max<std::uint64_t>(hits, 1))});
  }
  return amounts;
}

Result<Limit> OverrideOf(const RateLimitDescriptor::RateLimitOverride& override) {
  const std::uint32_t multiplier =
      override.has_unit_multiplier() ? override.unit_multiplier().value() : 1;
  WEIR_ASSIGN_OR_RETURN(const Quota quota, QuotaOf({.requests = override.requests_per_unit(),
                                                    .unit = static_cast<RateUnit>(override.unit()),
                                                    .multiplier = multiplier}));
  return Limit{.name = kOverrideLimit, .quota = quota};
}

// Returns the bucket of a descriptor that states its limit: each combination of entries has its
// own.
BucketKey OverrideBucket(std::string_view domain, rules::Descriptor entries) {
  using rules::IdKind;
  std::string entity = kOverridePrefix;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) entity += kSeparator;
    rules::AppendEscaped(entity, IdKind::kEntity, entries[i].key, kSeparator);
    entity += kSeparator;
    rules::AppendEscaped(entity, IdKind::kEntity, entries[i].value, kSeparator);
  }
  return {.entity = rules::FinishId(IdKind::kEntity, std::move(entity)),
          .resource = rules::OwnResource(domain).Expand({})};
}

// As in envoyproxy/ratelimit, the limit of a descriptor applies whether a rule matches or not, and
// also if the rule is a shadow, always charges, or is replaced (its GetLimit).
Status PlanOverride(const RateLimitDescriptor& descriptor, BucketKey bucket,
                    PlannedDescriptor& planned) {
  WEIR_ASSIGN_OR_RETURN(Limit limit, OverrideOf(descriptor.limit()));
  const std::uint64_t hits = std::max<std::uint64_t>(planned.hits, 1);
  planned.amounts = {{kOverrideLimit, Times(Tokens::Milli(kMillitokens), hits)}};
  planned.target = MakeTarget(std::move(bucket), {std::move(limit)});
  return {};
}

// The rules of a request's decision, and their buckets.
struct RulesInForce {
  const rules::RuleSet& rules;
  RuleTargets& targets;
};

Result<PlannedDescriptor> Plan(const RateLimitRequest& request,
                               const RateLimitDescriptor& descriptor, const RulesInForce& in_force,
                               CheckKind kind) {
  PlannedDescriptor planned;
  const Entries entries = EntriesOf(descriptor);
  auto match = in_force.rules.Find(request.domain(), entries);
  planned.states_limit = descriptor.has_limit() && in_force.rules.HasDomain(request.domain());
  if (match) planned.rule = match->rule;
  if (!match && !planned.states_limit) return planned;
  if (match && match->rule->unlimited && !planned.states_limit) return planned;
  const Hits hits = HitsOf(request, descriptor, kind);
  planned.hits = hits.count;
  planned.action = ActionOf(planned.states_limit ? nullptr : planned.rule, hits, kind);
  planned.is_shadow = !planned.states_limit && match->rule->shadow;
  if (planned.action == Action::kNone) return planned;
  if (planned.states_limit) {
    WEIR_RETURN_IF_ERROR(
        PlanOverride(descriptor, OverrideBucket(request.domain(), entries), planned));
    return planned;
  }
  planned.amounts = AmountsOf(*match->rule, hits.count);
  if (!match->rule->limits.empty()) {
    planned.target = in_force.targets.TargetOf(
        *match->rule, {.entity = std::move(match->entity), .resource = std::move(match->resource)});
    return planned;
  }
  planned.entity = std::move(match->entity);
  planned.resource = std::move(match->resource);
  return planned;
}

// Rules that another rule of the request replaces do not apply. A shadow rule replaces other shadow
// rules only: if it replaced an enforced one, its traffic would have no limit.
void DropReplaced(DescriptorPlans& plan) {
  for (const PlannedDescriptor& other : plan) {
    if (other.rule == nullptr || other.states_limit || other.rule->replaces.empty()) continue;
    for (PlannedDescriptor& planned : plan) {
      if (planned.rule == nullptr || planned.states_limit) continue;
      if (planned.rule == other.rule || (other.is_shadow && !planned.is_shadow)) continue;
      if (std::ranges::find(other.rule->replaces, planned.rule->name) ==
          other.rule->replaces.end()) {
        continue;
      }
      planned.action = Action::kNone;
      planned.is_replaced = true;
    }
  }
}

Status CheckRequest(const RateLimitRequest& request) {
  if (request.domain().empty()) {
    return Fail(Code::kInvalidArgument, "the domain of the request is empty");
  }
  if (request.descriptors().empty()) {
    return Fail(Code::kInvalidArgument, "the request has no descriptors");
  }
  const auto count = static_cast<std::size_t>(request.descriptors_size());
  if (count > kMaxParts) {
    return Fail(Code::kInvalidArgument,
                fmt::format("the request has {} descriptors; at most {}", count, kMaxParts));
  }
  return {};
}

}  // namespace

AcquirePart PlannedDescriptor::Look() const {
  AcquirePart part = Part();
  for (Amount& amount : part.amounts) amount.tokens = Tokens::Milli(0);
  return part;
}

AcquirePart PlannedDescriptor::Correction() const {
  AcquirePart part = Part();
  if (action != Action::kGiveBack) return part;
  for (Amount& amount : part.amounts) amount.tokens = Tokens::Milli(-amount.tokens.milli());
  return part;
}

Result<DescriptorPlans> PlanDescriptors(const RateLimitRequest& request,
                                        const rules::RuleSet& rules, RuleTargets& targets,
                                        CheckKind kind) {
  WEIR_RETURN_IF_ERROR(CheckRequest(request));
  DescriptorPlans plan;
  plan.reserve(static_cast<std::size_t>(request.descriptors_size()));
  for (const RateLimitDescriptor& descriptor : request.descriptors()) {
    WEIR_ASSIGN_OR_RETURN(PlannedDescriptor planned,
                          Plan(request, descriptor, {rules, targets}, kind));
    plan.push_back(std::move(planned));
  }
  DropReplaced(plan);
  return plan;
}

}  // namespace weir::service
