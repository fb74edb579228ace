// The allowance of one (entity, resource) pair. Converts between charges and the amounts of an
// Allowance.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weir/limiter/allowance/allowance.h"
#include "weir/limiter/pending_acquire.h"
#include "weir/store/bucket/charge.h"

namespace weir {

/// Charge::resolved_at of limits that a caller gives, whatever their source is. The store never
/// finds them outdated.
inline constexpr Instant kGiven{INT64_MAX};

/// Returns whether any limit of these targets has an allowance.
bool HaveAllowance(std::span<const TargetPtr> targets);
/// Returns whether an allowance may decide these charges: at least one amount is not 0, and each
/// limit with such an amount has an allowance.
bool MayBeServed(const std::vector<Charge>& charges);

/// Not thread-safe: guarded by the mutex of its stripe in Allowances.
struct AllowanceEntry {
  /// REQUIRES: HaveAllowance(buckets).
  explicit AllowanceEntry(std::vector<TargetPtr> buckets);

  /// Returns the amounts as charges of the buckets. Buckets without an amount are left out.
  std::vector<Charge> ChargesOf(Allowance::View amounts) const;
  /// Returns the tokens to return as negative charges of the shards that paid.
  std::vector<Charge> ChargesOf(const Allowance::Return& back) const;
  /// Returns, for each target, the shard that paid its part of `charges`. Returns an empty vector
  /// if the store does not divide buckets.
  Allowance::Shards PaidBy(const std::vector<Charge>& charges, const Decision& decision) const;
  /// Returns the amount that the charges need of each limit, and stores their targets in `targets`.
  /// Returns nullopt if a charge is on a bucket or under limits that this entry does not have.
  std::optional<Allowance::Millis> NeedOf(const std::vector<Charge>& charges);
  /// Records that the limits of all targets were read at this time, and are the same.
  void NoteResolved(Instant at);
  /// Returns the balance of each limit in the decision on `charges`, or Allowance::kNotSeen if the
  /// decision does not contain the limit.
  Allowance::Millis AvailableOf(const std::vector<Charge>& charges, const Decision& decision) const;
  /// Returns the decision on `charges`: admitted if `wait` is 0, refused otherwise. The available
  /// tokens are `held`, which the process held before the decision, plus the balance of the bucket
  /// after the last result of the store. REQUIRES: NeedOf(charges) was not nullopt, under the same
  /// lock.
  Decision DecisionOf(const std::vector<Charge>& charges, const Allowance::Millis& held,
                      milliseconds wait) const;

  const TargetPtr own;             ///< the pair's own; read without the lock, to find the stripe
  std::vector<TargetPtr> targets;  ///< the pair's first; as last resolved
  Allowance allowance;             ///< the allowance of the limits of all targets, in order
  std::vector<CallPtr> waiting{};  ///< calls that wait for the debit in flight
  Deadline deadline = Deadline::Never();  ///< the deadline of the debit in flight
  bool gone = false;                      ///< removed from Allowances
  std::uint32_t shard_count = 1;          ///< Decision::of_shards of the last debit
  Instant resolved_at = kGiven;           ///< Charge::resolved_at of the debits
};
using AllowanceEntryPtr = std::shared_ptr<AllowanceEntry>;

}  // namespace weir
