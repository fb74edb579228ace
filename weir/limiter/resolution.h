// The rules by which limits are found: values and functions, no calls.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/limiter/resolver.h"
#include "weir/store/limit_levels.h"

namespace weir {

/// What a fetch found out. That nothing is set, or that a chain of parents is broken, is an answer
/// and is remembered as well. Immutable.
struct Resolution {
  std::vector<std::string> chain;  ///< the entity and its ancestors, as far as they were followed
  Result<Resolved> answer;
};

/// All levels that matter to a chain: two for each member, in order, then the resource, the system.
std::vector<Level> LevelsOf(const std::vector<std::string>& chain, const std::string& resource);

/// The buckets of a chain, `found` being what is set at LevelsOf(chain, resource).
/// kInvalidArgument where nothing is set for the first member.
Result<Resolved> Decide(const std::vector<std::string>& chain, const std::string& resource,
                        const LevelAnswers& found);

/// What else may have changed if the answer for one pair changed from `old` to `now`: pairs whose
/// chain includes the entities whose own levels or parent differ, or all pairs if the limits of a
/// resource or of the system do. Nothing if both charge the same buckets under the same limits.
Altered AlteredBetween(const Resolution& old, const Resolution& now);

/// Says what is wrong with a chain that would go on with `next`: it ends in itself, or is too long.
Error BrokenChain(const std::vector<std::string>& chain, const std::string& next);

}  // namespace weir
