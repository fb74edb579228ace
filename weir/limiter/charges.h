// From what callers write (names and tokens) to what a store takes (targets and numbers), and back.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "weir/limiter/resolver.h"
#include "weir/model/tokens.h"
#include "weir/store/bucket_store.h"
#include "weir/store/charge.h"

namespace weir {

/// One charge for each target that has any of the named limits. The first target, the entity's own,
/// must have them all. kInvalidArgument: no amounts, a name twice, a name that is not known, a
/// negative amount, or one over the capacity of a charged bucket.
[[nodiscard]] Result<std::vector<Charge>> MakeCharges(std::span<const TargetPtr> targets,
                                                      const Amounts& amounts);

/// The same, each with the time at which the reads of its limits began.
[[nodiscard]] Result<std::vector<Charge>> MakeCharges(const Resolved& resolved,
                                                      const Amounts& amounts);

/// Signed amounts for those buckets of `held` that have the named limits; buckets where nothing
/// changes are left out. kInvalidArgument: a name twice, a name that none of them has, more than
/// kMaxMillitokens either way.
[[nodiscard]] Result<std::vector<Charge>> MakeDeltas(std::span<const Charge> held,
                                                     const Amounts& amounts);

/// kInvalidArgument where more is given back than is held.
/// REQUIRES: each target of `deltas` is one of `held`, as also below.
[[nodiscard]] Status CheckHeld(std::span<const Charge> held, std::span<const Charge> deltas);

/// Adds those deltas that are negative, or those that are positive, to what is held.
void AddNegative(std::vector<Charge>& held, std::span<const Charge> deltas);
void AddPositive(std::vector<Charge>& held, std::span<const Charge> deltas);
/// Takes the effect of AddNegative back.
void RestoreNegative(std::vector<Charge>& held, std::span<const Charge> deltas);

/// Gives back all that is held.
std::vector<Charge> Opposite(std::span<const Charge> held);

/// Which charge's bucket refused for the longest. REQUIRES: a refusal of these charges.
std::size_t LongestRefusal(std::span<const Charge> charges, const Decision& refusal);

/// A refusal that was decided here and not by the store: how the buckets stand at `now`, and a wait
/// of at least `at_least`. `records[i]` is the bucket of `charges[i]` as read; nothing: full.
Decision RefusalOf(std::span<const Charge> charges,
                   std::span<const std::optional<BucketRecord>> records, UnixMillis now,
                   milliseconds at_least);

}  // namespace weir
