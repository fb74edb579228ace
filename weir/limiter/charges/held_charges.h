// The charges that a lease holds, and their corrections.
#pragma once

#include <span>
#include <vector>

#include "weir/base/result.h"
#include "weir/model/tokens.h"
#include "weir/store/bucket/charge.h"

namespace weir {

/// Returns signed charges for the buckets of `held` that have the named limits. Buckets without a
/// change are left out, and so are limits that block. Fails with kInvalidArgument if a name is
/// given twice, if no bucket has such a limit, or if the absolute value of an amount is more than
/// kMaxMillitokens.
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

}  // namespace weir
