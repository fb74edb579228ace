// Keys and one 64-bit word each, in open addressing. The table under KeyedBucket.
// Mechanism: docs/design/in-process.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "weir/bucket/key_hash.h"
#include "weir/bucket/key_slot.h"

namespace weir {

/// A word is an instant (see Gcra): once it is past, the key is full, and forgetting it changes no
/// decision. Not thread-safe.
///
/// Invariants:
/// 1. A slot whose word is 0 was never used since the last rebuild; a search ends there.
/// 2. used_ counts the other slots; one in eight at least is not among them, so every search ends.
/// 3. A used slot is given to another key only when its word is past.
template <class Key>
class KeyTable {
 public:
  /// About `room` keys (at least 1) that are not past at a time, at most a sixteenth more: the
  /// price of a pass over the table is then shared by so many placements. `secret` goes into the
  /// hash.
  explicit KeyTable(std::uint32_t room) : KeyTable(room, GroupsFor(0)) {}

  /// The key's word, or nullptr. It may be past. Valid until the next Place or Rebuild. Keep it
  /// above 0.
  std::uint64_t* Find(KeyView<Key> key, std::uint64_t hash) {
    for (std::size_t probe = 0;; ++probe) {
      Slot& slot = At(hash, probe);
      if (slot.Holds(key, hash) && slot.word != 0) [[likely]] {
        return &slot.word;
      }
      if (slot.word == 0) return nullptr;
    }
  }

  /// A word for a key that is not there, or nullptr if there is no room. It reads 0: set it above 0
  /// at once. May take the place of a key that is past at `now`.
  std::uint64_t* Place(KeyView<Key> key, std::uint64_t hash, std::uint64_t now,
                       const HashSecret& secret) {
    if (budget_ == 0 && !Count(now)) return nullptr;
    Slot* slot = FirstPast(hash, now);
    if (slot->word == 0 && used_ >= Most()) {
      Rebuild(now, secret);
      slot = FirstPast(hash, now);
    }
    if (budget_ > 0) --budget_;
    if (slot->word == 0) ++used_;
    slot->Hold(key, hash);
    slot->word = 0;
    return &slot->word;
  }

  /// Forgets all keys that are past and fits the table to the others. Returns how many it forgot.
  std::size_t Rebuild(std::uint64_t now, const HashSecret& secret) {
    const std::uint32_t live = Live(now);
    KeyTable fitted(room_, GroupsFor(live));
    fitted.used_ = live;
    fitted.budget_ = BudgetFor(live);
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
        room_(room),
        budget_(room) {}

  using Slot = KeySlot<Key>;
  static constexpr std::size_t kLine = 64;
  static constexpr bool kFillsLine = kLine % sizeof(Slot) == 0;
  static constexpr std::size_t kGroup = kFillsLine ? kLine / sizeof(Slot) : 1;
  /// What a search looks at together: one cache line, where slots fill it evenly.
  struct alignas(kFillsLine ? kLine : alignof(Slot)) Group {
    Slot slots[kGroup];
  };

  // Five eighths of the slots are used after a rebuild, seven before the next.
  static std::size_t GroupsFor(std::size_t live) { return (live + 1) * 8 / 5 / kGroup + 2; }
  std::size_t Most() const { return group_count_ * kGroup * 7 / 8; }

  // Where a search looks: through a line, from a slot that the hash says (the branch that finds the
  // key there is mostly predicted, so the processor goes on to the next decision while the line
  // arrives), then through the next.
  Slot& At(std::uint64_t hash, std::size_t probe) const {
    const std::size_t home = (hash & UINT32_MAX) * group_count_ >> 32;
    const std::size_t group = home + probe / kGroup;
    const std::size_t slot = ((hash >> 32) + probe) % kGroup;
    return groups_[group < group_count_ ? group : group - group_count_].slots[slot];
  }

  // Never used, or past.
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

  std::uint32_t Live(std::uint64_t now) {
    std::uint32_t live = 0;
    ForEach([&](Slot& slot) { live += slot.word > now ? 1 : 0; });
    return live;
  }

  // At most `room_`, but a sixteenth of it at least, so that so many share the price of a count.
  std::uint32_t BudgetFor(std::uint32_t live) const {
    return live >= room_ ? 0 : std::max(room_ - live, room_ / 16);
  }

  // Whether there is room. Where there is none, it counts again only after some more have asked.
  bool Count(std::uint64_t now) {
    if (asks_until_count_ > 0) {
      --asks_until_count_;
      return false;
    }
    budget_ = BudgetFor(Live(now));
    if (budget_ == 0) asks_until_count_ = used_ / 64;
    return budget_ > 0;
  }

  std::unique_ptr<Group[]> groups_;
  std::size_t group_count_;
  std::uint32_t used_ = 0;
  std::uint32_t room_;
  std::uint32_t budget_;  ///< so many may be placed before the keys that are not past are counted
  std::uint32_t asks_until_count_ = 0;
};

}  // namespace weir
