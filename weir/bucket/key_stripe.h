// One part of the keys of a KeyedBucket, guarded by one lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weir/bucket/gcra.h"
#include "weir/bucket/key_hash.h"
#include "weir/bucket/key_table.h"
#include "weir/bucket/spin_lock.h"

namespace weir {

struct KeyedOptions {
  /// The largest number of keys that are remembered. A key is remembered until its bucket is full
  /// again. Each of 256 stripes of keys (by hash) has an equal share of this number, at least 1,
  /// and may exceed it by up to a sixteenth. A take on a new key beyond the share of its stripe is
  /// refused until another bucket of the stripe is full. (An integer key takes 18 to 26 bytes.)
  std::size_t max_keys = std::size_t{1} << 24;
  /// Set it in tests and replays. By default the seed comes from the system, so that untrusted
  /// parties that choose the keys cannot choose keys that collide. Decisions do not depend on the
  /// seed.
  std::optional<std::uint64_t> hash_seed = std::nullopt;
};

struct KeyedStats {
  std::size_t keys = 0;       ///< remembered keys; the buckets of some may be full again
  std::size_t bytes = 0;      ///< the memory of the tables
  std::uint64_t no_room = 0;  ///< takes refused because of max_keys
};

/// The methods are those of KeyedBucket. Thread-safe. Every call must pass the same Gcra.
template <class Key>
class alignas(64) KeyStripe {
 public:
  /// A key with its hash, and the caller's time of the request.
  struct KeyRequest {
    KeyView<Key> key;
    std::uint64_t hash;
    const HashSecret& secret;    ///< the secret words that made `hash`
    std::int64_t elapsed_nanos;  ///< since the zero of the buckets' times
  };

  /// Sets the number of keys that fit (see KeyTable). Must be called before any other method.
  void Open(std::uint32_t room) WEIR_EXCLUDES(lock_) {
    const SpinLockHold hold(lock_);
    table_ = KeyTable<Key>(room);
  }

  bool Take(const Gcra& gcra, const KeyRequest& request, std::int64_t n) WEIR_EXCLUDES(lock_) {
    const SpinLockHold hold(lock_);
    const std::uint64_t now = gcra.At(Elapsed(request));
    std::uint64_t* word = table_.Find(request.key, request.hash);
    if (word == nullptr) [[unlikely]] {
      word = Insert(request, now);
    }
    return word != nullptr && gcra.Take(*word, now, n);
  }

  void Return(const Gcra& gcra, const KeyRequest& request, std::int64_t n) WEIR_EXCLUDES(lock_) {
    const SpinLockHold hold(lock_);
    std::uint64_t* word = table_.Find(request.key, request.hash);
    if (word == nullptr) return;
    gcra.Return(*word, gcra.At(Elapsed(request)), n);
    *word = std::max(*word, std::uint64_t{1});
  }

  nanoseconds RetryAfter(const Gcra& gcra, const KeyRequest& request, std::int64_t n)
      WEIR_EXCLUDES(lock_) {
    const SpinLockHold hold(lock_);
    const std::uint64_t* word = table_.Find(request.key, request.hash);
    return gcra.RetryAfter(word == nullptr ? 0 : *word, Elapsed(request), n);
  }

  std::int64_t Available(const Gcra& gcra, const KeyRequest& request) WEIR_EXCLUDES(lock_) {
    const SpinLockHold hold(lock_);
    const std::uint64_t* word = table_.Find(request.key, request.hash);
    return gcra.Available(word == nullptr ? 0 : *word, gcra.At(Elapsed(request)));
  }

  std::size_t Sweep(const Gcra& gcra, std::int64_t elapsed_nanos, const HashSecret& secret)
      WEIR_EXCLUDES(lock_) {
    const SpinLockHold hold(lock_);
    latest_removal_ = std::max(latest_removal_, elapsed_nanos);
    return table_.Rebuild(gcra.At(latest_removal_), secret);
  }

  void AddTo(KeyedStats& stats) WEIR_EXCLUDES(lock_) {
    const SpinLockHold hold(lock_);
    stats.keys += table_.used();
    stats.bytes += table_.bytes();
    stats.no_room += no_room_;
  }

 private:
  // Returns the caller's time, or the time of the latest removal if that is later. A key that is
  // absent counts as full, and the bucket of a removed key was full at the removal but perhaps not
  // earlier, so no request is decided at an earlier time.
  std::int64_t Elapsed(const KeyRequest& request) const WEIR_REQUIRES(lock_) {
    if (request.elapsed_nanos >= latest_removal_) [[likely]] {
      return request.elapsed_nanos;
    }
    return latest_removal_;
  }

  // Adds the key with a word of 0, or returns nullptr and counts the refusal. Not inline, so that
  // Take stays short.
  [[gnu::noinline]] std::uint64_t* Insert(const KeyRequest& request, std::uint64_t now)
      WEIR_REQUIRES(lock_) {
    latest_removal_ = Elapsed(request);
    std::uint64_t* word = table_.Insert(request.key, request.hash, now, request.secret);
    if (word == nullptr) ++no_room_;
    return word;
  }

  SpinLock lock_;
  // The latest time at which keys may have been forgotten, in nanoseconds since the origin.
  std::int64_t latest_removal_ WEIR_GUARDED_BY(lock_) = INT64_MIN;
  std::uint64_t no_room_ WEIR_GUARDED_BY(lock_) = 0;
  KeyTable<Key> table_ WEIR_GUARDED_BY(lock_){1};
};

}  // namespace weir
