// What all listings of a configuration have in common: their limits and their cursors.
#pragma once

#include <string>

#include "weir/base/result.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// kInvalidArgument for a limit of 0.
[[nodiscard]] Status CheckLimit(const PageRequest& page);

/// That the cursor is none of this listing.
tl::unexpected<Error> BadCursor();

/// The id after which a listing of entities goes on; empty at its beginning. `listing` is the
/// letter that the cursors of this listing begin with.
[[nodiscard]] Result<std::string> ReadEntityCursor(const PageRequest& page, char listing);

}  // namespace weir
