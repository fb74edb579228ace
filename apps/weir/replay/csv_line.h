// The lines of CSV files (RFC 4180).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir::app {

using CsvFields = std::vector<std::string>;

/// Removes a byte order mark, with which spreadsheets begin a file, from the begin of `text`.
void RemoveByteOrderMark(std::string_view& text);

/// Removes and returns the next line of `text`, without its line end (LF or CRLF).
std::string_view NextCsvLine(std::string_view& text);

/// Returns the fields of a line, which commas separate. A field in double quotes may contain commas
/// and, each written as "", quotes. Returns kInvalidArgument, with the number of the field, for
/// other quotes, and for a quoted field that does not end in the line.
[[nodiscard]] Result<CsvFields> SplitCsvLine(std::string_view line);

}  // namespace weir::app
