// The part of a bucket table that one lock guards.
#pragma once

#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/store/bucket_state.h"
#include "weir/store/charge.h"
#include "weir/store/stored_ahead.h"

namespace weir {

/// A bucket in a stripe; its address does not change. In the order in which a request looks at it.
struct BucketEntry {
  std::size_t hash;         ///< target->hash: comparing entries touches no target
  BucketState state;        ///< its target is replaced, by one with the same key
  bool changed = false;     ///< listed in BucketStripe::changed
  bool kept = false;        ///< a drain or a load reported it, so that its removal is reported too
  std::uint32_t mark = 0;   ///< kept for the sink of BucketTable::DrainChanges
  std::uint32_t index = 0;  ///< in BucketStripe::entries
  BucketEntry* next_of_entity = nullptr;
  BucketEntry* previous_of_entity = nullptr;

  const BucketKey& key() const { return state.target->key; }
};

/// A key to look up without making an entry.
struct BucketRef {
  const BucketKey& key;
  std::size_t hash;
};

struct BucketEntryHash {
  using is_transparent = void;
  std::size_t operator()(const BucketEntry* entry) const { return entry->hash; }
  std::size_t operator()(const BucketRef& ref) const { return ref.hash; }
};

struct BucketEntryEqual {
  using is_transparent = void;
  bool operator()(const BucketEntry* a, const BucketEntry* b) const { return a == b; }
  bool operator()(const BucketEntry* entry, const BucketRef& ref) const {
    // A request usually comes with the very target that the bucket was last charged under.
    return entry->hash == ref.hash && (&entry->key() == &ref.key || entry->key() == ref.key);
  }
};

/// Entries by their entity.
struct EntityOfEntry {
  using is_transparent = void;
  static std::string_view Of(std::string_view entity) { return entity; }
  static std::string_view Of(const BucketEntry* entry) { return entry->key().entity; }
};
struct EntityHash : EntityOfEntry {
  std::size_t operator()(const auto& entity) const {
    return absl::Hash<std::string_view>()(Of(entity));
  }
};
struct EntityEqual : EntityOfEntry {
  bool operator()(const auto& a, const auto& b) const { return Of(a) == Of(b); }
};

/// What a sweep goes by.
struct SweepTimes {
  UnixMillis idle_since;  ///< buckets and extra meters that were full by then are removed
  UnixMillis now;         ///< times that are far ahead of it are set to it
};

/// `mutex` guards everything in it; the caller holds it.
struct alignas(64) BucketStripe {
  Mutex mutex;
  absl::flat_hash_set<BucketEntry*, BucketEntryHash, BucketEntryEqual> index;
  /// Of each entity one entry, from which the others are linked.
  absl::flat_hash_set<BucketEntry*, EntityHash, EntityEqual> by_entity;
  std::vector<std::unique_ptr<BucketEntry>> entries;  ///< in no order
  bool track_changes = false;
  std::vector<BucketEntry*> changed;  ///< since the last drain, each once
  std::vector<TargetPtr> removed;     ///< since the last drain
  std::size_t hand = 0;               ///< the index that is swept next
  std::uint32_t uses = 0;
  bool grown = false;  ///< since the last Tidy

  BucketEntry* Find(BucketRef ref);
  /// The first entry of an entity, which links to the others; null if there is none.
  BucketEntry* FirstOf(std::string_view entity);
  /// REQUIRES: Find(...) was null.
  BucketEntry& Add(BucketState state);
  void MarkChanged(BucketEntry& entry);
  /// The last entry takes its index.
  void Remove(BucketEntry& entry);
  /// Looks at the next `count` entries. Entries found before may be gone. Returns how many buckets
  /// were removed.
  std::size_t Sweep(std::size_t count, const SweepTimes& times, AheadReport& report);
  /// True if it is time to sweep kTidyCount entries: after each Add, so that the stripe cleans up
  /// faster than it grows, and after every 32nd call.
  static constexpr std::size_t kTidyCount = 4;
  bool IsTidyDue();

 private:
  void Link(BucketEntry& entry);
  void Unlink(BucketEntry& entry);
};

}  // namespace weir
