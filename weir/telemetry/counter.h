// Counters and gauges that many threads update at a cost of about two nanoseconds for each update.
// Mechanism and measurements: docs/design/metrics.md.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "weir/base/api.h"
#include "weir/telemetry/thread_number.h"

namespace weir {

/// A number that only grows; it wraps at 2^64. Any thread may call any method at any time. A
/// counter occupies 1 KiB.
class WEIR_API Counter {
 public:
  Counter() = default;
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void Add(std::uint64_t n = 1) {
    slots_[ThreadNumber() % kSlots].value.fetch_add(n, std::memory_order_relaxed);
  }
  /// Returns the sum of all additions. It is exact if the adding threads have synchronised with the
  /// caller. Otherwise it is between the sum before the call and the sum after it, and may be a
  /// value that the sum never had. A thread never gets less than in an earlier call.
  std::uint64_t Value() const;

 private:
  static constexpr std::size_t kSlots = 16;
  struct alignas(kCacheLine) Slot {
    std::atomic<std::uint64_t> value = 0;
  };
  // A thread adds to one slot, so threads rarely share a cache line.
  std::array<Slot, kSlots> slots_;
};

/// A number that goes up and down. It is a single atomic and not striped like Counter, so it is for
/// values that change seldom or that are set. Any thread may call any method at any time.
class WEIR_API Gauge {
 public:
  Gauge() = default;
  Gauge(const Gauge&) = delete;
  Gauge& operator=(const Gauge&) = delete;

  void Set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  /// `delta` may be negative.
  void Add(std::int64_t delta) { value_.fetch_add(delta, std::memory_order_relaxed); }
  std::int64_t Value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_ = 0;
};

}  // namespace weir
