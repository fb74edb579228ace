// Which of the levels of a pair of entity and resource its limits come from.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "weir/store/charge.h"
#include "weir/store/config_store.h"

namespace weir {

/// What is set at some levels, in their order; nothing where nothing is set.
using LevelAnswers = std::vector<std::optional<LevelLimits>>;

/// The levels of one pair, in the order of their precedence.
std::array<Level, 4> LevelsOfPair(const std::string& entity, const std::string& resource);

/// The first of `places` in `found` that has any limits wins as a whole.
std::optional<std::size_t> FirstWithLimits(const LevelAnswers& found,
                                           std::initializer_list<std::size_t> places);

/// The bucket under limits that are set at a level, less what their allowances set aside.
TargetPtr TargetOf(BucketKey key, const LevelLimits& set);

}  // namespace weir
