// Reads the records in the pages of an SQLite file (sqlite.org/fileformat2.html, sections 1.6 and
// 2.1).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "weir/embedded/file/page_file.h"

namespace weir::sqlite {

/// NULL, a whole number, or a text. A weir file has no other values.
using RecordValue = std::variant<std::monostate, std::int64_t, std::string>;

struct Record {
  /// True: a record of a table with row ids. False: of an index, or of a table without row ids.
  bool has_row_id = false;
  std::int64_t row_id = 0;
  std::vector<RecordValue> values;
};

/// The findings of a scan, in addition to the readable records.
struct PageScan {
  std::uint32_t pages = 0;  ///< examined
  /// How many of the examined pages are unreadable: missing, or neither content nor free.
  std::uint32_t unreadable = 0;
  std::uint64_t lost_records = 0;  ///< unreadable records on readable pages
  bool log_whole = true;           ///< if false, later commits may be missing
  bool free_pages_known = true;    ///< if false, deleted records may be among the readable ones
};

/// Calls `sink` with every record of every page with content, in the order of pages.
PageScan ScanRecords(const PageFile& file, const std::function<void(const Record&)>& sink);

}  // namespace weir::sqlite
