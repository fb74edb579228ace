// The part of a bucket table that one lock guards.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/bucket/bucket.h"
#include "weir/store/charge.h"

namespace weir {

/// A bucket in a stripe; does not move while it is there. `target->limits[i]` are the parameters of
/// `bucket.meters[i]`. In the order in which a request looks at it.
struct BucketEntry {
  std::size_t hash;         ///< target->hash: comparing entries touches no target
  TargetPtr target;         ///< replaced, by one with the same key, when the limits change
  bool changed = false;     ///< listed in BucketStripe::changed
  bool kept = false;        ///< a drain or a load knows of it, so that its removal must be told
  std::uint32_t mark = 0;   ///< kept for the sink of BucketTable::DrainChanges
  std::uint32_t place = 0;  ///< in BucketStripe::entries
  Bucket bucket;
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
    return entry->hash == ref.hash &&
           (&entry->target->key == &ref.key || entry->target->key == ref.key);
  }
};

/// `mutex` guards everything in it; whoever calls holds it.
struct alignas(64) BucketStripe {
  Mutex mutex;
  absl::flat_hash_set<BucketEntry*, BucketEntryHash, BucketEntryEqual> index;
  std::vector<std::unique_ptr<BucketEntry>> entries;  ///< in no order
  bool track_changes = false;
  std::vector<BucketEntry*> changed;  ///< since the last drain, each once
  std::vector<TargetPtr> removed;     ///< since the last drain
  std::size_t hand = 0;               ///< the place that is swept next
  std::uint32_t uses = 0;
  bool grown = false;  ///< since the last Tidy

  BucketEntry* Find(BucketRef ref);
  /// REQUIRES: Find(...) was null.
  BucketEntry& Add(const TargetPtr& target, Bucket bucket);
  void MarkChanged(BucketEntry& entry);
  /// The last entry takes its place.
  void Remove(BucketEntry& entry);
  /// Looks at the next `count` places and removes buckets that were full at `idle_since` already.
  void Sweep(std::size_t count, UnixMillis idle_since);
  /// Sweeps a little now and then: after each Add, so that the stripe cleans up faster than it
  /// grows, and after every 32nd call. Entries found before may be gone.
  void Tidy(UnixMillis idle_since);
};

/// A bucket that was never used.
Bucket FullBucket(const std::vector<Limit>& limits, UnixMillis now);

/// Brings a bucket to the limits of `target`, keeping what is used; limits that it lacks join full,
/// and those it has beyond them leave. True if anything changed.
bool Conform(BucketEntry& entry, const TargetPtr& target, UnixMillis now);

}  // namespace weir
