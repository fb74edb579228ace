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

/// Admits at most capacity + rate * t whole tokens in any interval t of its clock. The bucket
/// starts full. Any thread may call any method at any time. No call blocks or allocates: a call
/// repeats its step only if another thread has changed the state in between. Tokens come back
/// exactly at the quota's rate if one token takes a whole number of time units, otherwise slower by
/// rate_error().
///
/// Memory order: the calls synchronise with nothing. A successful TryTake does not order the
/// caller's other memory accesses.
///
/// Lifetime: at least ten years from construction (Gcra::life_nanos); after that no tokens come
/// back. If the clock runs backwards, no tokens come back, and those that have come back since the
/// earlier time are not available until the clock has caught up.
template <NanoClock C>
class alignas(64) AtomicBucket {
 public:
  /// REQUIRES: Gcra::For(quota) succeeds; otherwise the program aborts. Make() returns an error
  /// instead.
  AtomicBucket(const Quota& quota, C clock) : AtomicBucket(Gcra::Require(quota), clock) {}
  AtomicBucket(const Gcra& gcra, C clock)
      : gcra_(gcra), origin_(static_cast<std::uint64_t>(clock.Nanos())), clock_(clock) {}
  /// Returns kInvalidArgument for a quota that Gcra::For refuses.
  static Result<std::unique_ptr<AtomicBucket>> Make(const Quota& quota, C clock) {
    WEIR_ASSIGN_OR_RETURN(const Gcra gcra, Gcra::For(quota));
    return std::make_unique<AtomicBucket>(gcra, clock);
  }

  AtomicBucket(const AtomicBucket&) = delete;
  AtomicBucket& operator=(const AtomicBucket&) = delete;

  /// Takes n tokens or none. Returns true if it took them. A refused call does not write. An n of 0
  /// is always admitted; a negative n, or one above the capacity, never is.
  bool TryTake(std::int64_t n = 1) {
    if (n <= 0) return n == 0;
    if (!gcra_.CanAdmit(n)) return false;
    const std::uint64_t now = Now();
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      std::uint64_t next = word;
      if (!gcra_.TakeFromHotWord(next, now, n)) return false;
      if (Replace(word, next)) return true;
    }
  }

  /// Takes as many tokens as are available, but at least `least` and at most `most`. Returns the
  /// number of tokens taken, or 0. REQUIRES: 0 < least <= most.
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

  /// Gives back n tokens that were taken and not used; the balance stops at the capacity. No effect
  /// if n <= 0.
  void Return(std::int64_t n) {
    const std::uint64_t now = Now();
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      std::uint64_t next = word;
      gcra_.Return(next, now, n);
      if (next == word || Replace(word, next)) return;
    }
  }

  /// Returns the smallest wait after which TryTake(n) succeeds if no other call changes the bucket:
  /// 0 if it would succeed now, kNever if it never will. Returns 0 for a negative n, too, although
  /// TryTake refuses it.
  nanoseconds RetryAfter(std::int64_t n = 1) const {
    return gcra_.RetryAfter(word_.load(std::memory_order_relaxed), Elapsed(), n);
  }

  /// Returns the number of whole tokens that are available.
  std::int64_t Available() const {
    return gcra_.Available(word_.load(std::memory_order_relaxed), Now());
  }

  /// Returns by how much the rate is below the requested one: 0 if it is kept exactly, 0.01 for
  /// 1%.
  double rate_error() const { return gcra_.rate_error; }
  std::int64_t capacity() const { return static_cast<std::int64_t>(gcra_.capacity); }

 private:
  // The difference wraps if a broken clock jumps across its whole range; At() clamps the result.
  std::int64_t Elapsed() const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(clock_.Nanos()) - origin_);
  }
  std::uint64_t Now() const { return gcra_.At(Elapsed()); }
  // Stores `next` if the state is still `word`. Otherwise, or spuriously, returns false with the
  // present state in `word`, and the caller computes `next` again.
  //
  // Relaxed order is enough. The word guards no other data, so no thread reads memory that another
  // thread published through it. All changes of one atomic form a single order, and each of them is
  // computed from the value that it replaces, so no token is given out twice. A call reads the
  // clock once, before its first step, and repeats a step with the same time. This time may
  // therefore be old, but an old time can only admit less.
  bool Replace(std::uint64_t& word, std::uint64_t next) {
    return word_.compare_exchange_weak(word, next, std::memory_order_relaxed);
  }

  // The theoretical arrival time (gcra.h). 0 means that the bucket is full at the origin. The word
  // shares a cache line with the constants below, so one decision touches one line.
  std::atomic<std::uint64_t> word_{0};
  const Gcra gcra_;
  const std::uint64_t origin_;  // the clock's reading at construction: time 0 of the word
  const C clock_;
};

AtomicBucket(const Quota&, const Clock&) -> AtomicBucket<ClockView>;
template <NanoClock C>
AtomicBucket(const Quota&, C) -> AtomicBucket<C>;

}  // namespace weir
