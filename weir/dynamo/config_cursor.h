// Where a listing of limits or entities goes on.
#pragma once

#include <optional>
#include <string>

#include "weir/base/result.h"
#include "weir/store/config_store.h"

namespace weir::dynamo {

// A cursor says which listing it belongs to, then names the last item of the page before by its
// identifiers, none of which has a space.
inline constexpr char kAllEntities = 'e';
inline constexpr char kChildren = 'c';

std::string CursorOf(const Level& level);

/// The level after which the page begins; nothing for the first page. kInvalidArgument for a cursor
/// of another listing, or a page of no items.
[[nodiscard]] Result<std::optional<Level>> ReadCursor(const PageRequest& page,
                                                      const LevelFilter& filter);
/// The page's limit, or a number that it is as good as.
std::size_t LimitOf(const PageRequest& page);

}  // namespace weir::dynamo
