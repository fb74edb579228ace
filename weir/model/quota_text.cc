#include "weir/model/quota_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>

#include "weir/model/decimal.h"
#include "weir/model/limit.h"
#include "weir/model/quoted.h"

namespace weir {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t millis;
};

// Largest first: the first unit that divides a period gives its shortest text.
constexpr std::array<Unit, 5> kUnits = {
    {{"day", 86'400'000}, {"hour", 3'600'000}, {"min", 60'000}, {"sec", 1000}, {"ms", 1}}};
// Other names of these units. They are parsed, but never written.
constexpr std::array<Unit, 4> kShortUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}}};
constexpr std::int64_t kDefaultPeriod = 60'000;

struct Range {
  std::int64_t high;
  std::string_view right;
};

constexpr Range kTokens = {kMaxMillitokens,
                           "tokens from 0.001 to 10000000000000, with up to three decimals, such "
                           "as 1000, or a limit of 0"};
constexpr Range kSeconds = {
    kMaxPeriodMillis, "seconds from 0.001 to 31622400, with up to three decimals, such as 60"};

static_assert(kMaxMillitokens == 10'000'000'000'000'000 && kMaxPeriodMillis == 31'622'400'000,
              "the texts above name these");

tl::unexpected<Error> InvalidPart(std::string_view part, std::string_view text,
                                  std::string_view what, std::string_view right) {
  return Fail(Code::kInvalidArgument,
              fmt::format("{} {} {}; expected {}", part, Quoted(text), what, right));
}

Result<std::int64_t> ParsePositive(std::string_view part, std::string_view text,
                                   const Range& range) {
  const auto value = ParseThousandths(text);
  if (!value) return InvalidPart(part, text, Describe(value.error()), range.right);
  if (*value <= 0) return InvalidPart(part, text, "is not positive", range.right);
  if (*value > range.high) return InvalidPart(part, text, "is too large", range.right);
  return *value;
}

constexpr std::string_view kPeriodRight =
    "a whole number and ms, sec, min, hour or day, such as 30sec";
constexpr std::string_view kAllowanceRight = "a whole number and ms, sec or min, such as 500ms";

/// Parses an optional whole number and a unit into milliseconds. `right` is the advice in errors.
Result<std::int64_t> ParsePeriod(std::string_view part, std::string_view text,
                                 std::string_view right) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = text.substr(digits);
  if (unit.empty()) return InvalidPart(part, text, "has no unit", right);
  if (unit.starts_with('.')) return InvalidPart(part, text, "is not whole", right);
  const auto millis = MillisOfUnit(unit);
  if (!millis) return InvalidPart(part, text, "has an unknown unit", right);
  if (digits == 0) return *millis;

  std::int64_t count = 0;
  const char* const begin = text.data();
  const auto [end, fault] = std::from_chars(begin, begin + digits, count);
  if (fault != std::errc() || count > kMaxPeriodMillis / *millis) {
    return InvalidPart(part, text, "is too long", "at most 366day");
  }
  if (count == 0) return InvalidPart(part, text, "is not positive", right);
  return count * *millis;
}

std::string FormatPeriod(std::int64_t millis) {
  for (const Unit& unit : kUnits) {
    if (millis == unit.millis) return std::string(unit.name);
    if (millis % unit.millis == 0) return fmt::format("{}{}", millis / unit.millis, unit.name);
  }
  return {};
}

}  // namespace

std::optional<std::int64_t> MillisOfUnit(std::string_view name) {
  for (const std::span<const Unit> units :
       {std::span<const Unit>(kUnits), std::span<const Unit>(kShortUnits)}) {
    const auto known = std::ranges::find(units, name, &Unit::name);
    if (known != units.end()) return known->millis;
  }
  return std::nullopt;
}

Result<std::int64_t> ParsePositiveTokens(std::string_view part, std::string_view text) {
  return ParsePositive(part, text, kTokens);
}

Result<std::int64_t> ParseTokensFromZero(std::string_view part, std::string_view text) {
  const auto value = ParseThousandths(text);
  if (value && *value == 0) return 0;
  return ParsePositiveTokens(part, text);
}

Status CheckZeros(const Quota& quota) {
  if ((quota.capacity == 0) == (quota.amount == 0)) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("{} is 0 and the {} is not; expected a rate of 0 alone, which blocks, "
                          "or tokens from 0.001 for both",
                          quota.amount == 0 ? "rate" : "burst or capacity",
                          quota.amount == 0 ? "capacity" : "rate"));
}

Result<std::int64_t> ParsePositiveSeconds(std::string_view part, std::string_view text) {
  return ParsePositive(part, text, kSeconds);
}

Result<Quota> ParseQuota(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view speed = text.substr(0, colon);
  const std::size_t slash = speed.find('/');
  Quota quota{.capacity = 0, .amount = 0, .period = kDefaultPeriod};

  WEIR_ASSIGN_OR_RETURN(quota.amount, ParseTokensFromZero("rate", speed.substr(0, slash)));
  if (slash != std::string_view::npos) {
    WEIR_ASSIGN_OR_RETURN(quota.period,
                          ParsePeriod("period", speed.substr(slash + 1), kPeriodRight));
  }
  quota.capacity = quota.amount;
  if (colon != std::string_view::npos) {
    WEIR_ASSIGN_OR_RETURN(quota.capacity, ParseTokensFromZero("burst", text.substr(colon + 1)));
  }
  WEIR_RETURN_IF_ERROR(CheckZeros(quota));
  return quota;
}

Result<LimitTerms> ParseTerms(std::string_view text) {
  const std::size_t tilde = text.find('~');
  LimitTerms terms;
  WEIR_ASSIGN_OR_RETURN(terms.quota, ParseQuota(text.substr(0, tilde)));
  if (tilde == std::string_view::npos) return terms;
  WEIR_ASSIGN_OR_RETURN(terms.allowance, ParseAllowance(text.substr(tilde + 1)));
  return terms;
}

Result<milliseconds> ParseAllowance(std::string_view text) {
  WEIR_ASSIGN_OR_RETURN(const std::int64_t millis, ParsePeriod("allowance", text, kAllowanceRight));
  if (milliseconds(millis) > kMaxAllowance) {
    return InvalidPart("allowance", text, "is too long", "at most 1min");
  }
  return milliseconds(millis);
}

std::string FormatAllowance(milliseconds allowance) { return FormatPeriod(allowance.count()); }

Status CheckAllowance(milliseconds allowance) {
  if (allowance >= milliseconds(0) && allowance <= kMaxAllowance) return {};
  return Fail(Code::kInvalidArgument, fmt::format("allowance is {} ms, allowed are 0 to {}",
                                                  allowance.count(), kMaxAllowance.count()));
}

std::string FormatQuota(const Quota& quota) {
  std::string text = FormatThousandths(quota.amount);
  if (quota.period != kDefaultPeriod) text += "/" + FormatPeriod(quota.period);
  if (quota.capacity != quota.amount) text += ":" + FormatThousandths(quota.capacity);
  return text;
}

}  // namespace weir
