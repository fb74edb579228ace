// Audit events in their table.
#pragma once

#include <span>
#include <string_view>

#include "weir/embedded/damage.h"
#include "weir/embedded/sqlite.h"
#include "weir/store/audit_log.h"

namespace weir {

/// When events are written.
struct AuditMoment {
  UnixMillis label;  ///< of the label clock, whose correction is ...
  milliseconds correction;
  nanoseconds boot;  ///< the time since boot
};

/// Keeps events, each id once, and deletes those that have expired (AuditHorizon, kept in the row
/// of the clock, as the correction is) and those beyond kMostAuditEvents that were written first.
/// REQUIRES: events that Check accepts; a transaction; the row of the clock is of this boot.
[[nodiscard]] Status WriteEvents(sqlite::Connection& connection, std::span<const AuditEvent> events,
                                 const AuditMoment& moment);

/// As AuditLog::List. A row that does not read is noted in `damage`, and in Page::unreadable.
/// REQUIRES: CheckAuditPage holds.
[[nodiscard]] Result<Page<AuditEvent>> ListEvents(sqlite::Connection& connection,
                                                  std::string_view subject, const PageRequest& page,
                                                  DamageReport& damage);

/// Whether a row with all columns in their order is an event.
bool IsEventRow(const sqlite::Statement& row);

}  // namespace weir
