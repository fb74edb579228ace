// Slots as items of rate-limiter-py's non-fungible table, and the times at which they expire.
//
// Format: rate-limiter-py 0.3.0, its NonFungibleTokenManager and TokenReservation. Attributes whose
// names begin with "w_" are ours. rate-limiter-py's clients count our slots, and its event manager
// deletes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/dynamodb/table.h"
#include "weir/rate_limiter_py/tables.h"
#include "weir/store/reservation/reservation_store.h"

namespace weir::rate_limiter_py {

inline constexpr std::string_view kClaimed = "w_claimed";   ///< ms since 1970
inline constexpr std::string_view kEndedAt = "w_ended_at";  ///< ms since 1970; only in tombstones

/// The prefix of ids of NewSlotId. The ids of rate-limiter-py's clients are UUIDs, which sort
/// before this prefix.
inline constexpr std::string_view kOurs = "w-";
inline bool IsOurs(std::string_view id) { return id.starts_with(kOurs); }

dynamo::TableKey SlotKey(const SlotRef& slot);
/// Returns the key of the tombstone, the item that records the end of a resource: {w_ended_at,
/// expirationTime}.
dynamo::TableKey EndedKey(std::string_view resource_id);

/// Returns the step, in seconds, to which expiries of slots with this time to live are rounded: the
/// largest power of two that is not greater than a 32nd of `ttl`, at least 1. So slots of one ttl
/// that are held at the same time expire at no more than 66 different seconds.
std::int64_t ExpiryStep(milliseconds ttl);
/// Returns the second at which a slot that lives for `ttl` from `now` expires: the first multiple
/// of ExpiryStep(ttl) that is not earlier than now + ttl, and is later than the second `after`.
/// REQUIRES: CheckSlotLife.
std::int64_t ExpirySecond(UnixMillis now, milliseconds ttl, std::int64_t after);

inline UnixMillis AtSecond(std::int64_t second) { return {second * 1000}; }
/// Returns the second at which a slot expires, rounded down: exact if the expiry was read from an
/// item or is an ExpirySecond.
inline std::int64_t SecondOf(const HeldSlot& slot) { return slot.expires.value / 1000; }

dynamo::Item SlotItem(const HeldSlot& slot);
/// Returns the slot in an item, also if it has expired; nothing for other items: a roster, a
/// tombstone, a row without an expiry. A row without resourceName and accountId (create_token of
/// rate-limiter-py leaves such rows) has an empty key. Returns kDataLoss with the row if the expiry
/// is not a valid time.
[[nodiscard]] Result<std::optional<HeldSlot>> ReadSlot(const dynamo::Item& item);
/// The `now` with which ReadHeld includes expired slots.
inline constexpr UnixMillis kExpiredToo{-1};

/// Like ReadSlot, for one key. Also returns nothing for a row of another key that shares the
/// coordinate, and for a slot that is not held at `now`. A row without a key belongs to every key
/// of its coordinate.
[[nodiscard]] Result<std::optional<HeldSlot>> ReadHeld(const dynamo::Item& item,
                                                       const AccountKey& key, UnixMillis now);

/// Returns the condition that the slot is as it was read: it exists, and its expiry and its binding
/// have not changed.
dynamo::Expression AsSeen(const HeldSlot& slot);

}  // namespace weir::rate_limiter_py
