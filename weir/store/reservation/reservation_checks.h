// The argument checks of every store of slots, limits and tokens. Each returns kInvalidArgument
// with the wrong value and the allowed ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/store/reservation/account_limits.h"
#include "weir/store/reservation/reservation_store.h"

namespace weir {

/// The longest life of a slot without a renewal; the bound keeps expiry times in range.
inline constexpr milliseconds kLongestSlotLife{366LL * 24 * 3600 * 1000};

/// The key must pass Check; the id must have 1 to 255 bytes. All texts here must be valid as in
/// weir/model/stored_text.h.
[[nodiscard]] Status Check(const SlotRef& slot);
/// The life must be 1 ms to kLongestSlotLife.
[[nodiscard]] Status CheckSlotLife(const AccountKey& key, milliseconds ttl);
[[nodiscard]] Status Check(const SlotClaim& claim);
/// The longest resource id of a bound slot.
inline constexpr std::size_t kMaxResourceIdBytes = 1024;
/// The id must have 1 to kMaxResourceIdBytes bytes.
[[nodiscard]] Status CheckResourceId(std::string_view resource_id);
/// Checks the arguments of ReservationStore::Bind except the life. The slot's own id is refused as
/// a resource id: it marks a slot that is not bound (HeldSlot::bound).
[[nodiscard]] Status CheckBinding(const SlotRef& slot, std::string_view resource_id);

/// A service must have 1 to 2048 bytes. (A row may also have an empty service, which is not checked
/// here.)
[[nodiscard]] Status CheckService(std::string_view service);
[[nodiscard]] Status Check(const AccountLimitChange& change);

/// Returns the errors of TokenStore::Take for invalid arguments.
[[nodiscard]] Status CheckTake(const AccountKey& key, const AccountLimit& limit,
                               std::int64_t count);

/// Returns the id after which a listing of a key's slots continues; empty for the first page.
[[nodiscard]] Result<std::string> ReadSlotCursor(const AccountKey& key, const PageRequest& page);
/// Returns the cursor for the page after `last_id`.
std::string SlotCursor(const AccountKey& key, std::string_view last_id);

}  // namespace weir
