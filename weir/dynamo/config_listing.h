// Pages of limits and of entities.
#pragma once

#include <optional>
#include <string>

#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"
#include "weir/store/config_store.h"

namespace weir::dynamo {

/// The level that the key of a configuration's item names.
std::optional<Level> LevelAt(const Keys& keys, const TableKey& key);
/// The limits that the item sets; nothing if it is an item of another kind. Errors as ReadConfig.
[[nodiscard]] Result<std::optional<LevelRecord>> ReadLevelRecord(const Keys& keys,
                                                                 const Item& item);

/// As ConfigStore says. Both find their items by the index of everything in the namespace (GSI4),
/// so that they also show what writers without registries have set, and entities' children by GSI1;
/// the items themselves are read consistently. Very recent writes may be missed. The
/// levels of one entity are read from its own partition, consistently, so that none is missed.
/// Arguments are copied; `table` must outlive the call.
void ListStoredLimits(Table& table, const Keys& keys, const LevelFilter& filter,
                      const PageRequest& page, Deadline deadline, Done<Page<LevelRecord>> done);
void ListStoredEntities(Table& table, const Keys& keys, const std::optional<std::string>& parent,
                        const PageRequest& page, Deadline deadline, Done<Page<EntityRecord>> done);

}  // namespace weir::dynamo
