// Time, in two kinds that do not convert into each other.
//
// `Instant` measures: deadlines, timers, latencies. It is monotonic and means nothing outside the
// clock it came from. `UnixMillis` leaves the process: buckets that are stored, shared or replayed
// are kept in it. Both are plain values. (The separation follows kj/time.h.)
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace weir {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// A point on a monotonic clock, in nanoseconds since an origin that is not specified.
/// Instants of two different clocks must not be compared.
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

/// Where time comes from. Everything below `main` is given one; only `main` makes a `SystemClock`.
/// Implementations may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Never goes backwards.
  virtual Instant Now() const = 0;
  /// May jump, forwards and backwards, when the machine's clock is set.
  virtual UnixMillis WallNow() const = 0;
  /// Time since the machine started, suspension included if the machine counts it. Never goes
  /// backwards until the next start, and does not follow the wall clock. By default a machine that
  /// is never suspended.
  virtual nanoseconds BootNow() const { return nanoseconds(Now().nanos); }
};

/// The machine's clocks: CLOCK_MONOTONIC, CLOCK_REALTIME and CLOCK_BOOTTIME.
class SystemClock final : public Clock {
 public:
  Instant Now() const override;
  UnixMillis WallNow() const override;
  nanoseconds BootNow() const override;
};

}  // namespace weir
