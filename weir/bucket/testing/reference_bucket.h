// A second implementation of the bucket: slow, obvious, in exact fractions. For tests only. It
// shares no arithmetic with bucket.cc.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <stdexcept>

#include "weir/bucket/quota.h"

namespace weir {

__extension__ using WideInt = __int128;

/// The number whole + part / parts, with 0 <= part < parts. Throws std::overflow_error if a
/// denominator does not fit in 63 bits.
class Fraction {
 public:
  Fraction(WideInt whole = 0) : Fraction(whole, 1) {}  // NOLINT(google-explicit-constructor)
  Fraction(WideInt dividend, WideInt divisor) : whole_(dividend / divisor), parts_(divisor) {
    part_ = dividend - whole_ * divisor;
    if (part_ < 0) {
      part_ += divisor;
      whole_ -= 1;
    }
    Shorten();
  }

  /// Returns the largest whole number that is not larger.
  WideInt floor() const { return whole_; }
  /// Returns the smallest whole number that is not smaller.
  WideInt ceil() const { return part_ == 0 ? whole_ : whole_ + 1; }

  friend Fraction operator+(const Fraction& a, const Fraction& b) {
    Fraction sum(a.part_ * b.parts_ + b.part_ * a.parts_, a.parts_ * b.parts_);
    sum.whole_ += a.whole_ + b.whole_;
    return sum;
  }
  friend Fraction operator-(const Fraction& a) {
    Fraction negative(-a.part_, a.parts_);
    negative.whole_ -= a.whole_;
    return negative;
  }
  friend Fraction operator-(const Fraction& a, const Fraction& b) { return a + -b; }
  friend bool operator==(const Fraction& a, const Fraction& b) { return (a <=> b) == 0; }
  friend std::strong_ordering operator<=>(const Fraction& a, const Fraction& b) {
    if (a.whole_ != b.whole_) return a.whole_ <=> b.whole_;
    return a.part_ * b.parts_ <=> b.part_ * a.parts_;
  }

 private:
  void Shorten() {
    WideInt a = part_;
    WideInt b = parts_;
    while (a != 0) {
      const WideInt rest = b % a;
      b = a;
      a = rest;
    }
    part_ /= b;
    parts_ /= b;
    if (parts_ > INT64_MAX) throw std::overflow_error("the fraction became too fine");
  }

  WideInt whole_;
  WideInt part_;
  WideInt parts_;
};

/// One limit: a level that rises with time up to the capacity, and falls when tokens are taken.
struct ReferenceLimit {
  Quota quota;
  Fraction level;

  void Pass(std::int64_t elapsed) {
    if (elapsed <= 0) return;
    const Fraction gain(WideInt{elapsed} * quota.amount, quota.period);
    level = std::min(level + gain, Fraction(quota.capacity));
  }
  bool Admits(std::int64_t amount) const { return amount == 0 || level >= Fraction(amount); }
  void Change(std::int64_t delta) {
    level = std::min(level - Fraction(delta), Fraction(quota.capacity));
  }
};

}  // namespace weir
