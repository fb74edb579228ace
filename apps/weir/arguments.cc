#include "apps/weir/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>

#include "weir/model/decimal.h"
#include "weir/model/identifier.h"
#include "weir/model/limit.h"
#include "weir/model/quota_text.h"

namespace weir::app {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

auto NotA(std::string_view what, std::string_view text, std::string_view right) {
  return Fail(Code::kInvalidArgument, fmt::format("'{}' is not {}: write {}", text, what, right));
}

/// Removes fields with a fixed number of digits from an RFC 3339 text. Remembers whether all were
/// valid.
class Digits {
 public:
  explicit Digits(std::string_view text) : rest_(text) {}

  int Number(std::size_t digits) {
    int value = 0;
    const std::string_view word = rest_.substr(0, digits);
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool whole = problem == std::errc() && end == word.data() + word.size();
    ok_ = ok_ && whole && word.size() == digits && word.front() >= '0';
    rest_.remove_prefix(word.size());
    return value;
  }
  bool Skip(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void Expect(std::string_view any_of) { ok_ = Skip(any_of) && ok_; }
  /// Reads `.680123` as 680, and no fraction as 0.
  int Millis() {
    if (!Skip(".")) return 0;
    int millis = 0;
    std::size_t count = 0;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; ++count) {
      if (count < 3) millis = millis * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    ok_ = ok_ && count > 0;
    for (; count < 3; ++count) millis *= 10;
    return millis;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  void Refuse() { ok_ = false; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// A missing offset means UTC, as Z does.
minutes Offset(Digits& digits) {
  if (digits.at_end() || digits.Skip("Zz")) return minutes(0);
  const bool west = digits.Skip("-");
  if (!west) digits.Expect("+");
  const int hour = digits.Number(2);
  digits.Expect(":");
  const int minute = digits.Number(2);
  if (hour > 23 || minute > 59) digits.Refuse();
  const minutes offset = hours(hour) + minutes(minute);
  return west ? -offset : offset;
}

/// Reads `18:15:46.680+01:00` as the time since midnight UTC; a missing time means midnight.
milliseconds TimeOfDay(Digits& digits) {
  if (digits.at_end()) return milliseconds(0);
  digits.Expect("Tt ");
  const int hour = digits.Number(2);
  digits.Expect(":");
  const int minute = digits.Number(2);
  digits.Expect(":");
  const int second = digits.Number(2);
  if (hour > 23 || minute > 59 || second > 59) digits.Refuse();
  const milliseconds millis(digits.Millis());
  return hours(hour) + minutes(minute) + std::chrono::seconds(second) + millis - Offset(digits);
}

std::optional<UnixMillis> ParseRfc3339(std::string_view text) {
  Digits digits(text);
  const std::chrono::year year(digits.Number(4));
  digits.Expect("-");
  const std::chrono::month month(static_cast<unsigned>(digits.Number(2)));
  digits.Expect("-");
  const std::chrono::day day(static_cast<unsigned>(digits.Number(2)));
  const milliseconds time = TimeOfDay(digits);
  const std::chrono::year_month_day date(year, month, day);
  if (!digits.ok() || !digits.at_end() || !date.ok()) return std::nullopt;
  return UnixMillis{(std::chrono::sys_days(date).time_since_epoch() + time).count()};
}

std::optional<UnixMillis> ParseMillis(std::string_view text) {
  std::int64_t millis = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), millis);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return UnixMillis{millis};
}

}  // namespace

Result<Amount> ParseSignedAmount(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return NotA("an amount", text, "name=amount, like rpm=1");
  WEIR_RETURN_IF_ERROR(CheckLimitName(text.substr(0, equals)));
  WEIR_ASSIGN_OR_RETURN(const std::int64_t milli, ParseTokens(text.substr(equals + 1)));
  return Amount{std::string(text.substr(0, equals)), Tokens::Milli(milli)};
}

Result<Amount> ParseAmount(std::string_view text) {
  WEIR_ASSIGN_OR_RETURN(Amount amount, ParseSignedAmount(text));
  if (amount.tokens < Tokens()) return NotA("an amount to take", text, "a number from 0");
  return amount;
}

Result<Amounts> ParseAmounts(const std::vector<std::string>& texts, AmountParser parse) {
  Amounts amounts;
  for (const std::string& text : texts) {
    WEIR_ASSIGN_OR_RETURN(Amount amount, parse(text));
    const auto same = [&](const Amount& other) { return other.limit == amount.limit; };
    if (std::any_of(amounts.begin(), amounts.end(), same)) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("'{}' is named twice: write each limit once", amount.limit));
    }
    amounts.push_back(std::move(amount));
  }
  return amounts;
}

Result<nanoseconds> ParseDuration(std::string_view text) {
  const std::string_view right = "a number and ms, s, m, h or d, like 1.5s";
  const std::size_t end = text.find_first_not_of("0123456789.");
  if (end == std::string_view::npos) return NotA("a duration", text, right);
  const std::optional<std::int64_t> millis = MillisOfUnit(text.substr(end));
  const auto thousandths = ParseThousandths(text.substr(0, end));
  const bool overflows = !thousandths && thousandths.error() == DecimalFault::kTooLarge;
  if (!millis || (!thousandths && !overflows)) return NotA("a duration", text, right);
  const nanoseconds unit = milliseconds(*millis);
  const nanoseconds longest = hours(366 * 24);
  if (overflows || *thousandths > longest / unit * 1000) {
    return Fail(Code::kInvalidArgument,
                fmt::format("'{}' is too long: write at most 366 days", text));
  }
  return nanoseconds(unit.count() / 1000 * *thousandths);
}

Result<nanoseconds> ParsePositiveDuration(std::string_view text) {
  WEIR_ASSIGN_OR_RETURN(const nanoseconds duration, ParseDuration(text));
  if (duration > nanoseconds(0)) return duration;
  return NotA("over 0", text, "a duration like 30s");
}

Result<UnixMillis> ParseTime(std::string_view text) {
  std::optional<UnixMillis> time = ParseMillis(text);
  if (!time) time = ParseRfc3339(text);
  if (!time) return NotA("a time", text, "2023-11-16T18:15:46Z or milliseconds since 1970");
  if (time->value >= 0 && *time < kEndOfTimes) return *time;
  return NotA("in range", text, "a time from 1970 to 9999");
}

Result<std::pair<std::string, std::string>> ParseMetadata(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return NotA("metadata", text, "key=value");
  }
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

Result<std::map<std::string, std::string>> ParseMetadataTexts(
    const std::vector<std::string>& texts) {
  std::map<std::string, std::string> metadata;
  for (const std::string& text : texts) {
    WEIR_ASSIGN_OR_RETURN(auto pair, ParseMetadata(text));
    if (!metadata.insert(pair).second) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("'{}' is given twice: give each key once", pair.first));
    }
  }
  return metadata;
}

Status CheckResourceOrDefault(const std::string& text) {
  if (text == kDefaultResource) return {};
  return CheckResource(text);
}

Result<std::uint64_t> ParseIntegerInRange(std::string_view text, std::uint64_t low,
                                          std::uint64_t high) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = problem == std::errc() && end == text.data() + text.size();
  const std::string right = fmt::format("a whole number from {} to {}", low, high);
  if (!whole) return NotA("a whole number", text, right);
  if (value < low || value > high) return NotA("in range", text, right);
  return value;
}

Result<std::uint64_t> ParseSeed(std::string_view text) {
  return ParseIntegerInRange(text, 0, std::numeric_limits<std::uint64_t>::max());
}

}  // namespace weir::app
