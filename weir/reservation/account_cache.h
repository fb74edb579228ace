// A cache with an expiry for each account: a bounded map without I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>

#include "weir/base/time.h"
#include "weir/bucket/key_hash.h"
#include "weir/store/reservation/reservation_store.h"

namespace weir {

inline std::uint64_t HashOf(const AccountKey& key) {
  return HashBytes(key.resource, HashBytes(key.account, 0));
}

/// Evicts the least recently used entry if it is full. Not thread-safe.
template <class T>
class AccountCache {
 public:
  /// `capacity` is a number of entries; 0 disables the cache.
  explicit AccountCache(std::size_t capacity) : capacity_(capacity) {}

  /// Returns the cached value, or null if there is none or it has expired; an expired one is
  /// removed. The pointer is valid until the next call.
  const T* Find(const AccountKey& key, Instant now) {
    const auto found = index_.find(&key);
    if (found == index_.end()) return nullptr;
    if (found->second->expires <= now) {
      Remove(found);
      return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->value;
  }

  /// Replaces the cached value. The new one is valid while now < expires.
  void Put(const AccountKey& key, T value, Instant expires) {
    Forget(key);
    if (capacity_ == 0) return;
    if (entries_.size() == capacity_) Forget(AccountKey(entries_.back().key));
    entries_.push_front({key, std::move(value), expires});
    index_.emplace(&entries_.front().key, entries_.begin());
  }

  void Forget(const AccountKey& key) {
    const auto found = index_.find(&key);
    if (found != index_.end()) Remove(found);
  }

  /// Returns the number of entries, including expired ones that were not yet removed.
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    AccountKey key;
    T value;
    Instant expires;
  };
  struct Hash {
    std::size_t operator()(const AccountKey* key) const { return HashOf(*key); }
  };
  struct Same {
    bool operator()(const AccountKey* a, const AccountKey* b) const { return *a == *b; }
  };
  using Entries = std::list<Entry>;
  using Index = std::unordered_map<const AccountKey*, typename Entries::iterator, Hash, Same>;

  void Remove(typename Index::iterator found) {
    const auto entry = found->second;
    index_.erase(found);
    entries_.erase(entry);
  }

  std::size_t capacity_;
  Entries entries_;  ///< most recently used first
  Index index_;      ///< by the keys of the entries
};

}  // namespace weir
