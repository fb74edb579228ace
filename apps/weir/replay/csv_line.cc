#include "apps/weir/replay/csv_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::app {
namespace {

constexpr char kQuote = '"';

/// Removes and returns the field at the begin of `rest`, up to a comma.
Result<std::string> TakePlain(std::string_view& rest) {
  std::string field(rest.substr(0, rest.find(',')));
  if (field.find(kQuote) != field.npos) {
    return Fail(
        Code::kInvalidArgument,
        R"(has a quote and does not begin with one; write it in quotes, with "" for a quote)");
  }
  rest.remove_prefix(field.size());
  return field;
}

/// The same for a field in quotes.
Result<std::string> TakeQuoted(std::string_view& rest) {
  std::string field;
  do {
    rest.remove_prefix(1);
    const std::size_t end = rest.find(kQuote);
    if (end == rest.npos) {
      return Fail(Code::kInvalidArgument,
                  "has no closing quote in its line; write one, and no line break in a field");
    }
    // A pair of quotes is one quote of the field: it ends this part, and begins the next one.
    const bool is_pair = rest.substr(end + 1).starts_with(kQuote);
    field += rest.substr(0, is_pair ? end + 1 : end);
    rest.remove_prefix(end + 1);
  } while (rest.starts_with(kQuote));
  if (rest.empty() || rest.starts_with(',')) return field;
  return Fail(Code::kInvalidArgument,
              R"(goes on after its closing quote; write "" for a quote in the field)");
}

}  // namespace

void RemoveByteOrderMark(std::string_view& text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
}

std::string_view NextCsvLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Result<CsvFields> SplitCsvLine(std::string_view line) {
  CsvFields fields;
  while (true) {
    Result<std::string> field = line.starts_with(kQuote) ? TakeQuoted(line) : TakePlain(line);
    if (!field) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("field {} {}", fields.size() + 1, field.error().message));
    }
    fields.push_back(*std::move(field));
    if (line.empty()) return fields;
    line.remove_prefix(1);
  }
}

}  // namespace weir::app
