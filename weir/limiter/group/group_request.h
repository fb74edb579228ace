// Requests on several (entity, resource) pairs, which are charged as a whole or not at all.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weir/limiter/outcome.h"
#include "weir/model/tokens.h"
#include "weir/store/bucket/charge.h"
#include "weir/store/config/config_store.h"

namespace weir {

/// One part of a request on several pairs.
struct AcquirePart {
  std::string_view entity;
  std::string_view resource;
  /// The tokens to take, by name of the limit. An amount of 0 reads the limit without taking
  /// tokens.
  Amounts amounts;
  /// If set, this bucket is charged under these limits, and no ancestor; `entity` and `resource`
  /// are not used. The limits of a rule have LimitSource::kConfigured: they are current, and the
  /// store stores them in the bucket. Limits with an allowance must be as ReserveAllowance returns
  /// them. If other parts are on the same bucket, they must have the same limits.
  TargetPtr target{};
};

/// The largest number of parts of a request.
inline constexpr std::size_t kMaxParts = kMaxCharges;

/// A request on several pairs. The views must stay valid until the call returns.
struct GroupRequest {
  std::span<const AcquirePart> parts;
  /// The policy for an unavailable store; overrides the system level and the options.
  std::optional<OnUnavailable> on_unavailable = std::nullopt;
};

/// The buckets of one part, its own first. The pointers are equal to the targets of the lease's
/// charges.
using PartTargets = absl::InlinedVector<TargetPtr, 2>;

/// The result of a request on several pairs.
struct GroupOutcome {
  /// As for Acquire. The decision has the limits of all charged buckets, each bucket once with the
  /// sum of the parts' amounts. An adjust of the lease concerns every bucket that has the limit;
  /// Limiter::Debit corrects single parts.
  Outcome outcome;
  /// For each part, the buckets that have one of its limits. Empty if the request was admitted
  /// without a charge because the limits of some part could not be read.
  std::vector<PartTargets> targets;
};

}  // namespace weir
