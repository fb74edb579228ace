// A cache with an expiry for each account: a bounded map without I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "weir/base/lru_map.h"
#include "weir/base/time.h"
#include "weir/store/reservation/reservation_store.h"

namespace weir {

/// Evicts the least recently used entry if it is full. Not thread-safe.
template <class T>
class AccountCache {
 public:
  /// `capacity` is a number of entries; 0 disables the cache.
  explicit AccountCache(std::size_t capacity) : entries_(capacity) {}

  /// Returns the cached value, or null if there is none or it has expired; an expired one is
  /// removed. The pointer is valid until the next call.
  const T* Find(const AccountKey& key, Instant now) {
    const Entry* const found = entries_.Find(key);
    if (found == nullptr) return nullptr;
    if (now < found->expires) return &found->value;
    entries_.Erase(key);
    return nullptr;
  }

  /// Replaces the cached value. The new one is valid while now < expires.
  void Put(const AccountKey& key, T value, Instant expires) {
    entries_.Put(key, {std::move(value), expires});
  }

  void Drop(const AccountKey& key) { entries_.Erase(key); }

  /// Returns the number of entries, including expired ones that were not yet removed.
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    T value;
    Instant expires;
  };

  LruMap<AccountKey, Entry, AccountKeyHash> entries_;
};

}  // namespace weir
