// The rules by which the limits of a request are chosen: types and functions without I/O.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/limiter/resolution/resolver.h"
#include "weir/store/config/limit_levels.h"

namespace weir {

/// The result of a fetch, as it is cached. Two errors are results, too: that no limits are set, and
/// that the chain of parents is broken. Immutable.
struct Resolution {
  std::vector<std::string> chain;  ///< the entity and the ancestors that were read
  Result<Resolved> result;
};

/// Returns the levels that apply to a chain: two for each member, in order, then the resource's and
/// the system's.
std::vector<Level> LevelsOf(const std::vector<std::string>& chain, const std::string& resource);

/// Returns the targets of a chain. `found` are the limits at LevelsOf(chain, resource). Fails with
/// kInvalidArgument if no limits apply to the first member.
Result<Resolved> ChooseLimits(const std::vector<std::string>& chain, const std::string& resource,
                              const LimitsByLevel& found);

/// Returns the pairs that may have changed if the result for one pair changed from `old` to `now`:
/// the pairs whose chain includes an entity whose own levels or parent differ, or all pairs if the
/// limits of a resource or of the system differ. Returns none if both results have the same chain
/// and the same limits.
AffectedPairs PairsAffectedBetween(const Resolution& old, const Resolution& now);

}  // namespace weir
