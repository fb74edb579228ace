#include "apps/weir/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "apps/weir/arguments.h"

namespace weir::app {
namespace {

constexpr std::string_view kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";
/// More than any model reads or writes, and small enough that a sum of all rows fits.
constexpr std::uint64_t kMostTokens = 1'000'000'000;

/// Takes the next line off the front of `text`, without its end.
std::string_view NextLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<std::int64_t> Tokens(std::string_view text) {
  const Result<std::uint64_t> tokens = ParseWhole(text, 0, kMostTokens);
  if (!tokens) return std::nullopt;
  return static_cast<std::int64_t>(*tokens);
}

std::optional<TraceRow> ParseRow(std::string_view line) {
  const std::size_t first = line.find(',');
  const std::size_t second = line.find(',', first == line.npos ? first : first + 1);
  if (second == line.npos) return std::nullopt;
  // The trace's times are UTC and do not say so.
  const auto time = ParseTime(std::string(line.substr(0, first)) + 'Z');
  const auto context = Tokens(line.substr(first + 1, second - first - 1));
  const auto generated = Tokens(line.substr(second + 1));
  if (!time || !context || !generated) return std::nullopt;
  return TraceRow{*time, *context, *generated};
}

}  // namespace

Result<std::vector<TraceRow>> ParseTrace(std::string_view text, std::string_view file_name) {
  std::vector<TraceRow> rows;
  std::size_t number = 1;
  const auto bad = [&](std::string_view what) {
    return Fail(Code::kInvalidArgument, fmt::format("{}:{}: {}", file_name, number, what));
  };
  if (NextLine(text) != kHeader) return bad(fmt::format("not a trace; begin with {}", kHeader));
  while (!text.empty()) {
    ++number;
    const std::optional<TraceRow> row = ParseRow(NextLine(text));
    if (!row) return bad("not a request; write 2023-11-16 18:15:46.6805900,374,44");
    if (!rows.empty() && row->at < rows.back().at) {
      return bad("before the row above it; put the rows in order of time");
    }
    rows.push_back(*row);
  }
  if (rows.empty()) return bad("no requests; write at least one row");
  return rows;
}

}  // namespace weir::app
