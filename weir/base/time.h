// Time, in two kinds that do not convert into each other.
//
// `Instant` is for measuring: deadlines, timers, latencies. It is monotonic and has no meaning
// outside the clock that returned it. `UnixMillis` is for time that leaves the process: the times
// of buckets that are stored, shared or replayed. Both are plain values. (The separation follows
// kj/time.h.)
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

#include "weir/base/api.h"

namespace weir {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// A point on a monotonic clock, in nanoseconds since an unspecified origin. Instants of two
/// different clocks must not be compared.
struct Instant {
  std::int64_t nanos = 0;

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant at, nanoseconds d) { return {at.nanos + d.count()}; }
  friend constexpr Instant operator-(Instant at, nanoseconds d) { return {at.nanos - d.count()}; }
  friend constexpr nanoseconds operator-(Instant a, Instant b) {
    return nanoseconds(a.nanos - b.nanos);
  }
};

/// Whole milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
struct UnixMillis {
  std::int64_t value = 0;

  friend constexpr auto operator<=>(UnixMillis, UnixMillis) = default;
  friend constexpr UnixMillis operator+(UnixMillis at, milliseconds d) {
    return {at.value + d.count()};
  }
  friend constexpr UnixMillis operator-(UnixMillis at, milliseconds d) {
    return {at.value - d.count()};
  }
  friend constexpr milliseconds operator-(UnixMillis a, UnixMillis b) {
    return milliseconds(a.value - b.value);
  }
};

/// A source of time. All code below `main` gets one as a parameter; only `main` creates a
/// `SystemClock`. Implementations may be called from any thread.
class WEIR_API Clock {
 public:
  virtual ~Clock() = default;
  /// Returns the time that deadlines and timers count, which never goes backwards. It includes a
  /// suspension if BootNow does: deadlines, and tokens held in advance, may have expired when the
  /// suspension ends.
  virtual Instant Now() const = 0;
  /// Returns the wall time, which may jump forwards and backwards when the machine's clock is set.
  virtual UnixMillis WallNow() const = 0;
  /// Returns the time since the machine started, including suspension if the machine counts it. It
  /// never goes backwards until the next start, and does not follow the wall clock. The default is
  /// right if the origin of Now is the start of the machine.
  virtual nanoseconds BootNow() const { return nanoseconds(Now().nanos); }
};

/// The machine's clocks: CLOCK_BOOTTIME, which is monotonic, and CLOCK_REALTIME for WallNow.
class WEIR_API SystemClock final : public Clock {
 public:
  Instant Now() const override;
  UnixMillis WallNow() const override;
};

}  // namespace weir
