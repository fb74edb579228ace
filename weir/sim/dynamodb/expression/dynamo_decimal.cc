#include "weir/sim/dynamodb/expression/dynamo_decimal.h"

#include <algorithm>
#include <cctype>

namespace weir::sim {
namespace {

constexpr int kMaxDigits = 38;
constexpr int kLargestPower = 125;
constexpr int kSmallestPower = -130;

tl::unexpected<Error> TooPrecise() {
  return Fail(Code::kInvalidArgument,
              "Attempting to store more than 38 significant digits in a Number");
}

tl::unexpected<Error> NotANumber(std::string_view text) {
  return Fail(Code::kInvalidArgument,
              "The parameter cannot be converted to a numeric value: " + std::string(text));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Removes and returns the leading digits of `text`.
std::string TakeDigits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), IsDigit);
  std::string digits(text.begin(), end);
  text.remove_prefix(digits.size());
  return digits;
}

bool TakeSign(std::string_view& text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  return negative;
}

/// Parses all of `text` as an exponent ("e-5"), or returns nothing. An empty text is 0.
std::optional<int> ReadExponent(std::string_view text) {
  if (text.empty()) return 0;
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  const bool negative = TakeSign(text);
  const std::string digits = TakeDigits(text);
  if (!text.empty() || digits.empty() || digits.size() > 6) return std::nullopt;
  return negative ? -std::stoi(digits) : std::stoi(digits);
}

}  // namespace

Decimal::Decimal(std::int64_t whole) {
  // 19 digits always fit.
  const auto magnitude = static_cast<std::uint64_t>(whole);
  *this = *Make(whole < 0, whole < 0 ? 0 - magnitude : magnitude, 0);
}

Result<Decimal> Decimal::Parse(std::string_view text) {
  std::string_view rest = text;
  const bool negative = TakeSign(rest);
  std::string digits = TakeDigits(rest);
  std::size_t places = 0;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    const std::string fraction = TakeDigits(rest);
    places = fraction.size();
    digits += fraction;
  }
  const std::optional<int> exponent = ReadExponent(rest);
  if (digits.empty() || !exponent || places > 1'000'000) return NotANumber(text);

  const std::size_t last = digits.find_last_not_of('0');
  if (last == std::string::npos) return Decimal();
  const auto dropped = static_cast<int>(digits.size() - 1 - last);
  digits.resize(last + 1);
  digits.erase(0, digits.find_first_not_of('0'));
  if (digits.size() > kMaxDigits) return TooPrecise();
  Digits value = 0;
  for (const char c : digits) value = value * 10 + static_cast<unsigned>(c - '0');
  return Make(negative, value, *exponent - static_cast<int>(places) + dropped);
}

Result<Decimal> Decimal::Make(bool negative, Digits digits, int exponent) {
  Decimal made;
  if (digits == 0) return made;
  for (; digits % 10 == 0; ++exponent) digits /= 10;
  const int count = CountDigits(digits);
  if (count > kMaxDigits) return TooPrecise();
  if (exponent + count - 1 > kLargestPower) {
    return Fail(Code::kInvalidArgument,
                "Number overflow. Attempting to store a number with magnitude larger than "
                "supported range");
  }
  if (exponent + count - 1 < kSmallestPower) {
    return Fail(Code::kInvalidArgument,
                "Number underflow. Attempting to store a number with magnitude smaller than "
                "supported range");
  }
  made.negative_ = negative;
  made.digits_ = digits;
  made.exponent_ = exponent;
  return made;
}

int Decimal::CountDigits(Digits digits) {
  int count = 0;
  for (; digits != 0; digits /= 10) ++count;
  return count;
}

Result<Decimal> Decimal::Plus(const Decimal& other) const {
  if (digits_ == 0) return other;
  if (other.digits_ == 0) return *this;
  if (exponent_ < other.exponent_) return other.Plus(*this);
  // The number with the lower exponent does not end in 0. So if the other one does not fit at the
  // lower exponent, the exact sum has too many digits.
  Digits high = digits_;
  for (int power = exponent_; power > other.exponent_; --power) {
    if (__builtin_mul_overflow(high, Digits{10}, &high)) return TooPrecise();
  }
  const Digits low = other.digits_;
  if (negative_ != other.negative_) {
    return high >= low ? Make(negative_, high - low, other.exponent_)
                       : Make(other.negative_, low - high, other.exponent_);
  }
  Digits sum = 0;
  if (__builtin_add_overflow(high, low, &sum)) return TooPrecise();
  return Make(negative_, sum, other.exponent_);
}

Result<Decimal> Decimal::Minus(const Decimal& other) const {
  Decimal opposite = other;
  if (opposite.digits_ != 0) opposite.negative_ = !opposite.negative_;
  return Plus(opposite);
}

std::string Decimal::ToString() const {
  std::string text;
  for (Digits rest = digits_; rest != 0; rest /= 10) {
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  if (text.empty()) return "0";
  if (exponent_ >= 0) {
    text.append(static_cast<std::size_t>(exponent_), '0');
  } else {
    const auto places = static_cast<std::size_t>(-exponent_);
    if (text.size() <= places) text.insert(0, places - text.size() + 1, '0');
    text.insert(text.size() - places, 1, '.');
  }
  return negative_ ? '-' + text : text;
}

std::optional<std::int64_t> Decimal::ToInt64() const {
  if (exponent_ < 0 || exponent_ > 18) return std::nullopt;
  __extension__ using Wide = __int128;
  Wide value = negative_ ? -static_cast<Wide>(digits_) : static_cast<Wide>(digits_);
  for (int power = 0; power < exponent_; ++power) {
    if (__builtin_mul_overflow(value, Wide{10}, &value)) return std::nullopt;
  }
  if (value < INT64_MIN || value > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::size_t Decimal::Size() const {
  const auto digits = static_cast<std::size_t>(CountDigits(digits_));
  return (digits + 1) / 2 + 1 + (negative_ ? 1 : 0);
}

std::strong_ordering operator<=>(const Decimal& a, const Decimal& b) {
  const auto sign = [](const Decimal& d) { return d.digits_ == 0 ? 0 : d.negative_ ? -1 : 1; };
  if (sign(a) != sign(b) || sign(a) == 0) return sign(a) <=> sign(b);
  if (a.negative_) {
    Decimal up = b;
    Decimal down = a;
    up.negative_ = down.negative_ = false;
    return up <=> down;
  }
  const auto power = [](const Decimal& d) { return d.exponent_ + Decimal::CountDigits(d.digits_); };
  if (power(a) != power(b)) return power(a) <=> power(b);
  // Both have the same power, so either one fits at the other's exponent.
  Decimal::Digits left = a.digits_;
  Decimal::Digits right = b.digits_;
  for (int at = a.exponent_; at > b.exponent_; --at) left *= 10;
  for (int at = b.exponent_; at > a.exponent_; --at) right *= 10;
  return left <=> right;
}

}  // namespace weir::sim
