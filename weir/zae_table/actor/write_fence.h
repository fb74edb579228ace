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

/// Represents the content of a slot that is not a FenceValue; its `instance` has one bit more than
/// that of any real value. No process may claim the slot.
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
/// the item holds the last value that the process knows, and replaces it. The writes that require
/// the same value are a round. At most one write of a round is ever applied, however late it
/// arrives, and the slot then identifies it.
///
/// Each write carries parts, and a part may be sent again in a later write of the round.
/// Settlements report the outcome of parts. A write of the round is open while it may have been
/// applied or can still be applied. It is ruled out once both are excluded. A value; not
/// thread-safe.
class WriteFence {
 public:
  using WriteId = std::uint64_t;
  using PartId = std::uint64_t;

  /// The maximum number of open writes of a round.
  static constexpr std::size_t kMaxOpenWrites = 32;
  /// A slot of another process may be claimed if its value is at least this old.
  static constexpr milliseconds kIdle{10'000};
  /// A value whose time is further ahead of the bucket time than this is damaged, or comes from a
  /// wrong clock. Its slot may be claimed too.
  static constexpr milliseconds kMaxAhead{60'000};

  /// The condition of a write, and the value that it stores.
  struct Guard {
    WriteId write = 0;
    std::size_t slot = 0;
    std::optional<FenceValue> expected;  ///< nothing: the slot must be empty
    FenceValue value;
    /// The rf that the item must have; the same for all writes of a claim. An item that was deleted
    /// and created again has empty slots too, but another rf. Nothing if the slot is held already,
    /// and for a write that creates the item.
    std::optional<UnixMillis> rf;
  };

  /// Outcomes of parts, each list in ascending order.
  struct Settlement {
    /// Stored once. May contain a part that was reported as not applied before, if the network
    /// delivered its write twice.
    std::vector<PartId> applied;
    /// Not stored, and no write that carries them can be applied any more.
    std::vector<PartId> not_applied;
    /// Stored once or not at all. Before the response came, the slot was lost to another process,
    /// the item was deleted, or rf moved during the claim. In these cases no write that carries the
    /// parts can be applied any more. After Abandon, such a write can still be applied.
    std::vector<PartId> unknown;
  };

  /// `instance`: FenceValue::instance of every value. A process must not destroy a fence that has
  /// an open write: its next fence on the item may claim the same slot at once.
  explicit WriteFence(std::uint64_t instance) : instance_(instance) {}

  /// Begins a write. `item` is the latest known content of the item; `draw` must be random and
  /// drawn for this write, also in a process that was forked. Returns nothing if every slot is in
  /// use by another process. REQUIRES: open_writes() < kMaxOpenWrites.
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
  /// The write was certainly not applied and never will be: it was not sent, or was refused.
  Settlement OnNotApplied(WriteId write);

  /// Ends the round without an outcome: the parts of its open writes are unknown. Unlike after
  /// other settlements, one of these writes may still be applied.
  Settlement Abandon() { return Lose(OpenParts()); }

  /// Returns the number of open writes of the round.
  std::size_t open_writes() const;
  /// Returns true during a claim: from the first write that requires the slot until a write of this
  /// process is known to be stored in it. If another process moves rf during the claim, a later
  /// write of the round does not show whether an earlier one was applied.
  bool is_claiming() const { return claim_rf_.has_value(); }

  friend auto operator<=>(const WriteFence&, const WriteFence&) = default;

 private:
  struct Write {
    WriteId id = 0;
    FenceValue value;
    std::vector<PartId> parts;
    bool is_ruled_out = false;  // certainly not applied

    friend auto operator<=>(const Write&, const Write&) = default;
  };

  static constexpr UnixMillis kNoItem{INT64_MIN};

  // Returns true if a slot with this value may be claimed.
  bool IsFree(const FenceValue& value, UnixMillis now) const;
  // Chooses a slot. Returns false if all are in use.
  bool Claim(const FencedItem& item, UnixMillis now, std::uint32_t draw);
  // Returns the parts of the open writes, in ascending order.
  std::vector<PartId> OpenParts() const;
  // Returns null if the write is not of this round.
  Write* Find(WriteId write);
  // Adds a write to the round.
  void Remember(Write write);
  // Ends the round: this write was applied, and all others never will be.
  Settlement Settle(const Write& applied);
  // Ends the round and gives up the slot. The parts of open writes are unknown. Parts in
  // `open_before` that no open write carries any more are not applied.
  Settlement Lose(const std::vector<PartId>& open_before);

  std::uint64_t instance_;
  WriteId next_ = 1;
  std::optional<std::size_t> slot_;     // claimed or held
  std::optional<FenceValue> expected_;  // the expected value of the slot; nothing: empty
  // During a claim: the rf that all writes of the claim require; kNoItem: that there is no item.
  std::optional<UnixMillis> claim_rf_;
  std::vector<Write> round_;
};

}  // namespace weir::dynamo
