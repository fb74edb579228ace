// Stores limits and entities in their tables.
#pragma once

#include <span>

#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/store/config/config_table.h"

namespace weir {

/// Writes every limit and entity that `changes` concern, as it is in `table` now. REQUIRES: a
/// transaction.
[[nodiscard]] Status WriteConfig(sqlite::Connection& connection, const ConfigTable& table,
                                 std::span<const ConfigChange> changes);

/// Replaces the contents of the tables by those of `table`. REQUIRES: a transaction.
[[nodiscard]] Status RewriteConfig(sqlite::Connection& connection, const ConfigTable& table);

/// Fills an empty table. An unreadable or impossible row or column is noted in `damage`. Such a
/// level is marked (ConfigTable::MarkUnreadable) if its key is readable, and such an entity if its
/// id is readable and it may have a parent; other rows and columns are left out.
[[nodiscard]] Status LoadConfig(sqlite::Connection& connection, ConfigTable& table,
                                DamageReport& damage);

}  // namespace weir
