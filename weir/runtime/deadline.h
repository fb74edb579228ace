// The latest instant at which a call may complete.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "weir/base/api.h"
#include "weir/base/time.h"

namespace weir {

/// An instant on the caller's monotonic clock, or never. Immutable.
class WEIR_API Deadline {
 public:
  static constexpr Deadline Never() { return Deadline({INT64_MAX}); }
  static constexpr Deadline At(Instant at) { return Deadline(at); }
  /// Returns a deadline `wait` from now, or Never() if that is beyond the range of an Instant; now
  /// if `wait` is negative.
  template <class Rep, class Period>
  static Deadline After(const Clock& clock, std::chrono::duration<Rep, Period> wait) {
    const Instant now = clock.Now();
    if (wait <= wait.zero()) return Deadline(now);
    // Compared in the caller's unit: a large number of seconds overflows as nanoseconds.
    using Wide = std::chrono::duration<std::int64_t, Period>;
    const auto longest = std::chrono::duration_cast<Wide>(Never().at_ - now);
    return wait >= longest ? Never() : Deadline(now + wait);
  }

  constexpr Instant at() const { return at_; }
  constexpr bool is_never() const { return at_ == Never().at_; }
  /// Returns true from the instant of the deadline on.
  constexpr bool ExpiredAt(Instant now) const { return now >= at_; }
  /// Returns the time that is left, at least 0.
  constexpr nanoseconds Left(Instant now) const { return std::max(at_ - now, nanoseconds(0)); }

  friend constexpr auto operator<=>(Deadline, Deadline) = default;

 private:
  explicit constexpr Deadline(Instant at) : at_(at) {}
  Instant at_;
};

}  // namespace weir
