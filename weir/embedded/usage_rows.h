// Usage in its table.
#pragma once

#include "weir/embedded/sqlite.h"
#include "weir/store/usage_store.h"

namespace weir {

/// As UsageStore::Add. REQUIRES: Check holds; a transaction.
[[nodiscard]] Status AddUsage(sqlite::Connection& connection, const UsageSnapshot& added);

/// As UsageStore::List; kDataLoss where a row is damaged. REQUIRES: Check and CheckLimit hold.
[[nodiscard]] Result<Page<UsageSnapshot>> ListUsage(sqlite::Connection& connection,
                                                    const UsageFilter& filter,
                                                    const PageRequest& page);

}  // namespace weir
