// A hash table with open addressing that holds keys with one 64-bit word each. KeyedBucket uses it.
// Mechanism: docs/design/in-process.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "weir/bucket/key_hash.h"
#include "weir/bucket/key_slot.h"

namespace weir {

/// A word is a time (see Gcra). Once it is past, the key (which is then called past, too) is full,
/// and forgetting the key changes no decision. Not thread-safe.
///
/// Invariants:
/// 1. A slot whose word is 0 has not been used since the last rebuild; a search ends there.
/// 2. used_ counts the other slots. At least one slot in eight has the word 0, so every search
///    ends.
/// 3. A used slot is given to another key only when its word is past.
template <class Key>
class KeyTable {
 public:
  /// Creates an empty table for about `room` keys (at least 1) that are not past at the same time.
  /// It may hold up to a sixteenth more, because the keys are counted only once for many
  /// insertions: a count is a pass over the table.
  explicit KeyTable(std::uint32_t room) : KeyTable(room, GroupsFor(0)) {}

  /// Returns the key's word, or nullptr if the key is not in the table. The word may be past. The
  /// pointer is valid until the next Insert or Rebuild. The caller must keep the word above 0.
  std::uint64_t* Find(KeyView<Key> key, std::uint64_t hash) {
    for (std::size_t probe = 0;; ++probe) {
      Slot& slot = At(hash, probe);
      if (slot.Holds(key, hash) && slot.word != 0) [[likely]] {
        return &slot.word;
      }
      if (slot.word == 0) return nullptr;
    }
  }

  /// Adds a key that is not in the table, and returns its word, or nullptr if the table has no
  /// capacity left. The word is 0: the caller must set it above 0 at once. The slot may be taken
  /// from a key that is past at `now`. `secret` must be the one that made `hash`; a rebuild uses
  /// it.
  std::uint64_t* Insert(KeyView<Key> key, std::uint64_t hash, std::uint64_t now,
                        const HashSecret& secret) {
    if (insertions_until_count_ == 0 && !RecountCapacity(now)) return nullptr;
    Slot* slot = FirstPast(hash, now);
    if (slot->word == 0 && used_ >= RebuildThreshold()) {
      Rebuild(now, secret);
      slot = FirstPast(hash, now);
    }
    if (insertions_until_count_ > 0) --insertions_until_count_;
    if (slot->word == 0) ++used_;
    slot->Hold(key, hash);
    slot->word = 0;
    return &slot->word;
  }

  /// Forgets all keys that are past at `now`, and resizes the table to the other keys. Returns the
  /// number of forgotten keys.
  std::size_t Rebuild(std::uint64_t now, const HashSecret& secret) {
    const std::uint32_t live = Live(now);
    KeyTable fitted(max_live_keys_, GroupsFor(live));
    fitted.used_ = live;
    fitted.insertions_until_count_ = BudgetFor(live);
    ForEach([&](Slot& slot) {
      if (slot.word <= now) return;
      *fitted.FirstPast(slot.Hash(secret), 0) = std::move(slot);
    });
    const std::size_t forgotten = used_ - live;
    *this = std::move(fitted);
    return forgotten;
  }

  std::size_t used() const { return used_; }
  std::size_t bytes() const { return group_count_ * sizeof(Group); }

 private:
  KeyTable(std::uint32_t room, std::size_t groups)
      : groups_(std::make_unique<Group[]>(groups)),
        group_count_(groups),
        max_live_keys_(room),
        insertions_until_count_(room) {}

  using Slot = KeySlot<Key>;
  static constexpr std::size_t kLine = 64;
  static constexpr bool kFillsLine = kLine % sizeof(Slot) == 0;
  static constexpr std::size_t kGroup = kFillsLine ? kLine / sizeof(Slot) : 1;
  /// The slots that a search reads together: one cache line, if slots fill it evenly.
  struct alignas(kFillsLine ? kLine : alignof(Slot)) Group {
    Slot slots[kGroup];
  };

  // Five eighths of the slots are in use after a rebuild; at seven eighths the next rebuild is due.
  static std::size_t GroupsFor(std::size_t live) { return (live + 1) * 8 / 5 / kGroup + 2; }
  std::size_t RebuildThreshold() const { return group_count_ * kGroup * 7 / 8; }

  // Returns the slot of the `probe`-th step of a search. A search begins at a slot that the hash
  // selects, goes through that cache line, and then on to the next line. The branch that finds the
  // key in the first slot is mostly predicted, so the processor begins the next decision while the
  // line arrives.
  Slot& At(std::uint64_t hash, std::size_t probe) const {
    const std::size_t home = (hash & UINT32_MAX) * group_count_ >> 32;
    const std::size_t group = home + probe / kGroup;
    const std::size_t slot = ((hash >> 32) + probe) % kGroup;
    return groups_[group < group_count_ ? group : group - group_count_].slots[slot];
  }

  // Returns the first slot of the search that was never used or whose word is past.
  Slot* FirstPast(std::uint64_t hash, std::uint64_t now) {
    for (std::size_t probe = 0;; ++probe) {
      Slot& slot = At(hash, probe);
      if (slot.word <= now) return &slot;
    }
  }

  void ForEach(auto visit) {
    for (std::size_t at = 0; at < group_count_; ++at) {
      for (Slot& slot : groups_[at].slots) visit(slot);
    }
  }

  // Returns the number of keys that are not past.
  std::uint32_t Live(std::uint64_t now) {
    std::uint32_t live = 0;
    ForEach([&](Slot& slot) { live += slot.word > now ? 1 : 0; });
    return live;
  }

  // Returns the number of insertions before the next count: the free capacity, but at least a
  // sixteenth of `max_live_keys_`, so that many insertions share the cost of a count. 0 if the
  // table is full.
  std::uint32_t BudgetFor(std::uint32_t live) const {
    return live >= max_live_keys_ ? 0 : std::max(max_live_keys_ - live, max_live_keys_ / 16);
  }

  // Counts the keys that are not past. Returns true if there is capacity for a new one. After a
  // count that finds none, the next used_ / 64 calls return false without another count.
  bool RecountCapacity(std::uint64_t now) {
    if (refusals_until_count_ > 0) {
      --refusals_until_count_;
      return false;
    }
    insertions_until_count_ = BudgetFor(Live(now));
    if (insertions_until_count_ == 0) refusals_until_count_ = used_ / 64;
    return insertions_until_count_ > 0;
  }

  std::unique_ptr<Group[]> groups_;
  std::size_t group_count_;
  /// The number of slots whose word is not 0.
  std::uint32_t used_ = 0;
  /// The number of keys that may be not past at the same time; see the constructor.
  std::uint32_t max_live_keys_;
  /// The number of keys that may be added before the keys that are not past are counted again.
  std::uint32_t insertions_until_count_;
  /// The number of refusals before the next count, if the last count found no capacity.
  std::uint32_t refusals_until_count_ = 0;
};

}  // namespace weir
