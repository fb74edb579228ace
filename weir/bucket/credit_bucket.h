// One limit shared by many threads without contention: each thread spends tokens from its own
// block.
// Mechanism and proof of the bound: docs/design/in-process.md.
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

/// Admits, over all handles together, at most capacity + rate * t whole tokens in any interval t.
/// The bucket starts full. All handles together hold up to a quarter of the capacity; the rest is
/// in one AtomicBucket, which is called the kernel. A handle that runs out takes a block of tokens
/// from the kernel, so nearly every decision touches memory of one thread only. If the capacity is
/// too small for blocks, every decision goes to the kernel. The clock is read for every decision,
/// so it should be cheap to read.
template <NanoClock C>
class CreditBucket {
 public:
  class Handle;

  /// REQUIRES: CreditPlan::For(quota, threads) succeeds; otherwise the program aborts. Make()
  /// returns an error instead.
  CreditBucket(const Quota& quota, int threads, C clock)
      : CreditBucket(CreditPlan::Require(quota, threads), clock) {}
  CreditBucket(const CreditPlan& plan, C clock)
      : kernel_(plan.kernel, clock), plan_(plan), clock_(clock) {}
  /// Returns kInvalidArgument if CreditPlan::For(quota, threads) fails.
  static Result<std::unique_ptr<CreditBucket>> Make(const Quota& quota, int threads, C clock) {
    WEIR_ASSIGN_OR_RETURN(const CreditPlan plan, CreditPlan::For(quota, threads));
    return std::make_unique<CreditBucket>(plan, clock);
  }

  /// Returns a new handle. Any thread may call this. If more than `threads` handles exist at a
  /// time, the later ones have no block and go to the kernel for each decision. The bucket must
  /// outlive its handles.
  Handle NewHandle() {
    const bool has_block = handles_.fetch_add(1, std::memory_order_relaxed) < plan_.threads;
    return Handle(*this, has_block ? plan_.block : 0);
  }

  /// Returns the largest number of tokens that can be taken at once: the capacity without the share
  /// of the blocks.
  std::int64_t largest_take() const { return kernel_.capacity(); }
  /// Returns the largest number of tokens in a handle; 0 if every decision goes to the kernel.
  std::int64_t block() const { return plan_.block; }
  /// Returns the number of whole tokens in the kernel, without those in handles. Any thread may
  /// call this.
  std::int64_t Available() const { return kernel_.Available(); }

 private:
  AtomicBucket<C> kernel_;
  const CreditPlan plan_;
  const C clock_;
  // The number of handles that exist. Relaxed order is enough: if a new handle sees the count
  // lowered before the kernel has the tokens of the destroyed handle, no thread can spend them yet.
  std::atomic<int> handles_{0};
};

/// The share of one thread in the bucket. Not thread-safe, but it may move between threads. The
/// destructor returns unspent tokens to the kernel. A handle that was moved from may only be
/// destroyed.
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

  /// Takes n tokens or none. Returns true if it took them. An n of 0 is always admitted; a negative
  /// n, or one above largest_take(), never is.
  bool TryTake(std::int64_t n = 1) {
    if (n <= 0) return n == 0;
    const std::int64_t now = clock_.Nanos();
    if (n <= credit_ && now < expires_) [[likely]] {
      credit_ -= n;
      return true;
    }
    return TakeBlock(n, now);
  }

  /// Gives back n tokens that were taken and not used; the balance stops at the capacity. They go
  /// to the kernel, not to this handle. No effect if n <= 0.
  void Return(std::int64_t n) { bucket_->kernel_.Return(n); }

  /// Returns the smallest wait after which TryTake(n) succeeds if no other call changes this or any
  /// other handle: 0 if it would succeed now, kNever if it never will. Returns 0 for a negative n,
  /// too, although TryTake refuses it.
  nanoseconds RetryAfter(std::int64_t n = 1) const {
    if (n > bucket_->largest_take()) return kNever;
    return bucket_->kernel_.RetryAfter(n - credit_);
  }

 private:
  friend class CreditBucket;
  Handle(CreditBucket& bucket, std::int64_t block)
      : bucket_(&bucket), clock_(bucket.clock_), block_(block) {}

  // Fetches the missing tokens for this take and up to one block more, and spends n. An expired
  // block goes back to the kernel first, so that other threads can take its tokens.
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
  std::int64_t credit_ = 0;   // unspent tokens, at most block_
  std::int64_t expires_ = 0;  // from this time on, a take returns credit_ to the kernel first
};

}  // namespace weir
