// What the descriptors of one request need from the limiter.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <string>

#include "weir/base/result.h"
#include "weir/limiter/group/group_request.h"
#include "weir/rules/rule_set.h"
#include "weir/service/rule_targets.h"

namespace envoy::service::ratelimit::v3 {
class RateLimitRequest;
}  // namespace envoy::service::ratelimit::v3

namespace weir::service {

/// Which method a request was sent to.
enum class CheckKind {
  kShouldRateLimit,  ///< Envoy's
  kCheck,            ///< Kuadrant's CheckRateLimit: checks for one hit, and charges nothing
  kReport,           ///< Kuadrant's Report: always charges
};

struct PlannedDescriptor {
  enum class Action {
    kNone,      ///< no rule, an unlimited or a replaced one, or 0 hits to give back
    kTake,      ///< taken with the other takes of the request, all or none
    kLook,      ///< refused if less than one hit is available; takes nothing
    kDebit,     ///< charged without a decision, into debt
    kGiveBack,  ///< given back, up to the capacity
  };
  Action action = Action::kNone;
  const rules::Rule* rule = nullptr;  ///< lives as long as the rules; null: none matches
  bool is_shadow = false;             ///< it never refuses the request, and is decided by itself
  bool is_replaced = false;           ///< the rule of another descriptor replaces it
  bool states_limit = false;  ///< the limit of the request applies, without the rule's terms
  std::uint64_t hits = 0;     ///< 0: a look
  std::string entity{};       ///< empty if there is a target
  std::string resource{};     ///< empty if there is a target
  Amounts amounts;            ///< of all hits; for a look, of one hit; not negative
  TargetPtr target{};         ///< the rule's own limits, or those of the request

  /// The views refer to this descriptor.
  AcquirePart Part() const { return {entity, resource, amounts, target}; }
  /// A part that reads the limits only.
  AcquirePart Look() const;
  /// A part for Limiter::Debit.
  AcquirePart Correction() const;
};

/// One plan for each descriptor of a request, in its order. Most requests have one.
using DescriptorPlans = absl::InlinedVector<PlannedDescriptor, 1>;

/// Returns the plans of the descriptors. `targets` belongs to `rules`. Fails with
/// kInvalidArgument if the domain is empty, if there are no descriptors or more than kMaxParts, or
/// if a limit in the request is not valid. Values of entries may be any bytes. Semantics:
/// docs/design/service.md.
[[nodiscard]] Result<DescriptorPlans> PlanDescriptors(
    const envoy::service::ratelimit::v3::RateLimitRequest& request, const rules::RuleSet& rules,
    RuleTargets& targets, CheckKind kind);

}  // namespace weir::service
