// What every store of slots, limits and tokens refuses before it looks at its rows. Each answer is
// kInvalidArgument and says what, where, and what would be right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/store/account_limits.h"
#include "weir/store/reservation_store.h"

namespace weir {

/// The longest that a slot may live without being renewed: so that times stay times.
inline constexpr milliseconds kLongestSlotLife{366LL * 24 * 3600 * 1000};

/// A key as Check says, and an id of 1 to 255 bytes. All texts here are as weir/model/stored_text.h
/// says.
[[nodiscard]] Status Check(const SlotRef& slot);
/// 1 ms to kLongestSlotLife.
[[nodiscard]] Status CheckSlotLife(const AccountKey& key, milliseconds ttl);
[[nodiscard]] Status Check(const SlotClaim& claim);
/// Of what a slot is bound to.
inline constexpr std::size_t kMostResourceIdBytes = 1024;
/// 1 to kMostResourceIdBytes bytes.
[[nodiscard]] Status CheckResourceId(std::string_view resource_id);

/// A service may be empty in a row; where it is asked for it is 1 to 255 bytes.
[[nodiscard]] Status CheckService(std::string_view service);
[[nodiscard]] Status Check(const AccountLimitChange& change);

/// As TokenStore::Take says.
[[nodiscard]] Status CheckTake(const AccountKey& key, const AccountLimit& limit,
                               std::int64_t count);

/// The id after which a listing of a key's slots goes on; empty at its beginning.
[[nodiscard]] Result<std::string> ReadSlotCursor(const AccountKey& key, const PageRequest& page);
std::string SlotCursor(const AccountKey& key, std::string_view last_id);

}  // namespace weir
