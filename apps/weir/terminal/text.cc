#include "apps/weir/terminal/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>

#include "weir/model/stored_text.h"
#include "weir/store/bucket/decision.h"

namespace weir::app {
namespace {

// Returns true for characters that end lines or change the direction or the mode of a terminal.
// Joiners are kept: names in some scripts need them.
bool IsControl(char32_t c) {
  const bool is_control_code = c < 0x20 || (c >= 0x7f && c < 0xa0);
  return is_control_code || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

std::string Escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text;
}

}  // namespace

std::string EscapeControls(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::optional<Character> first = FirstCharacter(text);
    const std::string_view character = text.substr(0, first ? first->bytes : 1);
    const bool is_kept = first && (first->value == U'\n' || !IsControl(first->value));
    shown += is_kept ? std::string(character) : Escaped(character);
    text.remove_prefix(character.size());
  }
  return shown;
}

std::string OneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return EscapeControls(text);
}

Table::Table(const std::vector<std::string>& headings) {
  for (const std::string& heading : headings) {
    const bool right = heading.starts_with('>');
    headings_.push_back(heading.substr(right ? 1 : 0));
    flush_right_.push_back(right);
  }
}

void Table::Row(std::vector<std::string> cells) {
  assert(cells.size() == headings_.size());
  for (std::string& cell : cells) cell = OneLine(std::move(cell));
  rows_.push_back(std::move(cells));
}

std::string Table::Text() const {
  std::vector<std::vector<std::string>> lines{headings_};
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<std::size_t> widths(headings_.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      row +=
          fmt::format(fmt::runtime(flush_right_[i] ? "{:>{}}  " : "{:<{}}  "), line[i], widths[i]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  return text;
}

std::string FormatTime(UnixMillis time) {
  using std::chrono::floor;
  const std::chrono::sys_time<milliseconds> at{milliseconds(time.value)};
  const auto day = floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::string FormatSeconds(milliseconds duration) {
  // The ratio of milliseconds to seconds is that of millitokens to tokens.
  return FormatTokens(duration.count()) + "s";
}

std::string FormatWait(milliseconds wait) {
  return wait == kNeverAdmitted ? "never" : FormatSeconds(wait);
}

// The ratio of microseconds to milliseconds is that of millitokens to tokens.
std::string FormatMillis(nanoseconds time) { return FormatTokens(time.count() / 1000); }

std::string FormatThousandths(std::int64_t millitokens) {
  const auto size = millitokens < 0 ? -static_cast<std::uint64_t>(millitokens)
                                    : static_cast<std::uint64_t>(millitokens);
  return fmt::format("{}{}.{:03}", millitokens < 0 ? "-" : "", size / 1000, size % 1000);
}

std::string FormatLimits(const std::vector<Limit>& limits) {
  std::string text;
  for (const Limit& limit : limits) text += (text.empty() ? "" : ",") + FormatLimit(limit);
  return text.empty() ? "-" : text;
}

}  // namespace weir::app
