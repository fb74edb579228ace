// Chooses the level from which the limits of a pair of entity and resource come.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "weir/store/bucket/charge.h"
#include "weir/store/config/config_store.h"

namespace weir {

/// The settings of some levels, in the order of the levels; nothing for a level without settings.
using LimitsByLevel = std::vector<std::optional<LevelLimits>>;

/// Returns the levels of one pair, in the order of their precedence.
std::array<Level, 4> LevelsOfPair(const std::string& entity, const std::string& resource);

/// Returns the first of `indexes` whose level in `found` has any limits; that level applies as a
/// whole. Nothing if there is none.
std::optional<std::size_t> FirstWithLimits(const LimitsByLevel& found,
                                           std::initializer_list<std::size_t> indexes);

/// Returns the target for a bucket with the limits of a level. Their capacities are reduced by the
/// tokens that are reserved for their allowances.
TargetPtr TargetOf(BucketKey key, const LevelLimits& set);

}  // namespace weir
