// Which writes of one process on one item were applied, if responses are late or lost.
// Mechanism and proof: docs/design/write-fence.md.
//
//             Begin                     a write was applied
//   no slot --------> slot is claimed ---------------------> slot is held <--+
//      ^                     |                                |    |         |
//      |                     |                                |    +---------+
//      |                     |                                |   a write was applied
//      +---------------------+--------------------------------+
//        the slot has another value, the item is gone, rf moved during the claim, or Abandon
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/time.h"

namespace weir::dynamo {

/// The content of one slot of an item: 16 bytes when stored. No two writes store the same value.
struct FenceValue {
  std::uint64_t instance = 0;  ///< 48 bits, drawn when the backend was opened
  UnixMillis at;               ///< 48 bits, the bucket time at which the write was planned
  std::uint32_t draw = 0;      ///< 32 bits, random for each write

  friend auto operator<=>(const FenceValue&, const FenceValue&) = default;
};

/// Marks an attribute in a slot that is not such a value. No process may claim the slot.
inline constexpr FenceValue kUnreadableSlot{
    .instance = std::uint64_t{1} << 48, .at = {}, .draw = 0};

inline constexpr std::size_t kFenceSlots = 16;
using FenceSlots = std::array<std::optional<FenceValue>, kFenceSlots>;

/// The attributes of an item that its fence depends on.
struct FencedItem {
  FenceSlots slots;
  UnixMillis rf;  ///< its refill time
};

/// Fences the writes of one process on one item. Every write requires that the process's slot of
/// the item holds the last value that the process knows, and replaces it. So at most one of the
/// writes that were sent since then (a round) is ever applied, however late it arrives, and the
/// slot identifies it.
///
/// Each write carries parts, and a part may be sent again in a later write of the round.
/// Settlements report the outcome of parts. A value; not thread-safe.
class WriteFence {
 public:
  using WriteId = std::uint64_t;
  using PartId = std::uint64_t;

  /// The number of writes of a round that may still be applied.
  static constexpr std::size_t kMaxUnanswered = 32;
  /// A slot of another process may be claimed if its latest write is this old.
  static constexpr milliseconds kIdle{10'000};
  /// A time further ahead than this is damaged, or of a wrong clock: the slot counts as idle.
  static constexpr milliseconds kMaxAhead{60'000};

  /// The condition of a write, and the value that it stores.
  struct Guard {
    WriteId write = 0;
    std::size_t slot = 0;
    std::optional<FenceValue> expected;  ///< nothing: the slot must be empty
    FenceValue value;
    /// While the slot is being claimed: the item's rf must be this one, for all writes of the
    /// claim. An item that was deleted and created again has empty slots, too, but another rf.
    /// Nothing also for a write that creates the item.
    std::optional<UnixMillis> rf;
  };

  /// Outcomes of parts, each list in ascending order.
  struct Settlement {
    /// Stored once. May contain a part that was reported as not applied before, if the network
    /// delivered its write twice.
    std::vector<PartId> applied;
    /// Not stored, and no write that carries them can be applied any more.
    std::vector<PartId> not_applied;
    /// The slot was lost to another process, or the item was deleted, before the response came:
    /// stored once or not at all, and no write that carries them can be applied any more.
    std::vector<PartId> unknown;
  };

  /// `instance`: FenceValue::instance of every value. A process drops a fence only if no write is
  /// unanswered: its next fence on the item may claim the same slot at once.
  explicit WriteFence(std::uint64_t instance) : instance_(instance) {}

  /// Begins a write. `item` is the latest known content of the item; `draw` must be random and
  /// drawn for this write, also in a process that was forked. Returns nothing if every slot is in
  /// use by another process. REQUIRES: unanswered() < kMaxUnanswered.
  std::optional<Guard> Begin(std::vector<PartId> parts, const FencedItem& item, UnixMillis now,
                             std::uint32_t draw);
  /// Like Begin, but for a write that creates the item, and requires that it does not exist.
  std::optional<Guard> BeginCreation(std::vector<PartId> parts, UnixMillis now,
                                     std::uint32_t draw) {
    return Begin(std::move(parts), {.slots = {}, .rf = kNoItem}, now, draw);
  }
  /// The write was applied.
  Settlement OnApplied(WriteId write);
  /// The condition of the write failed, and the response contains `item`; nothing if it does not
  /// exist.
  Settlement OnFailed(WriteId write, const std::optional<FencedItem>& item);
  /// The write certainly never reached the table: it was not sent, or was throttled.
  Settlement OnNotSent(WriteId write);

  /// Gives up learning the outcome: parts that may be applied become unknown. Unlike after other
  /// settlements, a write of the round may still be applied once.
  Settlement Abandon() { return Lose(OpenParts()); }

  /// Returns the number of writes of this round that may still be applied.
  std::size_t unanswered() const;
  /// Returns true until a write of this process is known to be in its slot. If another process
  /// moves rf meanwhile, a later write of the round does not show whether an earlier one was
  /// applied.
  bool is_claiming() const { return claimed_at_.has_value(); }

  friend auto operator<=>(const WriteFence&, const WriteFence&) = default;

 private:
  struct Write {
    WriteId id = 0;
    FenceValue value;
    std::vector<PartId> parts;
    bool is_answered = false;

    friend auto operator<=>(const Write&, const Write&) = default;
  };

  static constexpr UnixMillis kNoItem{INT64_MIN};

  // Returns true if a slot with this value may be claimed.
  bool IsFree(const FenceValue& value, UnixMillis now) const;
  // Chooses a slot. Returns false if all are in use.
  bool Claim(const FencedItem& item, UnixMillis now, std::uint32_t draw);
  // Returns the parts of the writes that have no response, in ascending order.
  std::vector<PartId> OpenParts() const;
  // Returns null if the write is not of this round.
  Write* Find(WriteId write);
  // Adds a write to the round.
  void Remember(Write write);
  // Ends the round: this write was applied, and all others never will be.
  Settlement Settle(const Write& applied);
  // Ends the round and gives up the slot. Parts that were open, and are no more, are not applied.
  Settlement Lose(const std::vector<PartId>& open_before);

  std::uint64_t instance_;
  WriteId next_ = 1;
  std::optional<std::size_t> slot_;     // claimed or held
  std::optional<FenceValue> expected_;  // the expected value of the slot; nothing: empty
  /// While the slot is claimed: the rf that all writes of the claim require.
  std::optional<UnixMillis> claimed_at_;
  std::vector<Write> round_;
};

}  // namespace weir::dynamo
