// Slots as items of rate-limiter-py's non-fungible table, and when they expire.
//
// Format: rate-limiter-py 0.3.0, its NonFungibleTokenManager and TokenReservation; attributes whose
// names begin with "w_" are ours. Its clients count our slots and its event manager deletes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/dynamo/table.h"
#include "weir/rate_limiter_py/tables.h"
#include "weir/store/reservation_store.h"

namespace weir::rate_limiter_py {

inline constexpr std::string_view kClaimed = "w_claimed";   ///< ms since 1970
inline constexpr std::string_view kEndedAt = "w_ended_at";  ///< ms since 1970, of a tombstone

/// By the mark of NewSlotId. Theirs are UUIDs, and sort before kOurs.
inline constexpr std::string_view kOurs = "w-";
inline bool IsOurs(std::string_view id) { return id.starts_with(kOurs); }

dynamo::TableKey SlotKey(const SlotRef& slot);
/// Where it is remembered that a thing has ended: its tombstone. {w_ended_at, expirationTime}
dynamo::TableKey EndedKey(std::string_view resource_id);

/// The step to which the expiries of slots that live so long are rounded, in seconds: the largest
/// power of two in a 32nd of it, at least 1. So slots of one ttl that are held at a time expire at
/// no more than 66 different seconds.
std::int64_t ExpiryStep(milliseconds ttl);
/// The second at which a slot expires that is to live for `ttl` from now: the first whole step that
/// is not earlier, and later than second `after`. REQUIRES: CheckSlotLife.
std::int64_t ExpirySecond(UnixMillis now, milliseconds ttl, std::int64_t after);

inline UnixMillis AtSecond(std::int64_t second) { return {second * 1000}; }
/// Of a slot that came from an item, or whose expiry is an ExpirySecond: exact.
inline std::int64_t SecondOf(const HeldSlot& slot) { return slot.expires.value / 1000; }

dynamo::Item SlotItem(const HeldSlot& slot);
/// Nothing for an item that is no slot: a roster, a tombstone, a row without an expiry. Expired
/// ones are read too. A row without resourceName and accountId (their create_token leaves such rows
/// behind) has an empty key. kDataLoss, naming the row, where the expiry is no time.
[[nodiscard]] Result<std::optional<HeldSlot>> ReadSlot(const dynamo::Item& item);
/// The `now` for ReadHeld that includes expired slots.
inline constexpr UnixMillis kExpiredToo{-1};

/// The same for one key: nothing too for a row of another key that shares the coordinate, and for
/// one that is not held at `now`. A row without a key belongs to every key of its coordinate.
[[nodiscard]] Result<std::optional<HeldSlot>> ReadHeld(const dynamo::Item& item,
                                                       const AccountKey& key, UnixMillis now);

/// That the slot is as it was seen: neither gone, nor expired in another second, nor bound since.
dynamo::Expression AsSeen(const HeldSlot& slot);

}  // namespace weir::rate_limiter_py
