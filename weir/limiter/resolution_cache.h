// What was resolved, remembered. A bounded map; it makes no calls.
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
#include "weir/limiter/resolution.h"
#include "weir/telemetry/thread_slot.h"

namespace weir {

/// One pair and its hash, computed once for each request. Views: whoever keeps it keeps the texts.
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

/// Thread-safe. Striped by hash; a stripe's lock is held for one lookup, and by EvictEntity while
/// it looks through the stripe.
class ResolutionCache {
 public:
  /// `capacity` 0: remembers nothing.
  explicit ResolutionCache(std::size_t capacity);

  struct Found {
    ResolutionPtr resolution;  ///< null where nothing is remembered, or no longer believed
    Instant expires;
  };
  Found Find(const PairKey& pair, Instant now);

  /// Moves whenever something is forgotten. Take it before a fetch reads anything.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  /// Remembers until `expires`, unless something was forgotten since `epoch`: what the fetch read
  /// may then be from before the change; or what is remembered lasts longer, and so is newer.
  void Put(const PairKey& pair, ResolutionPtr resolution, Instant expires, std::uint64_t epoch);

  /// Forgets everything, at once. The room is used again as new pairs come.
  void Clear();
  /// Forgets every pair whose chain the entity is part of. Looks at all that is remembered.
  void EvictEntity(std::string_view entity);
  /// As these two. Returns the epoch for Put of a fetch that began in `since` and saw the change:
  /// the present one, unless something else was forgotten after `since`.
  std::uint64_t Forget(const Altered& altered, std::uint64_t since = 0);

  /// Pairs that take room, also those that are no longer believed.
  std::size_t size() const;
  /// Pairs that left for want of room.
  std::uint64_t evicted() const;

 private:
  struct Slot {
    std::size_t hash = 0;
    std::string entity;
    std::string resource;
    ResolutionPtr resolution;  ///< null: vacant
    Instant expires;
    std::uint64_t epoch = 0;    ///< believed unless it is below the floor
    std::uint64_t members = 0;  ///< a bit for each member of the chain, to pass over most slots
    bool used = false;          ///< since the hand last passed
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

  /// Second chance: a hand goes round the slots and takes the first that was not used since it last
  /// came by. The mark is written on the first use only, so that hits dirty nothing else.
  struct alignas(kCacheLine) Stripe {
    mutable Mutex mutex;
    absl::flat_hash_set<Slot*, SlotHash, SlotEqual> index WEIR_GUARDED_BY(mutex);
    std::deque<Slot> slots WEIR_GUARDED_BY(mutex);  ///< stay where they are
    std::vector<Slot*> vacant WEIR_GUARDED_BY(mutex);
    std::size_t hand WEIR_GUARDED_BY(mutex) = 0;
    std::uint64_t evicted WEIR_GUARDED_BY(mutex) = 0;

    /// A slot that is in use by nobody; the hand makes one where there is no room.
    Slot& Vacate(std::size_t capacity) WEIR_REQUIRES(mutex);
    void Remove(Slot& slot) WEIR_REQUIRES(mutex);
    void Evict(std::string_view entity);
  };

  void RaiseFloor() WEIR_REQUIRES(changing_);
  void Visit(std::string_view entity) WEIR_REQUIRES(changing_);
  Stripe& StripeOf(const PairKey& pair) { return stripes_[(pair.hash >> 32) % stripes_.size()]; }

  std::deque<Stripe> stripes_;
  std::size_t capacity_;  ///< of one stripe
  Mutex changing_;        ///< taken before a stripe's
  std::atomic<std::uint64_t> epoch_ = 1;
  std::atomic<std::uint64_t> floor_ = 0;
};

}  // namespace weir
