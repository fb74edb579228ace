// DynamoDB's numbers: exact decimals of up to 38 digits.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::sim {

/// A value, normalised: equal numbers are equal objects. Magnitudes from 1e-130 to under 1e126.
class Decimal {
 public:
  Decimal() = default;
  explicit Decimal(std::int64_t whole);
  /// Sign, digits with or without a point, exponent with or without. kInvalidArgument with AWS's
  /// words for what is no number, has more than 38 digits or is too large or too small.
  static Result<Decimal> Parse(std::string_view text);

  /// Exact. kInvalidArgument where the result does not fit.
  Result<Decimal> Plus(const Decimal& other) const;
  Result<Decimal> Minus(const Decimal& other) const;

  /// As AWS returns it: no exponent, no zeros that say nothing.
  std::string ToString() const;
  /// Nothing if there is a fraction or it does not fit.
  std::optional<std::int64_t> ToInt64() const;
  /// Bytes that AWS bills: about one for two digits, and one more.
  std::size_t Size() const;

  friend std::strong_ordering operator<=>(const Decimal& a, const Decimal& b);
  friend bool operator==(const Decimal&, const Decimal&) = default;

 private:
  __extension__ using Digits = unsigned __int128;

  static Result<Decimal> Make(bool negative, Digits digits, int exponent);
  static int CountDigits(Digits digits);

  bool negative_ = false;
  Digits digits_ = 0;  ///< under 10^38, not ending in 0 unless it is 0
  int exponent_ = 0;   ///< the number is digits_ * 10^exponent_; 0 for 0
};

}  // namespace weir::sim
