// Page cursors of listings of limits and entities.
#pragma once

#include <optional>
#include <string>

#include "weir/base/result.h"
#include "weir/store/config/config_store.h"

namespace weir::dynamo {

// A cursor begins with the listing that it belongs to: one of these letters, or the kind of the
// level. Then the identifiers of the last item of the previous page follow. Identifiers have no
// spaces.
inline constexpr char kAllEntities = 'e';
inline constexpr char kChildren = 'c';

std::string CursorOf(const Level& level);

/// Returns the level after which the page begins; nothing for the first page. kInvalidArgument if
/// the cursor belongs to another listing, or the page's limit is 0.
[[nodiscard]] Result<std::optional<Level>> ReadCursor(const PageRequest& page,
                                                      const LevelFilter& filter);
/// Returns the page's limit, at most 10^9.
std::size_t LimitOf(const PageRequest& page);

}  // namespace weir::dynamo
