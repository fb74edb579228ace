// Clocks for the limiters inside a process, cheap enough to be read for every decision.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <ctime>

#include "weir/base/time.h"

namespace weir {

/// Nanoseconds since some origin, from any thread. It should not run backwards; a limiter gives
/// nothing for time that does. Copies must tell the same time: a limiter keeps one.
template <class T>
concept NanoClock = std::copyable<T> && requires(const T& clock) {
  { clock.Nanos() } -> std::same_as<std::int64_t>;
};

inline std::int64_t NanosOf(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// CLOCK_MONOTONIC: about 20 ns to read, exact.
struct SteadyClock {
  std::int64_t Nanos() const { return NanosOf(CLOCK_MONOTONIC); }
};

/// CLOCK_MONOTONIC_COARSE: about 5 ns to read, moves once a kernel tick (1 to 10 ms).
struct CoarseClock {
  std::int64_t Nanos() const { return NanosOf(CLOCK_MONOTONIC_COARSE); }
};

/// Reads one word that somebody else keeps up to date (an event loop once a turn, a timer thread),
/// below 1 ns. A limiter sees time stand still in between. Store a real time in the word before a
/// limiter is made with this clock. `word` must outlive all copies.
class CachedClock {
 public:
  explicit CachedClock(const std::atomic<std::int64_t>& word) : word_(&word) {}
  std::int64_t Nanos() const { return word_->load(std::memory_order_relaxed); }

 private:
  const std::atomic<std::int64_t>* word_;
};

/// Any weir::Clock, through its virtual call: for simulations and where speed does not matter.
/// `clock` must outlive all copies.
class ClockView {
 public:
  ClockView(const Clock& clock) : clock_(&clock) {}  // NOLINT(google-explicit-constructor)
  std::int64_t Nanos() const { return clock_->Now().nanos; }

 private:
  const Clock* clock_;
};

}  // namespace weir
