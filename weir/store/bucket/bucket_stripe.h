// The part of a bucket table that one lock guards.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/bucket/key_hash.h"
#include "weir/store/bucket/bucket_state.h"
#include "weir/store/bucket/charge.h"
#include "weir/store/bucket/stored_ahead.h"

namespace weir {

/// A bucket in a stripe. Its address does not change. The fields are in the order in which a
/// request reads them.
struct BucketEntry {
  /// `state.target` may be replaced by another target with the same key.
  BucketState state;
  bool in_changed_list = false;  ///< listed in BucketStripe::changed
  /// True if a drain or a load has reported this bucket, so its removal must be reported too.
  bool reported = false;
  std::uint32_t sink_mark = 0;  ///< a number that only the sink of BucketTable::DrainChanges uses
  std::uint32_t index = 0;      ///< the position in BucketStripe::entries
  BucketEntry* next_of_entity = nullptr;
  BucketEntry* previous_of_entity = nullptr;

  const BucketKey& key() const { return state.target->key; }
};

/// A slot of a hash table of entries. It has the hash, so that a table that grows reads none of its
/// entries: each read would be a cache miss, and all stripes grow at about the same time.
struct BucketSlot {
  std::size_t hash;
  BucketEntry* entry;
};

/// The key of BucketStripe::index for a look-up.
struct BucketRef {
  const BucketKey& key;
  std::size_t hash;
};

/// The key of BucketStripe::by_entity for a look-up.
struct EntityRef {
  std::string_view entity;
  std::size_t hash;

  static EntityRef Of(std::string_view entity) {
    return {entity, HashBytes(entity, SecretOfProcess())};
  }
};

struct BucketSlotHash {
  using is_transparent = void;
  std::size_t operator()(const auto& slot_or_ref) const { return slot_or_ref.hash; }
};

struct SameBucketKey {
  using is_transparent = void;
  bool operator()(const BucketSlot& a, const BucketSlot& b) const { return a.entry == b.entry; }
  bool operator()(const BucketSlot& slot, const BucketRef& ref) const {
    // A request usually has the same target as the previous request for the bucket.
    return slot.hash == ref.hash &&
           (&slot.entry->key() == &ref.key || slot.entry->key() == ref.key);
  }
};

struct SameEntity {
  using is_transparent = void;
  bool operator()(const BucketSlot& a, const BucketSlot& b) const {
    return operator()(a, EntityRef{b.entry->key().entity, b.hash});
  }
  bool operator()(const BucketSlot& slot, const EntityRef& ref) const {
    return slot.hash == ref.hash && slot.entry->key().entity == ref.entity;
  }
};

/// The times and the bounds of a sweep.
struct SweepTimes {
  /// Buckets and extra meters that were full at this time are removed.
  UnixMillis idle_since;
  /// Stored times far ahead of `now` are set to `now`.
  UnixMillis now;
  /// At most this many full buckets with unreported use are passed to the next drain, which reports
  /// the use; a later sweep removes these buckets.
  std::size_t max_deferred = SIZE_MAX;
  /// Full buckets with unreported use are removed at once, and the next drain reports the use.
  bool removes_unreported = false;
  /// The sweep ends when it has removed this many buckets.
  std::size_t max_removed = SIZE_MAX;
};

/// Returns a stripe index in [0, stripes). `stripes` must be a power of two. Uses the high bits of
/// the hash, because the index inside a stripe uses the low bits.
inline std::size_t StripeOf(std::size_t hash, std::size_t stripes) {
  return (hash >> 40) & (stripes - 1);
}

/// `mutex` guards all fields. Callers of the methods must hold it.
struct alignas(64) BucketStripe {
  Mutex mutex;
  absl::flat_hash_set<BucketSlot, BucketSlotHash, SameBucketKey> index;
  /// One entry of each entity; the other entries of the entity are linked to it.
  absl::flat_hash_set<BucketSlot, BucketSlotHash, SameEntity> by_entity;
  std::vector<std::unique_ptr<BucketEntry>> entries;  ///< in no particular order
  bool track_changes = false;
  std::vector<BucketEntry*> changed;  ///< since the last drain, each once
  std::vector<TargetPtr> removed;     ///< since the last drain
  /// Receives the hours of use that have ended, and the use of removed buckets, under the lock.
  /// Null if drains receive them.
  const UseSink* use_sink = nullptr;
  /// Use of buckets that have no entry (any more), for the next drain.
  std::vector<std::pair<TargetPtr, std::vector<HourOfUse>>> use_of_absent;
  std::size_t sweep_index = 0;  ///< the index that is swept next
  /// Calls of TakeSweepDue while `grown` was false.
  std::uint32_t sweep_checks = 0;
  bool grown = false;  ///< an entry was added since the last TakeSweepDue

  /// Returns the entry of a key; null if there is none.
  BucketEntry* Find(BucketRef ref);
  /// Returns the first entry of an entity, which is linked to the others; null if there is none.
  BucketEntry* FirstOf(std::string_view entity);
  /// Adds an entry. REQUIRES: Find(...) was null.
  BucketEntry& Add(BucketState state);
  /// Adds the entry to `changed`, if changes are tracked and it is not listed yet.
  void MarkChanged(BucketEntry& entry);
  /// Returns the number of changes and removals that the next drain reports.
  std::size_t Undrained() const { return changed.size() + removed.size(); }
  /// Removes an entry and reports its use. The last entry moves to the index of the removed one.
  void Remove(BucketEntry& entry);
  /// Reports the hours of an entry that have ended to `use_sink`. Without a sink, the next drain
  /// reports them.
  void ReportEndedHours(BucketEntry& entry);
  /// Reports use of a bucket that has no entry, or whose entry is being removed.
  void ReportUse(const TargetPtr& target, std::vector<HourOfUse> hours);
  /// Sweeps the next `count` entries: sets times that are far ahead to now, and removes full extra
  /// meters and full buckets. Pointers to entries may be invalid afterwards. Returns the number of
  /// removed buckets.
  std::size_t Sweep(std::size_t count, SweepTimes& times, AheadReport& report);
  static constexpr std::size_t kSweepCount = 4;
  /// The maximum number of buckets that the sweep of one request removes. A removal costs more than
  /// a decision, because the use of the bucket is reported; two are enough for a stripe to shrink.
  static constexpr std::size_t kMaxRemoved = 2;
  /// Returns true if the caller must now sweep kSweepCount entries: after each Add, so that the
  /// stripe is cleaned up faster than it grows, and otherwise on every 32nd call.
  bool TakeSweepDue();

 private:
  /// Reports the use of an entry. Returns false if use remains, which the next drain reports; the
  /// entry must not be removed before that drain.
  bool ReportAllUse(BucketEntry& entry, SweepTimes& times);
  void Link(BucketEntry& entry);
  void Unlink(BucketEntry& entry);
};

}  // namespace weir
