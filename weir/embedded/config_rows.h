// Limits and entities in their tables.
#pragma once

#include <span>

#include "weir/embedded/damage.h"
#include "weir/embedded/sqlite.h"
#include "weir/store/config_table.h"

namespace weir {

/// Writes what `table` has now of everything that `changes` touch. REQUIRES: a transaction.
[[nodiscard]] Status WriteConfig(sqlite::Connection& connection, const ConfigTable& table,
                                 std::span<const ConfigChange> changes);

/// Makes the tables what `table` is. REQUIRES: a transaction.
[[nodiscard]] Status RewriteConfig(sqlite::Connection& connection, const ConfigTable& table);

/// Fills an empty table. A row or a column that does not read, or cannot be, is left out and noted
/// in `damage`.
[[nodiscard]] Status LoadConfig(sqlite::Connection& connection, ConfigTable& table,
                                DamageReport& damage);

}  // namespace weir
