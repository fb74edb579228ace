// Audit events in their table.
#pragma once

#include <span>
#include <string_view>

#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/store/config/audit_log.h"

namespace weir {

/// The times at which events are written.
struct AuditMoment {
  UnixMillis label;         ///< time of the label clock, to which ...
  milliseconds correction;  // ... this correction was applied
  nanoseconds boot;         ///< time since boot
};

/// Stores events, each id once. Deletes the events that have expired (AuditHorizon, whose state is
/// in the row of the clock, as is the correction), and the oldest ones beyond kMostAuditEvents, in
/// the order of writing. REQUIRES: Check accepts the events; a transaction; the row of the clock is
/// of this boot.
[[nodiscard]] Status WriteEvents(sqlite::Connection& connection, std::span<const AuditEvent> events,
                                 const AuditMoment& moment);

/// Lists events, as AuditLog::List. An unreadable row is noted in `damage`, and in
/// Page::unreadable. REQUIRES: CheckAuditPage holds.
[[nodiscard]] Result<Page<AuditEvent>> ListEvents(sqlite::Connection& connection,
                                                  std::string_view subject, const PageRequest& page,
                                                  DamageReport& damage);

/// Returns whether a row is a valid event. `row` has all columns in the order of the table.
bool IsEventRow(const sqlite::Statement& row);

}  // namespace weir
