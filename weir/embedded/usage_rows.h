// Usage in its table.
#pragma once

#include "weir/embedded/damage.h"
#include "weir/embedded/sqlite.h"
#include "weir/store/usage_store.h"

namespace weir {

/// As UsageStore::Add; kDataLoss if the row that usage is added to does not read. REQUIRES: Check
/// holds; a transaction.
[[nodiscard]] Status AddUsage(sqlite::Connection& connection, const UsageSnapshot& added);

/// The errors by which UsageStore::List refuses its arguments.
[[nodiscard]] Status CheckUsagePage(const UsageFilter& filter, const PageRequest& page);

/// As UsageStore::List. A row that does not read is noted in `damage`, and in Page::unreadable.
/// REQUIRES: CheckUsagePage holds.
[[nodiscard]] Result<Page<UsageSnapshot>> ListUsage(sqlite::Connection& connection,
                                                    const UsageFilter& filter,
                                                    const PageRequest& page, DamageReport& damage);

/// Whether a row with all columns in their order is a snapshot.
bool IsUsageRow(const sqlite::Statement& row);

}  // namespace weir
