// The part of a bucket table that one lock guards.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/bucket/bucket.h"
#include "weir/store/charge.h"

namespace weir {

/// A bucket in a stripe. `target->limits[i]` are the parameters of `bucket.meters[i]`.
struct BucketEntry {
  Bucket bucket;
  bool changed = false;    ///< listed in BucketStripe::changed
  bool kept = false;       ///< a drain or a load knows of it, so that its removal must be told
  std::uint32_t mark = 0;  ///< kept for the sink of BucketTable::DrainChanges
};

/// The key in a stripe's map. The hash stands beside the pointer, so that walking a chain touches
/// no target. `target` is replaced, by one with the same key, when the limits change.
struct BucketId {
  std::size_t hash;
  mutable TargetPtr target;
};

/// A key to look up without making a BucketId.
struct BucketRef {
  const BucketKey& key;
  std::size_t hash;
};

struct BucketIdHash {
  using is_transparent = void;
  std::size_t operator()(const BucketId& id) const { return id.hash; }
  std::size_t operator()(const BucketRef& ref) const { return ref.hash; }
};

struct BucketIdEqual {
  using is_transparent = void;
  bool operator()(const BucketId& a, const BucketId& b) const {
    return a.hash == b.hash && a.target->key == b.target->key;
  }
  bool operator()(const BucketRef& ref, const BucketId& id) const {
    // A request usually comes with the very target that the bucket was last charged under.
    return ref.hash == id.hash && (&ref.key == &id.target->key || ref.key == id.target->key);
  }
  bool operator()(const BucketId& id, const BucketRef& ref) const { return (*this)(ref, id); }
};

/// `mutex` guards everything in it; whoever calls holds it.
struct alignas(64) BucketStripe {
  using Map = std::unordered_map<BucketId, BucketEntry, BucketIdHash, BucketIdEqual>;
  using Node = Map::value_type;  ///< does not move while it is in the map

  Mutex mutex;
  Map map;
  bool track_changes = false;
  std::vector<Node*> changed;      ///< since the last drain, each once
  std::vector<TargetPtr> removed;  ///< since the last drain
  std::size_t hand = 0;            ///< the hash chain that was swept last
  std::uint32_t uses = 0;
  bool grown = false;  ///< since the last Tidy

  Node* Find(BucketRef ref);
  /// REQUIRES: Find(...) was null.
  Node& Add(const TargetPtr& target, Bucket bucket);
  void MarkChanged(Node& node);
  Map::iterator Remove(Map::iterator at);
  /// Removes buckets that were full at `idle_since` already, from the next `chains` hash chains.
  void Sweep(std::size_t chains, UnixMillis idle_since);
  /// Sweeps a little now and then: after each Add, so that the stripe cleans up faster than it
  /// grows, and after every 32nd call. Nodes found before may be gone.
  void Tidy(UnixMillis idle_since);
};

/// A bucket that was never used.
Bucket FullBucket(const std::vector<Limit>& limits, UnixMillis now);

/// Brings a bucket to the limits of `target`, keeping what is used; limits that it lacks join full,
/// and those it has beyond them leave. True if anything changed.
bool Conform(BucketStripe::Node& node, const TargetPtr& target, UnixMillis now);

}  // namespace weir
