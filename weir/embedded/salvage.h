// Copies the records of a damaged file that still read into a new file.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "weir/embedded/page_records.h"
#include "weir/embedded/schema.h"
#include "weir/embedded/sqlite.h"

namespace weir {

struct Salvaged {
  sqlite::PageScan scan;
  std::map<std::string, std::uint64_t, std::less<>> rows;  ///< by table, of the new file
  std::uint64_t unknown = 0;  ///< records that are those of no table and of no index
};

/// Copies each record of `damaged` into the table of `into` whose columns it has. `into` is empty;
/// it gets the tables of the version that most records fit, and is then brought up to date by
/// `migrations`. Of records with one key the first counts. Errors are those of `into`.
[[nodiscard]] Result<Salvaged> Salvage(const sqlite::PageFile& damaged,
                                       std::span<const Migration> migrations,
                                       sqlite::Connection& into);

/// A table by what its records look like.
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

/// Of all tables of a file. No two of a weir file fit the same record.
[[nodiscard]] Result<std::vector<TableShape>> ShapesOf(sqlite::Connection& connection);
/// Of its indexes and of the table of its tables: nothing is lost with them.
[[nodiscard]] Result<std::vector<TableShape>> DerivedShapesOf(sqlite::Connection& connection);

}  // namespace weir
