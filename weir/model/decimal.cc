#include "weir/model/decimal.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {
namespace {

constexpr std::size_t kPlaces = 3;

bool IsDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns false on overflow.
bool AppendDigits(std::string_view digits, std::uint64_t& value) {
  for (const char c : digits) {
    if (__builtin_mul_overflow(value, 10U, &value)) return false;
    if (__builtin_add_overflow(value, static_cast<std::uint64_t>(c - '0'), &value)) return false;
  }
  return true;
}

}  // namespace

std::string_view Describe(DecimalFault fault) {
  switch (fault) {
    case DecimalFault::kNotANumber:
      return "is not a number";
    case DecimalFault::kTooPrecise:
      return "has more than three decimals";
    case DecimalFault::kTooLarge:
      return "is too large";
  }
  return "is not right";
}

tl::expected<std::int64_t, DecimalFault> ParseThousandths(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view places =
      point == std::string_view::npos ? std::string_view("0") : text.substr(point + 1);
  if (!IsDigits(whole) || !IsDigits(places)) return tl::unexpected(DecimalFault::kNotANumber);
  if (places.size() > kPlaces) return tl::unexpected(DecimalFault::kTooPrecise);

  const std::uint64_t largest = static_cast<std::uint64_t>(INT64_MAX) + (negative ? 1 : 0);
  std::uint64_t magnitude = 0;
  if (!AppendDigits(whole, magnitude) || !AppendDigits(places, magnitude) ||
      !AppendDigits(std::string_view("000").substr(places.size()), magnitude) ||
      magnitude > largest) {
    return tl::unexpected(DecimalFault::kTooLarge);
  }
  // Negated as unsigned: the smallest number has no positive counterpart.
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

std::string FormatThousandths(std::int64_t thousandths) {
  const bool negative = thousandths < 0;
  const auto bits = static_cast<std::uint64_t>(thousandths);
  const std::uint64_t magnitude = negative ? 0 - bits : bits;
  std::string text =
      fmt::format("{}{}.{:03}", negative ? "-" : "", magnitude / 1000, magnitude % 1000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace weir
