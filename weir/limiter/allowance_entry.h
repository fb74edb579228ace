// The allowance of one pair of entity and resource: from charges to the numbers of the value, and
// back.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weir/limiter/allowance.h"
#include "weir/limiter/call.h"
#include "weir/store/charge.h"

namespace weir {

/// Whether any of their limits has an allowance.
bool HaveAllowance(std::span<const TargetPtr> targets);
/// Whether something is asked for, and each limit of which something is asked has an allowance.
bool MayBeServed(const std::vector<Charge>& charges);

/// Not thread-safe.
struct AllowanceEntry {
  /// REQUIRES: one of their limits has an allowance.
  explicit AllowanceEntry(std::vector<TargetPtr> buckets);

  /// Amounts as charges of the buckets; buckets with nothing are left out.
  std::vector<Charge> ChargesOf(Allowance::View amounts) const;
  /// Returned tokens as charges of the shards that paid.
  std::vector<Charge> ChargesOf(const Allowance::Return& back) const;
  /// For each target the shard that paid its part of `charges`; empty if the store divides nothing.
  Allowance::Shards PaidBy(const std::vector<Charge>& charges, const Decision& decision) const;
  /// The amount that the charges ask of each limit. Nothing if one of them is on another bucket or
  /// under other limits.
  std::optional<Allowance::Millis> NeedOf(const std::vector<Charge>& charges);
  /// The balance of each limit by the answer to `charges`; else Allowance::kNotSeen.
  Allowance::Millis AvailableOf(const std::vector<Charge>& charges, const Decision& decision) const;
  /// The decision on `charges` if the process held `held`: admitted if `wait` is 0. It shows as
  /// available the tokens held plus those left in the bucket at its last answer.
  /// REQUIRES: NeedOf(charges), just before.
  Decision DecisionOf(const std::vector<Charge>& charges, const Allowance::Millis& held,
                      milliseconds wait) const;

  std::vector<TargetPtr> targets;         ///< the pair's own first
  Allowance allowance;                    ///< of the limits of all targets, in order
  std::vector<CallPtr> waiting{};         ///< for the answer to the debit in flight ...
  Deadline deadline = Deadline::Never();  ///< ... which comes by then
  bool gone = false;                      ///< no longer in use
  std::uint32_t of_shards = 1;            ///< as the last answer said
  Instant resolved_at{INT64_MAX};         ///< of the charges of its debits
};
using AllowanceEntryPtr = std::shared_ptr<AllowanceEntry>;

}  // namespace weir
