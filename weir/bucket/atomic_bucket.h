// One limit inside the process, in one atomic word. Mechanism: docs/design/in-process.md.
//
//   weir::AtomicBucket calls(weir::PerSecond(1000).Burst(100), weir::SteadyClock());
//   if (!calls.TryTake(1)) return Busy();
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "weir/base/result.h"
#include "weir/bucket/fast_clock.h"
#include "weir/bucket/gcra.h"
#include "weir/bucket/quota.h"

namespace weir {

/// Admits at most capacity + rate * t whole tokens in any interval t of its clock; starts full.
/// Any thread may call anything at any time; no call waits or allocates. Nothing is ordered with
/// the caller's other memory. Tokens come back at the quota's rate where that is a whole number of
/// time units, and otherwise slower by rate_error().
///
/// Lifetime: at least ten years from construction (Gcra::life_nanos); after that nothing comes
/// back. Time that runs backwards gives nothing, and refuses until it has caught up.
template <NanoClock C>
class alignas(64) AtomicBucket {
 public:
  /// REQUIRES: Gcra::For(quota) succeeds; ends the program otherwise. Make() checks instead.
  AtomicBucket(const Quota& quota, C clock) : AtomicBucket(Gcra::Require(quota), clock) {}
  AtomicBucket(const Gcra& gcra, C clock)
      : gcra_(gcra), origin_(static_cast<std::uint64_t>(clock.Nanos())), clock_(clock) {}
  /// kInvalidArgument for a quota that cannot be kept (Gcra::For).
  static Result<std::unique_ptr<AtomicBucket>> Make(const Quota& quota, C clock) {
    WEIR_ASSIGN_OR_RETURN(const Gcra gcra, Gcra::For(quota));
    return std::make_unique<AtomicBucket>(gcra, clock);
  }

  AtomicBucket(const AtomicBucket&) = delete;
  AtomicBucket& operator=(const AtomicBucket&) = delete;

  /// Takes n tokens or none. A refusal only reads. 0 is always admitted; less than 0 or more than
  /// the capacity is never (RetryAfter tells kNever).
  bool TryTake(std::int64_t n = 1) {
    if (n <= 0) return n == 0;
    if (!gcra_.CanAdmit(n)) return false;
    const std::uint64_t now = Now();
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      std::uint64_t next = word;
      if (!gcra_.TakeOften(next, now, n)) return false;
      if (Replace(word, next)) return true;
    }
  }

  /// Takes as many as there are, but not less than `least` nor more than `most`; returns how many,
  /// or 0. REQUIRES: 0 < least <= most.
  std::int64_t TakeBetween(std::int64_t least, std::int64_t most) {
    if (!gcra_.CanAdmit(least)) return 0;
    const std::uint64_t now = Now();
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      std::uint64_t next = word;
      const std::int64_t taken = gcra_.TakeBetween(next, now, least, most);
      if (taken == 0 || Replace(word, next)) return taken;
    }
  }

  /// Gives n tokens back that were taken and not used; stops at the capacity. REQUIRES: n >= 0.
  void Return(std::int64_t n) {
    const std::uint64_t now = Now();
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      std::uint64_t next = word;
      gcra_.Return(next, now, n);
      if (next == word || Replace(word, next)) return;
    }
  }

  /// The smallest wait after which TryTake(n) succeeds if nothing else happens; 0 if it would now,
  /// kNever if it never will.
  nanoseconds RetryAfter(std::int64_t n = 1) const {
    return gcra_.RetryAfter(word_.load(std::memory_order_relaxed), Elapsed(), n);
  }

  /// Whole tokens that are there.
  std::int64_t Available() const {
    return gcra_.Available(word_.load(std::memory_order_relaxed), Now());
  }

  /// How much slower than asked tokens come back: 0 if the rate is kept exactly, 0.01 for 1 %.
  double rate_error() const { return gcra_.rate_error; }
  std::int64_t capacity() const { return static_cast<std::int64_t>(gcra_.capacity); }

 private:
  // Wraps where a broken clock jumps across its whole range; At() clamps what comes out.
  std::int64_t Elapsed() const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(clock_.Nanos()) - origin_);
  }
  std::uint64_t Now() const { return gcra_.At(Elapsed()); }
  bool Replace(std::uint64_t& word, std::uint64_t next) {
    return word_.compare_exchange_weak(word, next, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> word_{0};
  const Gcra gcra_;
  const std::uint64_t origin_;
  const C clock_;
};

AtomicBucket(const Quota&, const Clock&) -> AtomicBucket<ClockView>;
template <NanoClock C>
AtomicBucket(const Quota&, C) -> AtomicBucket<C>;

}  // namespace weir
