// The arithmetic of the generic cell rate algorithm on one 64-bit word. Mechanism:
// docs/design/in-process.md.
//
// The word is the theoretical arrival time: the time at which the bucket is full again.
//
//                 now              word              now + span
//    -------------+----------------+-----------------+---------> time
//                  <- used tokens -> <- tokens left ->
//
// A take of n tokens moves the word ahead by n * cost; it is admitted if the word is then at most
// `span` ahead of now. Times are counted from an origin that the caller chooses, in units of
// 1/units_per_nano ns. Everything here is a value or a pure function; the limiters add the atomic
// or the lock, and the clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/bucket/quota.h"

namespace weir {

/// The wait for a request that can never be admitted.
inline constexpr nanoseconds kNever = nanoseconds::max();

/// A limit, converted to time units.
///
/// Lifetime: the word is valid for `life_nanos` from its origin, at least ten years and up to 292
/// years. After that, time does not advance for this limiter: the remaining tokens can be taken,
/// and none come back.
struct WEIR_API Gcra {
  /// Returns kInvalidArgument if Validate(quota) fails, if the capacity is below one whole token,
  /// if a refill from empty to full takes more than 100 years, or if rounding would slow the rate
  /// by more than 10 % (beyond about 5 * 10^10 tokens a second).
  static Result<Gcra> For(const Quota& quota);
  /// REQUIRES: For(quota) succeeds; otherwise prints the reason and aborts.
  static Gcra Require(const Quota& quota);

  std::uint64_t cost = 0;        ///< units in which one token comes back, rounded up
  std::uint64_t span = 0;        ///< units in which an empty bucket becomes full
  std::uint64_t capacity = 0;    ///< whole tokens
  std::uint64_t life_nanos = 0;  ///< the lifetime of the word, from its origin
  /// Chosen so that `cost` is exact, or has the smallest relative error.
  std::uint32_t units_per_nano = 0;
  /// By how much the rate is below the requested one: 0 if the cost is exact, 0.01 for 1 %.
  float rate_error = 0;

  /// Returns the time `elapsed_nanos` after the origin, in units. A time before the origin counts
  /// as 0; a time after the lifetime counts as the end of the lifetime.
  std::uint64_t At(std::int64_t elapsed_nanos) const {
    const bool in_life = static_cast<std::uint64_t>(elapsed_nanos) <= life_nanos;
    if (!in_life) [[unlikely]] {
      elapsed_nanos = elapsed_nanos < 0 ? 0 : static_cast<std::int64_t>(life_nanos);
    }
    return static_cast<std::uint64_t>(elapsed_nanos) * units_per_nano;
  }
  /// Returns false if no state admits n tokens at once: n is negative or above the capacity.
  bool CanAdmit(std::int64_t n) const {
    // A single token always fits. If n is the constant 1, the compiler removes the test.
    return n == 1 || static_cast<std::uint64_t>(n) <= capacity;
  }

  /// Takes n tokens: moves the word and returns true, or leaves it unchanged and returns false.
  /// REQUIRES: CanAdmit(n).
  bool Take(std::uint64_t& word, std::uint64_t now, std::int64_t n) const {
    const std::uint64_t step = static_cast<std::uint64_t>(n) * cost;
    if (word > now + (span - step)) return false;
    word = std::max(word, now) + step;
    return true;
  }
  /// Like Take, but for a word that many takes change in quick succession. It chooses the new word
  /// by a branch, which is mostly predicted. Take chooses it by a conditional move, and a
  /// compare-and-swap would have to wait for the result of that move.
  bool TakeFromHotWord(std::uint64_t& word, std::uint64_t now, std::int64_t n) const {
    const std::uint64_t step = static_cast<std::uint64_t>(n) * cost;
    if (word > now + (span - step)) return false;
    const bool is_full = __builtin_expect_with_probability(word < now, 0, 0.999);
    word = is_full ? now + step : word + step;
    return true;
  }
  /// Takes as many tokens as are available, but at least `least` and at most `most`. Returns the
  /// number of tokens taken; if it is 0, the word is unchanged. REQUIRES: 0 < least <= most;
  /// CanAdmit(least).
  std::int64_t TakeBetween(std::uint64_t& word, std::uint64_t now, std::int64_t least,
                           std::int64_t most) const {
    if (word > now + (span - static_cast<std::uint64_t>(least) * cost)) return 0;
    const std::int64_t taken = std::min(Available(word, now), most);
    word = std::max(word, now) + static_cast<std::uint64_t>(taken) * cost;
    return taken;
  }
  /// Gives n tokens back, up to the capacity. No effect if n <= 0.
  void Return(std::uint64_t& word, std::uint64_t now, std::int64_t n) const {
    if (word <= now || n <= 0) return;
    const bool becomes_full = !CanAdmit(n) || static_cast<std::uint64_t>(n) * cost >= word - now;
    word = becomes_full ? now : word - static_cast<std::uint64_t>(n) * cost;
  }
  /// Returns the number of whole tokens that are available.
  std::int64_t Available(std::uint64_t word, std::uint64_t now) const {
    if (word <= now) return static_cast<std::int64_t>(capacity);
    return word - now >= span ? 0 : static_cast<std::int64_t>((span - (word - now)) / cost);
  }
  /// Returns the smallest wait, counted from `elapsed_nanos` after the origin, after which n tokens
  /// are admitted if the word does not change; kNever if that is after the lifetime or if n is
  /// above the capacity; 0 if n <= 0.
  nanoseconds RetryAfter(std::uint64_t word, std::int64_t elapsed_nanos, std::int64_t n) const;
};

/// Prints the message and aborts. For constructors whose REQUIRES does not hold.
[[noreturn]] WEIR_API void AbortForInvalidLimit(const Error& error);

}  // namespace weir
