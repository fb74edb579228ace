// The tables of a weir file, and how a file of an older weir is brought up to date.
// Format: docs/design/embedded.md.
#pragma once

#include <cstdint>
#include <span>

#include "weir/embedded/sqlite.h"

namespace weir {

/// "weir"; PRAGMA application_id of every weir file.
inline constexpr std::int64_t kApplicationId = 0x77656972;

/// Brings a file of version - 1 to `version`.
struct Migration {
  std::int64_t version;
  const char* sql;
};

/// In order, from 1, which makes a new file; the last is what this weir reads and writes.
std::span<const Migration> Migrations();

/// Makes a new file, or brings an older one up to date, in one transaction. kFailedPrecondition,
/// and nothing is changed, where the file is newer than the last migration or not a weir file.
[[nodiscard]] Status PrepareSchema(sqlite::Connection& connection,
                                   std::span<const Migration> migrations = Migrations());

/// The same for a file that is only read: kFailedPrecondition also if it is older.
[[nodiscard]] Status CheckSchema(sqlite::Connection& connection,
                                 std::span<const Migration> migrations = Migrations());

}  // namespace weir
