// Pages of limits and of entities.
#pragma once

#include <optional>
#include <string>

#include "weir/dynamodb/table.h"
#include "weir/store/config/config_store.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Returns the level of the item with this key; nothing if it is an item of another kind.
std::optional<Level> LevelAt(const Keys& keys, const TableKey& key);
/// Returns the level of the item and its limits; nothing if it is an item of another kind or has no
/// limits. Errors as ReadConfig.
[[nodiscard]] Result<std::optional<LevelRecord>> ReadLevelRecord(const Keys& keys,
                                                                 const Item& item);

/// As ConfigStore::ListLimits and ListEntities. Both find their items by the index of all items in
/// the namespace (GSI4), so that they also return limits of writers that do not maintain the
/// registries; children of an entity are found by GSI1. The items themselves are read consistently.
/// Very recent writes may be missed, because indexes lag. The levels of one entity are read from
/// its own partition, consistently, so none of them is missed. Arguments are copied; `table` must
/// outlive the call.
void ListStoredLimits(Table& table, const Keys& keys, const LevelFilter& filter,
                      const PageRequest& page, Deadline deadline, Done<Page<LevelRecord>> done);
void ListStoredEntities(Table& table, const Keys& keys, const std::optional<std::string>& parent,
                        const PageRequest& page, Deadline deadline, Done<Page<EntityRecord>> done);

}  // namespace weir::dynamo
