// Checks whether the rows of a file are readable, table by table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/sqlite.h"

namespace weir {

/// A table whose rows are checked one at a time.
struct RowCheck {
  std::string_view table;
  std::string_view key;  ///< the columns of the primary key, which come first in the table
  std::size_t key_columns = 0;
  bool (*reads)(const sqlite::Statement& row);  ///< returns true if the row is readable
};

/// Returns the checks of a state file, except those of limits, entities and buckets, which are
/// checked by loading them.
std::span<const RowCheck> RecordChecks();
std::span<const RowCheck> ReservationChecks();
std::span<const RowCheck> NamespaceChecks();

/// The columns of a primary key, as texts.
using RowKey = std::vector<std::string>;

/// kReport: notes damaged rows only. kRemove: also deletes them, in one transaction.
enum class DamagedRows { kReport, kRemove };
/// Notes each unreadable row in `damage`. Returns the keys of the unreadable rows.
[[nodiscard]] Result<std::vector<RowKey>> CheckRows(sqlite::Connection& connection,
                                                    const RowCheck& check, DamagedRows damaged,
                                                    DamageReport& damage);

}  // namespace weir
