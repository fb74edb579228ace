// A bounded map that evicts the least recently used entry.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

namespace weir {

/// Holds at most `capacity` entries. Not thread-safe. All operations take constant time on average.
template <class Key, class Value, class Hash = std::hash<Key>>
class LruMap {
 public:
  /// A capacity of 0 stores nothing.
  explicit LruMap(std::size_t capacity) : capacity_(capacity) {}
  LruMap(const LruMap&) = delete;
  LruMap& operator=(const LruMap&) = delete;

  /// Returns the value of the key and counts it as used now, or null if there is none. The pointer
  /// is valid until the entry is replaced, erased or evicted.
  Value* Find(const Key& key) {
    const auto found = index_.find(&key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }

  /// Stores the value in place of an earlier value of the key, if any, and counts the entry as used
  /// now. Evicts the least recently used entry if the map is full.
  void Put(const Key& key, Value value) {
    if (Value* const found = Find(key)) {
      *found = std::move(value);
      return;
    }
    if (capacity_ == 0) return;
    if (entries_.size() == capacity_) Erase(index_.find(&entries_.back().first));
    entries_.emplace_front(key, std::move(value));
    index_.emplace(&entries_.front().first, entries_.begin());
  }

  /// Does nothing if there is no such entry. `key` may be a part of the entry.
  void Erase(const Key& key) {
    const auto found = index_.find(&key);
    if (found != index_.end()) Erase(found);
  }

  std::size_t size() const { return entries_.size(); }

 private:
  using Entries = std::list<std::pair<Key, Value>>;
  struct HashKey {
    std::size_t operator()(const Key* key) const { return Hash{}(*key); }
  };
  struct SameKey {
    bool operator()(const Key* a, const Key* b) const { return *a == *b; }
  };
  using Index = std::unordered_map<const Key*, typename Entries::iterator, HashKey, SameKey>;

  void Erase(typename Index::iterator found) {
    const auto entry = found->second;
    index_.erase(found);
    entries_.erase(entry);
  }

  std::size_t capacity_;
  Entries entries_;  // the most recently used one comes first
  Index index_;      // by the keys in entries_
};

}  // namespace weir
