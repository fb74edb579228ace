#include "weir/codec/iso_time.h"

#include <fmt/format.h>

#include <chrono>

namespace weir::dynamo {
namespace {

using std::chrono::days;
using std::chrono::sys_time;
using std::chrono::year_month_day;

// Takes parts from the front of a text. After a part that does not match, all later parts fail.
class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : text_(text) {}

  int TakeDigits(std::size_t count) {
    int number = 0;
    const std::string_view digits = text_.substr(0, count);
    ok_ = ok_ && digits.size() == count && AllDigits(digits);
    if (!ok_) return 0;
    for (const char digit : digits) number = number * 10 + (digit - '0');
    text_.remove_prefix(count);
    return number;
  }
  void TakeMark(char mark) {
    ok_ = ok_ && text_.starts_with(mark);
    if (ok_) text_.remove_prefix(1);
  }
  int TakeMillis() {
    if (!text_.starts_with('.')) return 0;
    text_.remove_prefix(1);
    const std::size_t count = std::min(text_.find_first_not_of("0123456789"), text_.size());
    ok_ = ok_ && count > 0;
    std::string digits(text_.substr(0, std::min<std::size_t>(count, 3)));
    digits.append(3 - digits.size(), '0');
    text_.remove_prefix(count);
    return ok_ ? TextScanner(digits).TakeDigits(3) : 0;
  }
  bool EndsInUtc() const { return ok_ && (text_ == "Z" || text_ == "+00:00"); }

 private:
  static bool AllDigits(std::string_view text) {
    return text.find_first_not_of("0123456789") == text.npos;
  }

  std::string_view text_;
  bool ok_ = true;
};

}  // namespace

std::string FormatIso(UnixMillis time) {
  const sys_time<milliseconds> at{milliseconds(time.value)};
  const auto day = std::chrono::floor<days>(at);
  const year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(at - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::optional<UnixMillis> ParseIso(std::string_view text) {
  TextScanner scanner(text);
  const std::chrono::year year(scanner.TakeDigits(4));
  scanner.TakeMark('-');
  const std::chrono::month month(static_cast<unsigned>(scanner.TakeDigits(2)));
  scanner.TakeMark('-');
  const std::chrono::day day(static_cast<unsigned>(scanner.TakeDigits(2)));
  scanner.TakeMark('T');
  const int hour = scanner.TakeDigits(2);
  scanner.TakeMark(':');
  const int minute = scanner.TakeDigits(2);
  scanner.TakeMark(':');
  const int second = scanner.TakeDigits(2);
  const int millis = scanner.TakeMillis();
  const year_month_day date(year, month, day);
  if (!scanner.EndsInUtc() || !date.ok() || hour > 23 || minute > 59 || second > 59) return {};
  const milliseconds since = std::chrono::sys_days(date).time_since_epoch() +
                             std::chrono::hours(hour) + std::chrono::minutes(minute) +
                             std::chrono::seconds(second) + milliseconds(millis);
  return UnixMillis{since.count()};
}

std::int64_t WholeSeconds(UnixMillis time) {
  return std::chrono::floor<std::chrono::seconds>(milliseconds(time.value)).count();
}

}  // namespace weir::dynamo
