// The slots of an item's write fence, as they are stored. Mechanism: docs/design/write-fence.md.
//
//   w_0 ... w_f      binary, 16 bytes, big-endian: 6 of the backend instance, 6 of the time in ms
//                    since 1970, 4 random. One slot for each process that writes to the item.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weir/dynamodb/expression.h"
#include "weir/dynamodb/value.h"
#include "weir/zae_table/actor/write_fence.h"

namespace weir::dynamo {

/// Returns the name of the attribute. REQUIRES: slot < kFenceSlots.
std::string SlotAttribute(std::size_t slot);
/// Returns the stored form. Bits beyond those of the format are dropped.
Value Of(const FenceValue& value);
/// Returns the slots of an item. An attribute of another type or length is unreadable: no process
/// may claim the slot, since no condition can name its content.
FenceSlots ReadSlots(const Item& item);

/// Adds the condition of the guard and the value that the write stores in the slot, so that at most
/// one write of the round is applied.
void AddFence(Expression& expression, const WriteFence::Guard& guard);

/// A slot that no process has written for this duration is removed from the item. Its process
/// claims a slot again with its next write.
inline constexpr milliseconds kSlotLife{1'200'000};
/// Removes at most kMaxExpiredSlots slots that expired before `now` or are unreadable, but not
/// `own`. Only for a write that moves rf: a claim of a slot requires the rf that was seen, so a
/// claim that was planned before this write fails.
void RemoveExpiredSlots(Expression& expression, const FenceSlots& slots, std::size_t own,
                        UnixMillis now);
inline constexpr std::size_t kMaxExpiredSlots = 4;

}  // namespace weir::dynamo
