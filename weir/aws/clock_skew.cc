#include "weir/aws/clock_skew.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace weir {
namespace {

constexpr std::string_view kPattern = "Www, DD Mmm YYYY hh:mm:ss GMT";
constexpr std::array<std::size_t, 11> kFixed = {3, 4, 7, 11, 16, 19, 22, 25, 26, 27, 28};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/// Returns whether the text has the constant characters of the pattern.
bool HasShape(std::string_view text) {
  if (text.size() != kPattern.size()) return false;
  return std::ranges::all_of(kFixed, [&](std::size_t at) { return text[at] == kPattern[at]; });
}

/// Returns -1 unless all characters are digits.
int ParseDigits(std::string_view digits) {
  const bool all = std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  int number = -1;
  if (all) std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace

std::optional<UnixMillis> ParseHttpDate(std::string_view text) {
  if (!HasShape(text)) return std::nullopt;
  const int day = ParseDigits(text.substr(5, 2)), year = ParseDigits(text.substr(12, 4));
  const int hour = ParseDigits(text.substr(17, 2)), minute = ParseDigits(text.substr(20, 2));
  const int second = ParseDigits(text.substr(23, 2));
  const auto month = std::ranges::find(kMonths, text.substr(8, 3));
  if (day < 0 || year < 0 || month == kMonths.end()) return std::nullopt;
  // 60 is a leap second.
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return {};
  const std::chrono::year_month_day date(
      std::chrono::year{year},
      std::chrono::month{static_cast<unsigned>(month - kMonths.begin()) + 1},
      std::chrono::day{static_cast<unsigned>(day)});
  if (!date.ok()) return std::nullopt;
  const auto at = std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
                  std::chrono::minutes(minute) + std::chrono::seconds(second);
  return UnixMillis{milliseconds(at).count()};
}

UnixMillis ClockSkew::SigningTime(UnixMillis wall) const {
  const bool far = std::chrono::abs(difference_) > kTolerableSkew;
  return far || refused_ ? wall + difference_ : wall;
}

}  // namespace weir
