// Pages of a listing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/result.h"

namespace weir {

/// The request for one page of a listing. `cursor` is empty for the first page; otherwise it is the
/// `next` of the previous page. A listing fails with kInvalidArgument for a cursor of another
/// listing and for a limit of 0.
struct PageRequest {
  std::string cursor;
  std::size_t limit = 1000;  ///< the largest number of items
};

template <class T>
struct Page {
  std::vector<T> items;
  std::string next;  ///< the cursor of the next page; empty: this is the last page
  /// Stored items that cannot be read and are not in `items`: one line each, with the item and the
  /// reason. A line may be repeated on the next page.
  std::vector<std::string> unreadable{};
};

/// Returns kInvalidArgument for a limit of 0.
[[nodiscard]] WEIR_API Status CheckLimit(const PageRequest& page);

}  // namespace weir
