// What is set at one level, read from its item.
#pragma once

#include <optional>
#include <string_view>

#include "weir/base/result.h"
#include "weir/dynamo/value.h"
#include "weir/store/config_store.h"

namespace weir::dynamo {

/// What the item sets; nothing where it sets nothing (an item may hold flags alone).
///
/// kFailedPrecondition, by name, where it uses what is not implemented here: schedules, resets,
/// soft limits, session windows, `disabled`, a `cascade` of the level, a field that is not known,
/// numbers out of our range. kDataLoss where a limit lacks one of its numbers.
[[nodiscard]] Result<std::optional<LevelLimits>> ReadConfig(const Level& level, const Item& item);

/// The level that the sort key of an item in the partition of an entity names.
std::optional<Level> LevelOf(std::string_view entity, std::string_view sort_key);

/// Begins the sort key of each configuration.
inline constexpr std::string_view kConfigSort = "#CONFIG";
/// No more are read of one entity.
inline constexpr std::size_t kMostConfigs = 1'000'000;

}  // namespace weir::dynamo
