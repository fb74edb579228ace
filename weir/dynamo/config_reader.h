// Reads what a list of changes depends on.
#pragma once

#include <span>

#include "weir/dynamo/config_plan.h"

namespace weir::dynamo {

/// Beside KeysOf(changes): the registries, of the entities to be deleted all configurations and
/// whether there are buckets, and of every parent that is named its ancestors, level by level.
/// Items are read consistently; buckets are found by an index, which may lag. `table` must outlive
/// the call; the changes are read during it only.
void ReadConfigState(Table& table, const Keys& keys, std::span<const ConfigChange> changes,
                     Deadline deadline, Done<ConfigState> done);

/// What is set at these levels, in their order, consistently. `table` must outlive the call; the
/// levels are read during it only.
void ReadLimits(Table& table, const Keys& keys, std::span<const Level> levels, Deadline deadline,
                Done<std::vector<std::optional<LevelLimits>>> done);

}  // namespace weir::dynamo
