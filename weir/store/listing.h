// Errors and cursors that the listings of several stores share.
#pragma once

#include <string>

#include "weir/base/page.h"
#include "weir/base/result.h"

namespace weir {

/// Returns the error for a cursor of another listing.
tl::unexpected<Error> BadCursor();

/// Returns the id after which a listing of entities continues; empty for the first page. `listing`
/// is the first letter of this listing's cursors.
[[nodiscard]] Result<std::string> ReadEntityCursor(const PageRequest& page, char listing);

}  // namespace weir
