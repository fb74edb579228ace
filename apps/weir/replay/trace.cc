#include "apps/weir/replay/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "apps/weir/arguments.h"
#include "weir/model/quoted.h"

namespace weir::app {
namespace {

constexpr std::string_view kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";
/// More than any model reads or writes, and small enough that the sum of all rows fits.
constexpr std::uint64_t kMaxTokens = 1'000'000'000;

/// Removes and returns the next field of `line`.
std::string_view NextField(std::string_view& line) {
  const std::size_t end = std::min(line.find(','), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

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
  if (std::ranges::count(line, ',') != 2) {
    return Fail(Code::kInvalidArgument, fmt::format("{} fields; write three, as in {}",
                                                    std::ranges::count(line, ',') + 1, kHeader));
  }
  const std::string_view at = NextField(line);
  const auto time = ParseTime(at);
  if (!time) {
    return BadField("TIMESTAMP", at,
                    "2023-11-16 18:15:46.680 (UTC), RFC 3339 or milliseconds since 1970");
  }
  WEIR_ASSIGN_OR_RETURN(const std::int64_t context, TokensIn("ContextTokens", NextField(line)));
  WEIR_ASSIGN_OR_RETURN(const std::int64_t generated, TokensIn("GeneratedTokens", line));
  return TraceRow{*time, context, generated};
}

}  // namespace

std::string_view NextTraceLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Result<std::vector<TraceRow>> ParseTrace(std::string_view text, std::string_view file_name) {
  std::vector<TraceRow> rows;
  std::size_t number = 1;
  const auto bad = [&](std::string_view what) {
    return Fail(Code::kInvalidArgument, fmt::format("{}:{}: {}", file_name, number, what));
  };
  if (NextTraceLine(text) != kHeader)
    return bad(fmt::format("not a trace; begin with {}", kHeader));
  while (!text.empty()) {
    ++number;
    const Result<TraceRow> row = ParseRow(NextTraceLine(text));
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
