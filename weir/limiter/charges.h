// Conversions between the amounts that callers name (limit names and tokens) and the charges that a
// store takes (targets and millitokens).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "weir/limiter/resolution/resolver.h"
#include "weir/model/tokens.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/store/bucket/charge.h"

namespace weir {

/// Returns one charge for each target that has any of the named limits. The first target, the
/// entity's own, must have all of them. Fails with kInvalidArgument if there are no amounts, if a
/// name is unknown or given twice, or if an amount is negative or more than the capacity of a
/// charged bucket.
[[nodiscard]] Result<std::vector<Charge>> MakeCharges(std::span<const TargetPtr> targets,
                                                      const Amounts& amounts);

/// As above, and sets Charge::resolved_at to the time at which the reads of the limits began.
[[nodiscard]] Result<std::vector<Charge>> MakeCharges(const Resolved& resolved,
                                                      const Amounts& amounts);

/// Returns signed charges for the buckets of `held` that have the named limits. Buckets without a
/// change are left out. Fails with kInvalidArgument if a name is given twice, if no bucket has it,
/// or if the absolute value of an amount is more than kMaxMillitokens.
[[nodiscard]] Result<std::vector<Charge>> MakeDeltas(std::span<const Charge> held,
                                                     const Amounts& amounts);

/// Fails with kInvalidArgument if `deltas` return more tokens than are held.
/// REQUIRES: each target of `deltas` is one of `held`. This also applies to the functions below.
[[nodiscard]] Status CheckHeld(std::span<const Charge> held, std::span<const Charge> deltas);

/// Adds the negative deltas, or the positive deltas, to the held amounts; saturates.
void AddNegative(std::vector<Charge>& held, std::span<const Charge> deltas);
void AddPositive(std::vector<Charge>& held, std::span<const Charge> deltas);
/// Reverts AddNegative.
void RestoreNegative(std::vector<Charge>& held, std::span<const Charge> deltas);

/// Returns the deltas that give back all held tokens.
std::vector<Charge> OppositeOf(std::span<const Charge> held);

/// Returns the index of the charge whose bucket has the longest wait. REQUIRES: `refusal` is a
/// refusal of these charges.
std::size_t LongestRefusal(std::span<const Charge> charges, const Decision& refusal);

/// Returns a refusal that was decided here and not by the store. Its statuses show the buckets at
/// `now`; its wait is at least `at_least`. `records[i]` is the bucket of `charges[i]` as read, or
/// nullopt for a bucket that does not exist, which is full.
Decision RefusalOf(std::span<const Charge> charges,
                   std::span<const std::optional<BucketRecord>> records, UnixMillis now,
                   milliseconds at_least);

}  // namespace weir
