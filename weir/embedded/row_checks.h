// Whether the rows of a file read, table by table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/embedded/damage.h"
#include "weir/embedded/sqlite.h"

namespace weir {

/// A table whose rows are read one at a time.
struct RowCheck {
  std::string_view table;
  std::string_view key;  ///< the columns of its primary key: the first of the table
  std::size_t key_columns = 0;
  bool (*reads)(const sqlite::Statement& row);
};

/// Of a state file, except limits, entities and buckets, which are checked by loading them.
std::span<const RowCheck> RecordChecks();
std::span<const RowCheck> ReservationChecks();
std::span<const RowCheck> NamespaceChecks();

/// The texts of a primary key.
using RowKey = std::vector<std::string>;

/// Notes each row that does not read and returns their keys; kRemove: and deletes them, in one
/// transaction.
enum class DamagedRows { kReport, kRemove };
[[nodiscard]] Result<std::vector<RowKey>> CheckRows(sqlite::Connection& connection,
                                                    const RowCheck& check, DamagedRows damaged,
                                                    DamageReport& damage);

}  // namespace weir
