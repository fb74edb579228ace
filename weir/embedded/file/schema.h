// The tables of a weir file, and the migrations of older files. Format: docs/design/embedded.md.
#pragma once

#include <cstdint>
#include <span>

#include "weir/embedded/file/sqlite.h"

namespace weir {

/// "weir"; PRAGMA application_id of every weir file.
inline constexpr std::int64_t kApplicationId = 0x77656972;

/// Migrates a file from version - 1 to `version`.
struct Migration {
  std::int64_t version;
  const char* sql;
};

/// Returns the migrations in order: version 1 creates a new file, the last is the version that this
/// weir reads and writes.
std::span<const Migration> Migrations();

/// Creates the tables of a new file, or migrates an older one, in one transaction. Returns
/// kFailedPrecondition, and changes nothing, if the file is newer than the last migration or not a
/// weir file.
[[nodiscard]] Status PrepareSchema(sqlite::Connection& connection,
                                   std::span<const Migration> migrations = Migrations());

/// Returns whether the file is older than the last migration, or empty. Errors are those of
/// PrepareSchema.
[[nodiscard]] Result<bool> IsOlder(sqlite::Connection& connection,
                                   std::span<const Migration> migrations = Migrations());

/// Checks a file that is only read: as PrepareSchema, but returns kFailedPrecondition also if the
/// file is older.
[[nodiscard]] Status CheckSchema(sqlite::Connection& connection,
                                 std::span<const Migration> migrations = Migrations());

}  // namespace weir
