// Audit events in their table.
#pragma once

#include <span>
#include <string_view>

#include "weir/embedded/sqlite.h"
#include "weir/store/audit_log.h"

namespace weir {

/// Keeps events, each id once, and deletes those that are older than kAuditRetentionDays at `now`.
/// REQUIRES: events that Check accepts; a transaction.
[[nodiscard]] Status WriteEvents(sqlite::Connection& connection, std::span<const AuditEvent> events,
                                 UnixMillis now);

/// As AuditLog::List; kDataLoss where a row is damaged. REQUIRES: CheckAuditPage holds.
[[nodiscard]] Result<Page<AuditEvent>> ListEvents(sqlite::Connection& connection,
                                                  std::string_view subject,
                                                  const PageRequest& page);

}  // namespace weir
