// Copies the readable records of a damaged file into a new file.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "weir/embedded/file/page_records.h"
#include "weir/embedded/file/schema.h"
#include "weir/embedded/file/sqlite.h"

namespace weir {

struct Salvaged {
  sqlite::PageScan scan;
  std::map<std::string, std::uint64_t, std::less<>> rows;  ///< keyed by table, in the new file
  std::uint64_t unknown = 0;  ///< records that fit no table and no index

  /// Returns whether records of the damaged file are missing.
  bool lacks_records() const {
    return scan.unreadable > 0 || scan.lost_records > 0 || unknown > 0 || !scan.log_whole;
  }
};

/// Copies each record of `damaged` into the table of `into` whose columns it fits. `into` must be
/// empty: it gets the tables of the version that most records fit, and is then migrated to the
/// newest version by `migrations`. Of several records with the same key, the first is stored.
/// Errors are those of `into`.
[[nodiscard]] Result<Salvaged> Salvage(const sqlite::PageFile& damaged,
                                       std::span<const Migration> migrations,
                                       sqlite::Connection& into);

/// A table, described by the form of its records.
struct TableShape {
  struct Column {
    std::string name;
    bool is_text = false;
    bool may_be_null = false;
    bool is_row_id = false;
  };
  std::string table;
  bool has_row_ids = false;
  std::vector<Column> columns;

  bool Fits(const sqlite::Record& record) const;
};

/// Returns the shapes of all tables of a file. No two tables of a weir file fit the same record.
[[nodiscard]] Result<std::vector<TableShape>> ShapesOf(sqlite::Connection& connection);
/// Returns the shapes of the indexes of a file and of its table sqlite_schema. Their records can be
/// derived, so they are not copied.
[[nodiscard]] Result<std::vector<TableShape>> DerivedShapesOf(sqlite::Connection& connection);

}  // namespace weir
