#include "weir/embedded/rows/usage_rows.h"

#include <fmt/format.h>

#include <string>

#include "weir/embedded/rows/detail_text.h"
#include "weir/model/quoted.h"
#include "weir/store/config/usage_table.h"
#include "weir/store/listing.h"

namespace weir {
namespace {

constexpr std::string_view kSelect =
    "SELECT entity, resource, start, span, used, overdrawn, events FROM usage WHERE ";

bool ReadSnapshot(const sqlite::Statement& row, UsageSnapshot& snapshot) {
  snapshot.entity = row.Text(0);
  snapshot.resource = row.Text(1);
  snapshot.start = {row.Integer(2)};
  snapshot.events = row.Integer(6);
  const auto window = UsageWindowNamed(row.Text(3));
  snapshot.window = window.value_or(UsageWindow::kHourly);
  return window && ReadCounters(row.Text(4), snapshot.used) &&
         ReadCounters(row.Text(5), snapshot.overdrawn) && Check(snapshot);
}

std::string DescribeRow(const sqlite::Statement& row) {
  return fmt::format("{} on {}: the row does not read", row.Text(0), row.Text(1));
}

Result<std::optional<UsageSnapshot>> Find(sqlite::Connection& connection,
                                          const UsageSnapshot& like) {
  WEIR_ASSIGN_OR_RETURN(
      sqlite::Statement select,
      connection.Prepare(std::string(kSelect) +
                         "entity = ? AND resource = ? AND start = ? AND span = ?"));
  select.Bind(1, like.entity).Bind(2, like.resource).Bind(3, like.start.value);
  select.Bind(4, Name(like.window));
  UsageSnapshot snapshot;
  WEIR_ASSIGN_OR_RETURN(const bool found, select.Step());
  if (!found) return std::nullopt;
  if (ReadSnapshot(select, snapshot)) return snapshot;
  return Fail(Code::kDataLoss, fmt::format("{}: usage of {}; 'weir store repair' removes it",
                                           connection.name(), Printable(DescribeRow(select))));
}

// Windows with the same start are in alphabetical order. Parameters: ?1 entity, ?2 resource, ?3
// from, ?4 until, ?5 window; of the cursor: ?6 the resource or entity that the filter leaves open,
// ?7 start, ?8 window.
std::string SqlOf(const UsageFilter& filter, bool goes_on) {
  std::string sql(kSelect);
  sql += filter.entity ? "entity = ?1" : "resource = ?2";
  if (filter.entity && filter.resource) sql += " AND resource = ?2";
  if (filter.from) sql += " AND start >= ?3";
  if (filter.until) sql += " AND start <= ?4";
  if (filter.window) sql += " AND span = ?5";
  if (goes_on && filter.entity) {
    sql += " AND (resource < ?6 OR (resource = ?6 AND (start < ?7 OR (start = ?7 AND span > ?8))))";
  } else if (goes_on) {
    sql += " AND (start < ?7 OR (start = ?7 AND (entity < ?6 OR (entity = ?6 AND span > ?8))))";
  }
  return sql + (filter.entity ? " ORDER BY resource DESC, start DESC, span"
                              : " ORDER BY start DESC, entity DESC, span");
}

void Bind(sqlite::Statement& select, const UsageFilter& filter) {
  if (filter.entity) select.Bind(1, *filter.entity);
  if (filter.resource) select.Bind(2, *filter.resource);
  if (filter.from) select.Bind(3, filter.from->value);
  if (filter.until) select.Bind(4, filter.until->value);
  if (filter.window) select.Bind(5, Name(*filter.window));
}

}  // namespace

Status AddUsage(sqlite::Connection& connection, const UsageSnapshot& added) {
  WEIR_ASSIGN_OR_RETURN(const std::optional<UsageSnapshot> before, Find(connection, added));
  UsageSnapshot sum = before.value_or(added);
  if (before) WEIR_RETURN_IF_ERROR(AddTo(sum, added));
  WEIR_ASSIGN_OR_RETURN(sqlite::Statement put,
                        connection.Prepare("REPLACE INTO usage VALUES(?, ?, ?, ?, ?, ?, ?)"));
  const std::string used = ToText(sum.used);
  const std::string overdrawn = ToText(sum.overdrawn);
  put.Bind(1, sum.entity).Bind(2, sum.resource).Bind(3, sum.start.value);
  put.Bind(4, Name(sum.window)).Bind(5, used).Bind(6, overdrawn).Bind(7, sum.events);
  return put.Run();
}

Status CheckUsagePage(const UsageFilter& filter, const PageRequest& page) {
  WEIR_RETURN_IF_ERROR(Check(filter));
  WEIR_RETURN_IF_ERROR(CheckLimit(page));
  if (page.cursor.empty()) return {};
  return ReadUsageCursor(filter, page.cursor).map([](const UsageCursor&) {});
}

Result<Page<UsageSnapshot>> ListUsage(sqlite::Connection& connection, const UsageFilter& filter,
                                      const PageRequest& page, DamageReport& damage) {
  UsageCursor cursor;
  if (!page.cursor.empty()) {
    WEIR_ASSIGN_OR_RETURN(cursor, ReadUsageCursor(filter, page.cursor));
  }
  const bool goes_on = !page.cursor.empty();
  WEIR_ASSIGN_OR_RETURN(sqlite::Statement select, connection.Prepare(SqlOf(filter, goes_on)));
  Bind(select, filter);
  if (goes_on) select.Bind(6, cursor.open).Bind(7, cursor.start.value).Bind(8, Name(cursor.window));
  Page<UsageSnapshot> found;
  Result<bool> row = true;
  while ((row = select.Step()) && *row) {
    // A row after a full page is left to the next page, whether or not it is readable.
    if (found.items.size() == page.limit) {
      found.next = CursorOf(filter, found.items.back());
      break;
    }
    UsageSnapshot snapshot;
    if (ReadSnapshot(select, snapshot)) {
      found.items.push_back(std::move(snapshot));
    } else {
      found.unreadable.push_back(damage.Note("usage", DescribeRow(select)));
    }
  }
  if (!row) return Fail(std::move(row.error()));
  return found;
}

bool IsUsageRow(const sqlite::Statement& row) {
  UsageSnapshot snapshot;
  return ReadSnapshot(row, snapshot);
}

}  // namespace weir
