// The records in the pages of an SQLite file (sqlite.org/fileformat2.html, sections 1.6 and 2.1).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "weir/embedded/page_file.h"

namespace weir::sqlite {

/// NULL, a whole number, or a text. Other values are none that a weir file has.
using RecordValue = std::variant<std::monostate, std::int64_t, std::string>;

struct Record {
  bool has_row_id = false;  ///< of a table with row ids; else of an index or a table without
  std::int64_t row_id = 0;
  std::vector<RecordValue> values;
};

/// Findings of a scan, in addition to the records that read.
struct PageScan {
  std::uint32_t pages = 0;         ///< looked at
  std::uint32_t unreadable = 0;    ///< of these: neither content nor free, or missing
  std::uint64_t lost_records = 0;  ///< that do not read, on pages that do
  bool log_whole = true;           ///< else later commits may be missing
  bool free_pages_known = true;    ///< else old records that were deleted may be among the others
};

/// Gives every record of every page with content to `sink`, in the order of pages.
PageScan ScanRecords(const PageFile& file, const std::function<void(const Record&)>& sink);

}  // namespace weir::sqlite
