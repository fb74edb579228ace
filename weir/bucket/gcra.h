// Generic cell rate arithmetic on one 64-bit word. Mechanism: docs/design/in-process.md.
//
// The word is the theoretical arrival time: the instant at which the bucket is full again. A take
// of n tokens moves it n * cost ahead, and is admitted if it then is no more than `span` ahead of
// now. Times are counted from an origin of the user's choice, in units of 1/units_per_nano ns.
// All of it is values and pure functions; the limiters of this room add the atomic and the clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/bucket/quota.h"

namespace weir {

/// The wait for what can never be admitted.
inline constexpr nanoseconds kNever = nanoseconds::max();

/// A limit, translated into time units.
///
/// Lifetime: the word serves for `life_nanos` from its origin, at least ten years and up to 292.
/// After that time stands still for it: what is left is given, nothing comes back.
struct Gcra {
  /// kInvalidArgument where Validate(quota) fails, where the capacity is below one whole token,
  /// where filling up takes more than 100 years, and where rounding would slow the rate by more
  /// than 10 % (beyond about 5 * 10^10 tokens a second).
  static Result<Gcra> For(const Quota& quota);
  /// REQUIRES: For(quota) succeeds. Ends the program with the reason otherwise.
  static Gcra Require(const Quota& quota);

  std::uint64_t cost = 0;      ///< units for one token to come back, rounded up
  std::uint64_t span = 0;      ///< units from empty to full
  std::uint64_t capacity = 0;  ///< whole tokens
  std::uint64_t life_nanos = 0;
  std::uint32_t units_per_nano = 0;  ///< chosen so that `cost` is exact, or as near as can be
  /// How much slower than asked tokens come back: 0 where the cost is exact, 0.01 for 1 %.
  float rate_error = 0;

  /// The instant this long after the origin; before it is as at it.
  std::uint64_t At(std::int64_t elapsed_nanos) const {
    const bool in_life = static_cast<std::uint64_t>(elapsed_nanos) <= life_nanos;
    if (!in_life) [[unlikely]] {
      elapsed_nanos = elapsed_nanos < 0 ? 0 : static_cast<std::int64_t>(life_nanos);
    }
    return static_cast<std::uint64_t>(elapsed_nanos) * units_per_nano;
  }
  /// False if no state admits n at once: n is negative or over the capacity.
  bool CanAdmit(std::int64_t n) const {
    // One always fits; where n is the constant 1, nothing is left of this.
    return n == 1 || static_cast<std::uint64_t>(n) <= capacity;
  }

  /// Takes n: moves the word and returns true, or leaves it alone. REQUIRES: CanAdmit(n).
  bool Take(std::uint64_t& word, std::uint64_t now, std::int64_t n) const {
    const std::uint64_t step = static_cast<std::uint64_t>(n) * cost;
    if (word > now + (span - step)) return false;
    word = std::max(word, now) + step;
    return true;
  }
  /// The same for one word that is taken from again and again: a branch that is predicted well
  /// where Take has a conditional move, which a compare-and-swap would wait for.
  bool TakeOften(std::uint64_t& word, std::uint64_t now, std::int64_t n) const {
    const std::uint64_t step = static_cast<std::uint64_t>(n) * cost;
    if (word > now + (span - step)) return false;
    const bool full = __builtin_expect_with_probability(word < now, 0, 0.999);
    word = full ? now + step : word + step;
    return true;
  }
  /// Takes as many as there are, but not less than `least` nor more than `most`. Returns how many;
  /// 0 leaves the word alone. REQUIRES: 0 < least <= most; CanAdmit(least).
  std::int64_t TakeBetween(std::uint64_t& word, std::uint64_t now, std::int64_t least,
                           std::int64_t most) const {
    if (word > now + (span - static_cast<std::uint64_t>(least) * cost)) return 0;
    const std::int64_t taken = std::min(Available(word, now), most);
    word = std::max(word, now) + static_cast<std::uint64_t>(taken) * cost;
    return taken;
  }
  /// Gives n back, up to the capacity. REQUIRES: n >= 0.
  void Return(std::uint64_t& word, std::uint64_t now, std::int64_t n) const {
    if (word <= now) return;
    const bool fills = !CanAdmit(n) || static_cast<std::uint64_t>(n) * cost >= word - now;
    word = fills ? now : word - static_cast<std::uint64_t>(n) * cost;
  }
  /// Whole tokens that are there.
  std::int64_t Available(std::uint64_t word, std::uint64_t now) const {
    if (word <= now) return static_cast<std::int64_t>(capacity);
    return word - now >= span ? 0 : static_cast<std::int64_t>((span - (word - now)) / cost);
  }
  /// The smallest wait, counted from this long after the origin, at whose end n are admitted if
  /// nothing else happens; kNever if that is not within the lifetime or n is over the capacity.
  nanoseconds RetryAfter(std::uint64_t word, std::int64_t elapsed_nanos, std::int64_t n) const;
};

/// Prints the message and aborts: for constructors whose REQUIRES was ignored.
[[noreturn]] void EndForBadLimit(const Error& error);

}  // namespace weir
