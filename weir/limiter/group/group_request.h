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
  /// If set, the bucket to charge and its limits; `entity` and `resource` are then not used, and no
  /// ancestor is charged. Limits that come from a descriptor rule must have
  /// LimitSource::kConfigured: the store then takes them for current and stores them in the bucket.
  /// Limits with an allowance must be as ReserveAllowance returns them. All parts of a request on
  /// the same bucket must have the same limits.
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

/// The buckets of one part, its own first. A bucket is the same object here and in the charges of
/// the lease, so pointers can be compared.
using PartTargets = absl::InlinedVector<TargetPtr, 2>;

/// The result of a request on several pairs.
struct GroupOutcome {
  /// As for Acquire. The decision lists the limits of each charged bucket once; the amount of a
  /// limit is the sum over all parts on this bucket. Lease::Adjust changes every charged bucket
  /// that has the adjusted limit; Limiter::Debit corrects single parts.
  Outcome outcome;
  /// For each part, the buckets with at least one of the limits in its `amounts`. Empty if the
  /// request was admitted without a charge because the limits of some part could not be read.
  std::vector<PartTargets> targets;
};

}  // namespace weir
