// Limits and entities in their tables.
#pragma once

#include <span>

#include "weir/embedded/sqlite.h"
#include "weir/store/config_table.h"

namespace weir {

/// Writes what `table` has now of everything that `changes` touch. REQUIRES: a transaction.
[[nodiscard]] Status WriteConfig(sqlite::Connection& connection, const ConfigTable& table,
                                 std::span<const ConfigChange> changes);

/// Fills an empty table. kDataLoss where a row is damaged.
[[nodiscard]] Status LoadConfig(sqlite::Connection& connection, ConfigTable& table);

}  // namespace weir
