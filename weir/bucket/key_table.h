// Keys and one 64-bit word each, in open addressing. The table under KeyedBucket.
// Mechanism: docs/design/in-process.md.
#pragma once

#include <algorithm>
#include <bit>
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
/// 1. A slot whose word is 0 was never used since the last rebuild; a search ends there. In a group
///    such slots come first.
/// 2. used_ counts the other slots; one in four at least is not among them, so every search ends.
/// 3. A used slot is given to another key only when its word is past.
template <class Key>
class KeyTable {
 public:
  /// At most `room` keys (at least 1) that are not past at a time. `seed` goes into the hash.
  explicit KeyTable(std::uint32_t room) : KeyTable(room, 1) {}

  /// The key's word, or nullptr. It may be past. Valid until the next Place or Rebuild. Keep it
  /// above 0.
  std::uint64_t* Find(KeyView<Key> key, std::uint64_t hash) {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      Group& group = groups_[at];
      Slot& slot = group.slots[Guess(group, key, hash)];
      if (slot.word != 0 && slot.Holds(key, hash)) [[likely]]
        return &slot.word;
      if (group.slots[0].word == 0) return nullptr;
    }
  }

  /// A word for a key that is not there, or nullptr if there is no room. It reads 0: set it above 0
  /// at once. May take the place of a key that is past at `now`.
  std::uint64_t* Place(KeyView<Key> key, std::uint64_t hash, std::uint64_t now,
                       std::uint64_t seed) {
    Slot* slot = FirstPast(hash, now);
    if (slot->word == 0 && used_ >= Most()) {
      if (!MakeRoom(now, seed)) return nullptr;
      slot = FirstPast(hash, now);
    }
    if (slot->word == 0) ++used_;
    slot->Hold(key, hash);
    slot->word = 0;
    return &slot->word;
  }

  /// Forgets all keys that are past and fits the table to the others. Returns how many it forgot.
  std::size_t Rebuild(std::uint64_t now, std::uint64_t seed) {
    const std::uint32_t live = Live(now);
    KeyTable fitted(room_, std::bit_ceil(2 * (live / kGroup + 1)));
    fitted.used_ = live;
    ForEach([&](Slot& slot) {
      if (slot.word <= now) return;
      *fitted.FirstPast(slot.Hash(seed), 0) = std::move(slot);
    });
    const std::size_t forgotten = used_ - live;
    *this = std::move(fitted);
    return forgotten;
  }

  std::size_t used() const { return used_; }
  std::size_t bytes() const { return (mask_ + 1) * sizeof(Group); }

 private:
  KeyTable(std::uint32_t room, std::size_t groups)
      : groups_(std::make_unique<Group[]>(groups)), mask_(groups - 1), room_(room) {}

  using Slot = KeySlot<Key>;
  static constexpr std::size_t kLine = 64;
  static constexpr bool kFillsLine = kLine % sizeof(Slot) == 0;
  static constexpr std::size_t kGroup = kFillsLine ? kLine / sizeof(Slot) : 1;
  /// What a search looks at together: one cache line, where slots fill it evenly.
  struct alignas(kFillsLine ? kLine : alignof(Slot)) Group {
    Slot slots[kGroup];
  };

  // The slot that may hold the key. Conditional moves and no branches: which slot it is cannot be
  // predicted, and after a wrong guess the processor would wait for the line to arrive instead of
  // going on to the next decision.
  static std::size_t Guess(const Group& group, KeyView<Key> key, std::uint64_t hash) {
    std::size_t guess = 0;
    for (std::size_t i = 1; i < kGroup; ++i) guess = group.slots[i].Holds(key, hash) ? i : guess;
    return guess;
  }

  // Never used, or past.
  Slot* FirstPast(std::uint64_t hash, std::uint64_t now) {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      for (std::size_t i = kGroup; i-- > 0;) {
        if (groups_[at].slots[i].word <= now) return &groups_[at].slots[i];
      }
    }
  }

  void ForEach(auto visit) {
    for (std::size_t at = 0; at <= mask_; ++at) {
      for (Slot& slot : groups_[at].slots) visit(slot);
    }
  }

  std::size_t Most() const { return std::min<std::size_t>((mask_ + 1) * kGroup * 3 / 4, room_); }

  std::uint32_t Live(std::uint64_t now) {
    std::uint32_t live = 0;
    ForEach([&](Slot& slot) { live += slot.word > now ? 1 : 0; });
    return live;
  }

  // Where it is full of keys that are not past, it looks again only after some more have asked:
  // looking costs a pass over the table.
  bool MakeRoom(std::uint64_t now, std::uint64_t seed) {
    if (asks_until_look_ > 0) {
      --asks_until_look_;
      return false;
    }
    if (Live(now) >= room_) {
      asks_until_look_ = used_ / 64;
      return false;
    }
    Rebuild(now, seed);
    return true;
  }

  std::unique_ptr<Group[]> groups_;
  std::size_t mask_;  // groups - 1; groups are a power of two
  std::uint32_t used_ = 0;
  std::uint32_t room_;
  std::uint32_t asks_until_look_ = 0;
};

}  // namespace weir
