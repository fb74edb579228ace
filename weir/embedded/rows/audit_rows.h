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
  UnixMillis label;         ///< time of the label clock, `correction` included
  milliseconds correction;  ///< the correction of the label clock
  nanoseconds boot;         ///< time since boot
};

/// Stores events, each id once, with the retention of ReadRetention. Deletes the events that have
/// expired, and those beyond kMaxAuditEvents that were written first. Updates the row of the clock,
/// which has the correction and the state of AuditHorizon, by which events expire. REQUIRES: Check
/// accepts the events; a transaction; the row of the clock is of this boot.
[[nodiscard]] Status WriteEvents(sqlite::Connection& connection, std::span<const AuditEvent> events,
                                 const AuditMoment& moment);

/// Returns the retention of new events in days. A row that is invalid counts as absent.
[[nodiscard]] Result<std::int64_t> ReadRetention(sqlite::Connection& connection);
/// Sets the retention of new events. REQUIRES: CheckRetention accepts `days`; a transaction, unless
/// this is the only change.
[[nodiscard]] Status WriteRetention(sqlite::Connection& connection, std::int64_t days);
/// Returns whether a row of the table `setting` is valid. `row` has all columns.
bool IsSettingRow(const sqlite::Statement& row);

/// Lists events, as AuditLog::List. An unreadable row is noted in `damage`, and in
/// Page::unreadable. REQUIRES: CheckAuditPage holds.
[[nodiscard]] Result<Page<AuditEvent>> ListEvents(sqlite::Connection& connection,
                                                  std::string_view subject, const PageRequest& page,
                                                  DamageReport& damage);

/// Returns whether a row is a valid event. `row` has all columns in the order of the table.
bool IsEventRow(const sqlite::Statement& row);

}  // namespace weir
