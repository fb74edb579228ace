// Stores usage in its table.
#pragma once

#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/store/config/usage_store.h"

namespace weir {

/// Adds usage, as UsageStore::Add. Returns kDataLoss if the row that usage is added to is
/// unreadable. REQUIRES: Check accepts `added`; a transaction.
[[nodiscard]] Status AddUsage(sqlite::Connection& connection, const UsageSnapshot& added);

/// Returns the errors of UsageStore::List for invalid arguments.
[[nodiscard]] Status CheckUsagePage(const UsageFilter& filter, const PageRequest& page);

/// Lists usage, as UsageStore::List. An unreadable row is noted in `damage`, and in
/// Page::unreadable. REQUIRES: CheckUsagePage holds.
[[nodiscard]] Result<Page<UsageSnapshot>> ListUsage(sqlite::Connection& connection,
                                                    const UsageFilter& filter,
                                                    const PageRequest& page, DamageReport& damage);

/// Returns whether a row is a snapshot. `row` has all columns in the order of the table.
bool IsUsageRow(const sqlite::Statement& row);

}  // namespace weir
