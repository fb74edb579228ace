// Numbers that many threads change for about two nanoseconds a change.
// Mechanism and measurements: docs/design/metrics.md.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "weir/telemetry/thread_slot.h"

namespace weir {

/// Only grows; wraps at 2^64. Any thread may call anything at any time. 1 KiB.
class Counter {
 public:
  Counter() = default;
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void Add(std::uint64_t n = 1) {
    slots_[ThreadSlot() % kSlots].value.fetch_add(n, std::memory_order_relaxed);
  }
  /// Exact once the threads that added are synchronised with; while they add, some number that was
  /// reached on the way. Never less than this reader read before.
  std::uint64_t Value() const;

 private:
  static constexpr std::size_t kSlots = 16;
  struct alignas(kCacheLine) Slot {
    std::atomic<std::uint64_t> value = 0;
  };
  std::array<Slot, kSlots> slots_;
};

/// Goes up and down. One word: for what changes seldom or is set. Any thread.
class Gauge {
 public:
  Gauge() = default;
  Gauge(const Gauge&) = delete;
  Gauge& operator=(const Gauge&) = delete;

  void Set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  /// May be negative.
  void Add(std::int64_t delta) { value_.fetch_add(delta, std::memory_order_relaxed); }
  std::int64_t Value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_ = 0;
};

}  // namespace weir
