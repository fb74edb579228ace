// Reads the stored state that a list of changes depends on.
#pragma once

#include <span>

#include "weir/zae_table/config/config_plan.h"

namespace weir::dynamo {

/// Reads KeysOf(changes), the registries, all limits of the entities to be deleted and whether they
/// have buckets, and the ancestors of all entities that are read, one generation at a time. Items
/// are read consistently; buckets are found by an index, which may lag. `table` must outlive the
/// call; `changes` is not used after ReadConfigState returns.
void ReadConfigState(Table& table, const Keys& keys, std::span<const ConfigChange> changes,
                     Deadline deadline, Done<ConfigState> done);

/// Reads the limits of these levels consistently. The result has their order. Errors as ReadConfig.
/// `table` must outlive the call; `levels` is not used after ReadLimits returns.
void ReadLimits(Table& table, const Keys& keys, std::span<const Level> levels, Deadline deadline,
                Done<std::vector<std::optional<LevelLimits>>> done);

}  // namespace weir::dynamo
