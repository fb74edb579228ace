// Reads the limits and settings of one level from its item.
#pragma once

#include <optional>
#include <string_view>

#include "weir/base/result.h"
#include "weir/dynamodb/value.h"
#include "weir/store/config/config_store.h"

namespace weir::dynamo {

/// Returns the limits and settings in the item; nothing if it has none (an item may have flags
/// only).
///
/// kFailedPrecondition, with the name of the feature, if the item uses a feature that Weir does not
/// implement: schedules, resets, soft limits, session windows, `disabled`, a `cascade` of the
/// level, an unknown field, numbers out of Weir's range. kDataLoss if a limit lacks one of its
/// numbers.
[[nodiscard]] Result<std::optional<LevelLimits>> ReadConfig(const Level& level, const Item& item);

/// Returns the level of an item in the partition of an entity, from its sort key; nothing if it is
/// not an item of a level.
std::optional<Level> LevelOf(std::string_view entity, std::string_view sort_key);

/// The prefix of the sort key of each item with limits.
inline constexpr std::string_view kConfigSort = "#CONFIG";
/// The greatest number of levels that are read of one entity.
inline constexpr std::size_t kMaxConfigs = 1'000'000;

}  // namespace weir::dynamo
