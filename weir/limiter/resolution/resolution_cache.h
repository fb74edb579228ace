// The cache of resolutions: a bounded map without I/O.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/time.h"
#include "weir/limiter/resolution/cascade_limits.h"
#include "weir/telemetry/thread_number.h"

namespace weir {

/// A pair and its hash, which is computed once for each request. The viewed strings must outlive
/// it.
struct PairKey {
  std::string_view entity;
  std::string_view resource;
  std::size_t hash = 0;

  PairKey(std::string_view entity_id, std::string_view resource_name);
  friend bool operator==(const PairKey& a, const PairKey& b) {
    return a.hash == b.hash && a.entity == b.entity && a.resource == b.resource;
  }
};

struct PairHash {
  std::size_t operator()(const PairKey& pair) const { return pair.hash; }
};

/// Thread-safe. Striped by hash. A stripe's lock is held for one lookup, and by EvictEntity while
/// it scans the stripe.
///
/// The cache has an epoch, which increases whenever pairs are dropped. A fetch reads the epoch
/// before it reads from the store, and Put ignores a result of an earlier epoch: the fetch may have
/// read data from before the change.
class ResolutionCache {
 public:
  /// `capacity` is a number of pairs; 0 disables the cache.
  explicit ResolutionCache(std::size_t capacity);

  struct Found {
    ResolutionPtr resolution;  ///< null if the pair is not cached, has expired or was dropped
    Instant expires;
  };
  /// Returns the cached resolution of the pair if it is valid at `now`.
  Found Find(const PairKey& pair, Instant now);

  /// Returns the current epoch.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  /// Caches a result until `expires`. Has no effect if pairs were dropped since `epoch`, or if the
  /// cached result expires later and so is newer.
  void Put(const PairKey& pair, ResolutionPtr resolution, Instant expires, std::uint64_t epoch);

  /// Drops all pairs in constant time. Their slots are reused as new pairs are put.
  void Clear();
  /// Drops every pair whose chain includes the entity. Scans the whole cache.
  void EvictEntity(std::string_view entity);
  /// Drops the affected pairs, as Clear or EvictEntity do. A fetch that began in epoch `since` and
  /// saw the change must call Put with the returned epoch. That is the current one; but if other
  /// pairs were dropped after `since`, it is `since`, with which Put has no effect.
  std::uint64_t DropAffected(const AffectedPairs& affected, std::uint64_t since = 0);

  /// Returns the number of occupied slots, including expired pairs and pairs that Clear dropped.
  std::size_t size() const;
  /// Returns the number of pairs that were evicted because the cache was full.
  std::uint64_t evicted() const;

 private:
  struct Slot {
    std::size_t hash = 0;
    std::string entity;
    std::string resource;
    ResolutionPtr resolution;  ///< null: vacant
    Instant expires;
    std::uint64_t epoch = 0;    ///< valid unless it is below floor_
    std::uint64_t members = 0;  ///< a bit for each member of the chain, to skip most slots
    bool used = false;          ///< used since the hand last passed
  };
  struct SlotHash {
    using is_transparent = void;
    std::size_t operator()(const Slot* slot) const { return slot->hash; }
    std::size_t operator()(const PairKey& pair) const { return pair.hash; }
  };
  struct SlotEqual {
    using is_transparent = void;
    bool operator()(const Slot* a, const Slot* b) const { return a == b; }
    bool operator()(const Slot* slot, const PairKey& pair) const {
      return slot->hash == pair.hash && slot->entity == pair.entity &&
             slot->resource == pair.resource;
    }
  };

  /// Evicts by second chance: a hand moves around the slots and evicts the first pair that was not
  /// used since the hand last passed. `used` is written on the first use only, so later hits do not
  /// write to the cache line.
  struct alignas(kCacheLine) Stripe {
    mutable Mutex mutex;
    absl::flat_hash_set<Slot*, SlotHash, SlotEqual> index WEIR_GUARDED_BY(mutex);
    std::deque<Slot> slots WEIR_GUARDED_BY(mutex);  ///< addresses are stable
    std::vector<Slot*> vacant WEIR_GUARDED_BY(mutex);
    std::size_t hand WEIR_GUARDED_BY(mutex) = 0;
    std::uint64_t evicted WEIR_GUARDED_BY(mutex) = 0;

    /// Returns a free slot; evicts a pair if the stripe is full.
    Slot& FreeSlot(std::size_t capacity) WEIR_REQUIRES(mutex);
    void Remove(Slot& slot) WEIR_REQUIRES(mutex);
    /// Drops the pairs whose chain includes the entity.
    void Evict(std::string_view entity);
  };

  /// Drops all pairs: those of earlier epochs are no longer valid.
  void DropAll() WEIR_REQUIRES(changing_);
  /// Drops the pairs of an entity from all stripes.
  void DropEntity(std::string_view entity) WEIR_REQUIRES(changing_);
  Stripe& StripeOf(const PairKey& pair) { return stripes_[(pair.hash >> 32) % stripes_.size()]; }

  std::deque<Stripe> stripes_;
  std::size_t capacity_;  ///< the capacity of one stripe
  Mutex changing_;        ///< serializes drops; acquired before the lock of a stripe
  std::atomic<std::uint64_t> epoch_ = 1;
  std::atomic<std::uint64_t> floor_ = 0;  ///< the lowest epoch of valid pairs
};

}  // namespace weir
