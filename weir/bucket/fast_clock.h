// Clocks for the limiters inside a process. They are cheap enough to be read for every decision.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <ctime>

#include "weir/base/api.h"
#include "weir/base/time.h"

namespace weir {

/// Nanoseconds since some origin, readable from any thread. The time should not run backwards; a
/// limiter adds no tokens while it does. A limiter keeps a copy of its clock, so all copies must
/// show the same time.
template <class T>
concept NanoClock = std::copyable<T> && requires(const T& clock) {
  { clock.Nanos() } -> std::same_as<std::int64_t>;
};

inline std::int64_t NanosOf(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Reads CLOCK_MONOTONIC: exact, about 20 ns for each read.
struct WEIR_API SteadyClock {
  std::int64_t Nanos() const { return NanosOf(CLOCK_MONOTONIC); }
};

/// Reads CLOCK_MONOTONIC_COARSE: about 5 ns for each read, advances once in a kernel tick (1 to 10
/// ms).
struct WEIR_API CoarseClock {
  std::int64_t Nanos() const { return NanosOf(CLOCK_MONOTONIC_COARSE); }
};

/// Reads one word that other code keeps up to date (an event loop once in each iteration, or a
/// timer thread), in less than 1 ns. For a limiter, time does not advance between two updates. The
/// word must hold a real time before a limiter is created with this clock. `word` must outlive all
/// copies.
class WEIR_API CachedClock {
 public:
  explicit CachedClock(const std::atomic<std::int64_t>& word) : word_(&word) {}
  std::int64_t Nanos() const { return word_->load(std::memory_order_relaxed); }

 private:
  const std::atomic<std::int64_t>* word_;
};

/// Reads any weir::Clock through its virtual call, for simulations and for code where speed does
/// not matter. `clock` must outlive all copies.
class ClockView {
 public:
  ClockView(const Clock& clock) : clock_(&clock) {}  // NOLINT(google-explicit-constructor)
  std::int64_t Nanos() const { return clock_->Now().nanos; }

 private:
  const Clock* clock_;
};

}  // namespace weir
