#include "weir/embedded/rows/audit_rows.h"

#include <fmt/format.h>

#include <chrono>

#include "weir/embedded/rows/clock_rows.h"
#include "weir/embedded/rows/detail_text.h"
#include "weir/store/config/audit_table.h"

namespace weir {
namespace {

constexpr std::string_view kRetentionSetting = "audit_retention_days";

void BindOptional(sqlite::Statement& statement, int parameter,
                  const std::optional<std::string>& text) {
  if (text) {
    statement.Bind(parameter, *text);
  } else {
    statement.BindNull(parameter);
  }
}

std::optional<std::string> TextOrNull(const sqlite::Statement& row, int column) {
  if (row.IsNull(column)) return std::nullopt;
  return std::string(row.Text(column));
}

Status WriteOne(sqlite::Statement& insert, const AuditEvent& event, milliseconds expires) {
  const std::string details = ToText(event.details);
  insert.Bind(1, event.subject).Bind(2, event.id).Bind(3, event.at.value).Bind(4, event.action);
  BindOptional(insert, 5, event.principal);
  BindOptional(insert, 6, event.resource);
  return insert.Bind(7, details).Bind(8, expires.count()).Run();
}

bool ReadEvent(const sqlite::Statement& row, AuditEvent& event) {
  event.subject = row.Text(0);
  event.id = row.Text(1);
  event.at = {row.Integer(2)};
  event.action = row.Text(3);
  event.principal = TextOrNull(row, 4);
  event.resource = TextOrNull(row, 5);
  return ReadParts(row.Text(6), event.details) && Check(event);
}

// Updates the counted time and the correction in the row of the clock. Returns the new horizon.
Result<AuditHorizon> UpdateHorizon(sqlite::Connection& connection, const AuditMoment& moment) {
  WEIR_ASSIGN_OR_RETURN(std::optional<StoredClock> clock, ReadClock(connection));
  if (!clock) return Fail(Code::kDataLoss, connection.name() + ": damaged: no row in clock");
  AuditHorizon horizon(clock->horizon, moment.boot, /*is_same_boot=*/true);
  (void)horizon.Count(moment.boot);
  clock->horizon = horizon.state();
  clock->correction = moment.correction;
  WEIR_RETURN_IF_ERROR(WriteClock(connection, *clock));
  return horizon;
}

// Deletes expired events, and the oldest ones beyond kMaxAuditEvents.
Status DeleteOld(sqlite::Connection& connection, milliseconds counted) {
  WEIR_ASSIGN_OR_RETURN(sqlite::Statement expire,
                        connection.Prepare("DELETE FROM audit WHERE expires <= ?"));
  WEIR_RETURN_IF_ERROR(expire.Bind(1, counted.count()).Run());
  // Compares numbers instead of counting events: that costs an index lookup, not a scan. If numbers
  // are missing, fewer events remain.
  WEIR_ASSIGN_OR_RETURN(
      sqlite::Statement shorten,
      connection.Prepare("DELETE FROM audit WHERE number <= (SELECT max(number) FROM audit) - ?"));
  return shorten.Bind(1, static_cast<std::int64_t>(kMaxAuditEvents)).Run();
}

}  // namespace

bool IsSettingRow(const sqlite::Statement& row) {
  return row.Text(0) == kRetentionSetting && row.IsInteger(1) && CheckRetention(row.Integer(1));
}

Result<std::int64_t> ReadRetention(sqlite::Connection& connection) {
  WEIR_ASSIGN_OR_RETURN(sqlite::Statement select,
                        connection.Prepare("SELECT name, value FROM setting WHERE name = ?"));
  WEIR_ASSIGN_OR_RETURN(const bool is_set, select.Bind(1, kRetentionSetting).Step());
  return is_set && IsSettingRow(select) ? select.Integer(1) : kAuditRetentionDays;
}

Status WriteRetention(sqlite::Connection& connection, std::int64_t days) {
  WEIR_ASSIGN_OR_RETURN(sqlite::Statement replace,
                        connection.Prepare("INSERT OR REPLACE INTO setting VALUES(?, ?)"));
  return replace.Bind(1, kRetentionSetting).Bind(2, days).Run();
}

bool IsEventRow(const sqlite::Statement& row) {
  AuditEvent event;
  return ReadEvent(row, event);
}

Status WriteEvents(sqlite::Connection& connection, std::span<const AuditEvent> events,
                   const AuditMoment& moment) {
  WEIR_ASSIGN_OR_RETURN(const AuditHorizon horizon, UpdateHorizon(connection, moment));
  WEIR_ASSIGN_OR_RETURN(
      sqlite::Statement insert,
      connection.Prepare("INSERT OR IGNORE INTO audit VALUES(?, ?, ?, ?, ?, ?, ?, ?, "
                         "(SELECT coalesce(max(number), 0) + 1 FROM audit))"));
  WEIR_ASSIGN_OR_RETURN(const std::int64_t days, ReadRetention(connection));
  const milliseconds expires = horizon.ExpiryOfNew(std::chrono::days(days));
  for (const AuditEvent& event : events) {
    WEIR_RETURN_IF_ERROR(WriteOne(insert, AsKept(event), expires));
  }
  return DeleteOld(connection, horizon.state().uptime);
}

Result<Page<AuditEvent>> ListEvents(sqlite::Connection& connection, std::string_view subject,
                                    const PageRequest& page, DamageReport& damage) {
  WEIR_ASSIGN_OR_RETURN(
      sqlite::Statement select,
      connection.Prepare("SELECT subject, id, at, action, principal, resource, details FROM audit "
                         "WHERE subject = ? AND id < ? ORDER BY id DESC"));
  // No ULID begins with a character greater than '7'.
  const std::string before = page.cursor.empty() ? "8" : page.cursor;
  select.Bind(1, subject).Bind(2, before);
  Page<AuditEvent> found;
  Result<bool> row = true;
  while ((row = select.Step()) && *row) {
    if (found.items.size() == page.limit) {
      found.next = found.items.back().id;
      break;
    }
    AuditEvent event;
    if (ReadEvent(select, event)) {
      found.items.push_back(std::move(event));
    } else {
      found.unreadable.push_back(
          damage.Note("audit", fmt::format("{} {}: the event is unreadable", subject, event.id)));
    }
  }
  if (!row) return Fail(std::move(row.error()));
  return found;
}

}  // namespace weir
