// DynamoDB's numbers: exact decimals of up to 38 digits.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::sim {

/// A normalised number: equal numbers are equal objects. Magnitudes are from 1e-130 to below 1e126.
class Decimal {
 public:
  Decimal() = default;
  explicit Decimal(std::int64_t whole);
  /// Parses an optional sign, digits with an optional point, and an optional exponent. Returns
  /// kInvalidArgument, with AWS's message, if the text is not a number, has more than 38 digits, or
  /// is out of range.
  static Result<Decimal> Parse(std::string_view text);

  /// Computes the exact result, or returns kInvalidArgument if it does not fit.
  Result<Decimal> Plus(const Decimal& other) const;
  Result<Decimal> Minus(const Decimal& other) const;

  /// Formats the number as AWS does: without an exponent and without redundant zeros.
  std::string ToString() const;
  /// Returns nothing if the number has a fraction or does not fit.
  std::optional<std::int64_t> ToInt64() const;
  /// Returns the bytes that AWS bills: about one for two digits, plus one.
  std::size_t Size() const;

  friend std::strong_ordering operator<=>(const Decimal& a, const Decimal& b);
  friend bool operator==(const Decimal&, const Decimal&) = default;

 private:
  __extension__ using Digits = unsigned __int128;

  static Result<Decimal> Make(bool negative, Digits digits, int exponent);
  static int CountDigits(Digits digits);

  bool negative_ = false;
  Digits digits_ = 0;  ///< below 10^38, and not a multiple of 10 unless it is 0
  int exponent_ = 0;   ///< the number is digits_ * 10^exponent_; 0 for 0
};

}  // namespace weir::sim
