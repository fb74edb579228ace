#include "apps/weir/replay/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "apps/weir/arguments.h"
#include "apps/weir/replay/csv_line.h"
#include "weir/model/quoted.h"

namespace weir::app {
namespace {

constexpr std::string_view kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";
/// More than any model reads or writes, and small enough that the sum of all rows fits.
constexpr std::uint64_t kMaxTokens = 1'000'000'000;

tl::unexpected<Error> BadField(std::string_view name, std::string_view text,
                               std::string_view right) {
  return Fail(Code::kInvalidArgument,
              fmt::format("{} {} is not valid; write {}", name, Quoted(text), right));
}

Result<std::int64_t> TokensIn(std::string_view name, std::string_view text) {
  const Result<std::uint64_t> tokens = ParseIntegerInRange(text, 0, kMaxTokens);
  if (tokens) return static_cast<std::int64_t>(*tokens);
  return BadField(name, text, fmt::format("a whole number from 0 to {}", kMaxTokens));
}

Result<TraceRow> ParseRow(std::string_view line) {
  WEIR_ASSIGN_OR_RETURN(const CsvFields fields, SplitCsvLine(line));
  if (fields.size() != 3) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} fields; write three, as in {}", fields.size(), kHeader));
  }
  const auto time = ParseTime(fields[0]);
  if (!time) {
    return BadField("TIMESTAMP", fields[0],
                    "2023-11-16 18:15:46.680 (UTC), RFC 3339 or milliseconds since 1970");
  }
  WEIR_ASSIGN_OR_RETURN(const std::int64_t context, TokensIn("ContextTokens", fields[1]));
  WEIR_ASSIGN_OR_RETURN(const std::int64_t generated, TokensIn("GeneratedTokens", fields[2]));
  return TraceRow{*time, context, generated};
}

bool IsHeader(std::string_view line) {
  const Result<CsvFields> fields = SplitCsvLine(line);
  return fields && fmt::format("{}", fmt::join(*fields, ",")) == kHeader;
}

}  // namespace

Result<std::vector<TraceRow>> ParseTrace(std::string_view text, std::string_view file_name) {
  std::vector<TraceRow> rows;
  std::size_t number = 1;
  const auto bad = [&](std::string_view what) {
    return Fail(Code::kInvalidArgument, fmt::format("{}:{}: {}", file_name, number, what));
  };
  RemoveByteOrderMark(text);
  if (!IsHeader(NextCsvLine(text))) return bad(fmt::format("not a trace; begin with {}", kHeader));
  while (!text.empty()) {
    ++number;
    const Result<TraceRow> row = ParseRow(NextCsvLine(text));
    if (!row) return bad(row.error().message);
    if (!rows.empty() && row->at < rows.back().at) {
      return bad("earlier than the row above; put the rows in order of time");
    }
    rows.push_back(*row);
  }
  if (rows.empty()) return bad("no requests; write at least one row");
  return rows;
}

}  // namespace weir::app
