// One limit for each of very many keys, inside the process. Mechanism: docs/design/in-process.md.
//
//   weir::KeyedBucket<std::string, weir::SteadyClock> calls(weir::PerMinute(60), {});
//   if (!calls.TryTake(address)) return Busy();
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "weir/base/result.h"
#include "weir/base/rng.h"
#include "weir/bucket/fast_clock.h"
#include "weir/bucket/gcra.h"
#include "weir/bucket/key_hash.h"
#include "weir/bucket/key_stripe.h"
#include "weir/bucket/quota.h"

namespace weir {

/// Admits for every key at most capacity + rate * t whole tokens in any interval t. Each key starts
/// full. A key is an integer, a std::string, or any type with a KeyHash. Any thread may call any
/// method at any time. A call may wait some ten nanoseconds for a call on another key of the same
/// stripe, and microseconds while that call grows the table.
///
/// A key that is full again is forgotten when its slot is needed; Sweep() forgets all of them.
/// Lifetime, rounding and time that runs backwards: as AtomicBucket.
template <class Key, NanoClock C>
class KeyedBucket {
 public:
  using View = KeyView<Key>;

  /// REQUIRES: Gcra::For(quota) succeeds; otherwise the program aborts. Make() returns an error
  /// instead.
  KeyedBucket(const Quota& quota, C clock, const KeyedOptions& options = {})
      : KeyedBucket(Gcra::Require(quota), clock, options) {}
  KeyedBucket(const Gcra& gcra, C clock, const KeyedOptions& options = {})
      : gcra_(gcra),
        origin_(static_cast<std::uint64_t>(clock.Nanos()) - 1),
        clock_(clock),
        secret_(HashSecret::From(options.hash_seed ? *options.hash_seed : SystemSeed())),
        stripes_(std::make_unique<Stripe[]>(kStripes)) {
    const std::size_t room = std::clamp<std::size_t>(options.max_keys / kStripes, 1, UINT32_MAX);
    for (std::size_t i = 0; i < kStripes; ++i) stripes_[i].Open(static_cast<std::uint32_t>(room));
  }
  /// Returns kInvalidArgument for a quota that Gcra::For refuses.
  static Result<std::unique_ptr<KeyedBucket>> Make(const Quota& quota, C clock,
                                                   const KeyedOptions& options = {}) {
    WEIR_ASSIGN_OR_RETURN(const Gcra gcra, Gcra::For(quota));
    return std::make_unique<KeyedBucket>(gcra, clock, options);
  }

  /// Like AtomicBucket::TryTake, for one key. Also returns false for a new key beyond the bound
  /// (KeyedOptions::max_keys).
  bool TryTake(View key, std::int64_t n = 1) {
    if (n <= 0) return n == 0;
    if (!gcra_.CanAdmit(n)) return false;
    const KeyRequest request = MakeRequest(key);
    return StripeOf(request).Take(gcra_, request, n);
  }
  /// Like AtomicBucket::Return, for one key.
  void Return(View key, std::int64_t n) {
    const KeyRequest request = MakeRequest(key);
    StripeOf(request).Return(gcra_, request, n);
  }
  /// Like AtomicBucket::RetryAfter, for one key. Ignores KeyedOptions::max_keys: for a new key it
  /// returns 0 (or kNever) even while TryTake refuses new keys.
  nanoseconds RetryAfter(View key, std::int64_t n = 1) const {
    const KeyRequest request = MakeRequest(key);
    return StripeOf(request).RetryAfter(gcra_, request, n);
  }
  /// Returns the number of whole tokens that are available.
  std::int64_t Available(View key) const {
    const KeyRequest request = MakeRequest(key);
    return StripeOf(request).Available(gcra_, request);
  }

  /// Forgets every key that is full, and frees its memory. Returns the number of forgotten keys.
  /// Locks one of 256 parts of the keys at a time.
  std::size_t Sweep() {
    std::size_t forgotten = 0;
    for (std::size_t i = 0; i < kStripes; ++i) {
      forgotten += stripes_[i].Sweep(gcra_, Elapsed(), secret_);
    }
    return forgotten;
  }
  /// Returns the sums over all parts, each read under its own lock.
  KeyedStats Stats() const {
    KeyedStats sum;
    for (std::size_t i = 0; i < kStripes; ++i) stripes_[i].AddTo(sum);
    return sum;
  }

  /// See AtomicBucket::rate_error.
  double rate_error() const { return gcra_.rate_error; }

 private:
  using Stripe = KeyStripe<Key>;
  using KeyRequest = typename Stripe::KeyRequest;
  static constexpr std::size_t kStripes = 256;

  std::int64_t Elapsed() const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(clock_.Nanos()) - origin_);
  }
  KeyRequest MakeRequest(View key) const {
    return {key, KeyHash<Key>()(key, secret_), secret_, Elapsed()};
  }
  // Uses the high bits of the hash; the table within a stripe uses the low bits.
  Stripe& StripeOf(const KeyRequest& request) const { return stripes_[request.hash >> 56]; }

  const Gcra gcra_;
  // One nanosecond before construction, so that every word is above 0.
  const std::uint64_t origin_;
  const C clock_;
  const HashSecret secret_;
  const std::unique_ptr<Stripe[]> stripes_;
};

}  // namespace weir
