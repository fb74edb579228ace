// One limit shared by many threads without contention: each spends from a block of its own.
// Mechanism, and why the bound holds: docs/design/in-process.md.
//
//   weir::CreditBucket calls(weir::PerSecond(1'000'000), 8, clock);
//   auto handle = calls.NewHandle();  // in each thread
//   if (!handle.TryTake(1)) return Busy();
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "weir/base/result.h"
#include "weir/bucket/atomic_bucket.h"
#include "weir/bucket/credit_plan.h"
#include "weir/bucket/fast_clock.h"

namespace weir {

/// Admits, over all handles together, at most capacity + rate * t whole tokens in any interval t;
/// starts full. Up to a quarter of the capacity may lie in handles; one that runs out takes a block
/// from the kernel, an AtomicBucket over the rest, so nearly every decision touches memory of one
/// thread only. Where the capacity is too small for blocks, every decision goes to the kernel.
/// Use a clock that is cheap to read: it is read for every decision.
template <NanoClock C>
class CreditBucket {
 public:
  class Handle;

  /// REQUIRES: CreditPlan::For(quota, threads) succeeds; ends the program otherwise.
  CreditBucket(const Quota& quota, int threads, C clock)
      : CreditBucket(CreditPlan::Require(quota, threads), clock) {}
  CreditBucket(const CreditPlan& plan, C clock)
      : kernel_(plan.kernel, clock), plan_(plan), clock_(clock) {}
  static Result<std::unique_ptr<CreditBucket>> Make(const Quota& quota, int threads, C clock) {
    WEIR_ASSIGN_OR_RETURN(const CreditPlan plan, CreditPlan::For(quota, threads));
    return std::make_unique<CreditBucket>(plan, clock);
  }

  /// From any thread. Of more handles at a time than `threads`, the later ones have no block and go
  /// to the kernel each time. The bucket must outlive its handles.
  Handle NewHandle() {
    const bool spare = handles_.fetch_add(1, std::memory_order_relaxed) < plan_.threads;
    return Handle(*this, spare ? plan_.block : 0);
  }

  /// The most that can be taken at once: the capacity less what is set aside for blocks.
  std::int64_t largest_take() const { return kernel_.capacity(); }
  /// The most a handle holds; 0 where every decision goes to the kernel.
  std::int64_t block() const { return plan_.block; }
  /// Whole tokens in the kernel: without what handles hold. From any thread.
  std::int64_t Available() const { return kernel_.Available(); }

 private:
  AtomicBucket<C> kernel_;
  const CreditPlan plan_;
  const C clock_;
  std::atomic<int> handles_{0};
};

/// One thread's part. Not thread-safe; may move between threads. Gives back what is unspent when it
/// is destroyed.
template <NanoClock C>
class alignas(64) CreditBucket<C>::Handle {
 public:
  Handle(Handle&& other) noexcept
      : bucket_(std::exchange(other.bucket_, nullptr)),
        clock_(other.clock_),
        block_(other.block_),
        credit_(std::exchange(other.credit_, 0)),
        expires_(other.expires_) {}
  ~Handle() {
    if (bucket_ == nullptr) return;
    bucket_->kernel_.Return(credit_);
    bucket_->handles_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Takes n tokens or none. 0 is always admitted; less than 0 or more than largest_take() never.
  bool TryTake(std::int64_t n = 1) {
    if (n <= 0) return n == 0;
    const std::int64_t now = clock_.Nanos();
    if (n <= credit_ && now < expires_) [[likely]] {
      credit_ -= n;
      return true;
    }
    return TakeBlock(n, now);
  }

  /// Gives n tokens back that were taken and not used; stops at the capacity. REQUIRES: n >= 0.
  void Return(std::int64_t n) { bucket_->kernel_.Return(n); }

  /// The smallest wait after which TryTake(n) succeeds if nothing else happens, on this or any
  /// other handle; 0 if it would now, kNever if it never will.
  nanoseconds RetryAfter(std::int64_t n = 1) const {
    if (n > bucket_->largest_take()) return kNever;
    return bucket_->kernel_.RetryAfter(n - credit_);
  }

 private:
  friend class CreditBucket;
  Handle(CreditBucket& bucket, std::int64_t block)
      : bucket_(&bucket), clock_(bucket.clock_), block_(block) {}

  bool TakeBlock(std::int64_t n, std::int64_t now) {
    if (n > bucket_->largest_take()) return false;
    if (now >= expires_) bucket_->kernel_.Return(std::exchange(credit_, 0));
    const std::int64_t missing = n - credit_;
    const std::int64_t taken = bucket_->kernel_.TakeBetween(missing, missing + block_);
    if (taken == 0) return false;
    credit_ += taken - n;
    expires_ = now + bucket_->plan_.credit_life_nanos;
    return true;
  }

  CreditBucket* bucket_;
  C clock_;
  std::int64_t block_;
  std::int64_t credit_ = 0;   // at most block_
  std::int64_t expires_ = 0;  // when credit_ goes back to the kernel
};

}  // namespace weir
