// Usage in its table.
#pragma once

#include "weir/embedded/sqlite.h"
#include "weir/store/usage_store.h"

namespace weir {

/// As UsageStore::Add. REQUIRES: Check holds; a transaction.
[[nodiscard]] Status AddUsage(sqlite::Connection& connection, const UsageSnapshot& added);

/// What UsageStore::List refuses.
[[nodiscard]] Status CheckUsagePage(const UsageFilter& filter, const PageRequest& page);

/// As UsageStore::List; kDataLoss where a row is damaged. REQUIRES: CheckUsagePage holds.
[[nodiscard]] Result<Page<UsageSnapshot>> ListUsage(sqlite::Connection& connection,
                                                    const UsageFilter& filter,
                                                    const PageRequest& page);

}  // namespace weir
