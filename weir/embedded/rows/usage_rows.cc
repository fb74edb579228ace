#include "weir/embedded/rows/usage_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

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

bool IsRemainder(std::string_view text, UsageRemainder& remainder) {
  return ReadCounters(text, remainder) && std::ranges::all_of(remainder, [](const auto& limit) {
           return limit.second >= 0 && limit.second < 1000;
         });
}

std::string DescribeRow(const sqlite::Statement& row) {
  return fmt::format("{} on {}: the row is unreadable", row.Text(0), row.Text(1));
}

constexpr std::string_view kSelectRemainder =
    "SELECT rest FROM usage WHERE entity = ? AND resource = ? AND rest IS NOT NULL";

// Returns the sum of all remainders. An unreadable one counts as none.
Result<UsageRemainder> ReadRemainderWith(sqlite::Statement& select, const BucketKey& key) {
  select.Reset();
  select.Bind(1, key.entity).Bind(2, key.resource);
  UsageRemainder sum;
  Result<bool> row = true;
  while ((row = select.Step()) && *row) {
    UsageRemainder remainder;
    if (!IsRemainder(select.Text(0), remainder)) continue;
    for (const auto& [limit, millitokens] : remainder) sum[limit] += millitokens;
  }
  select.Reset();
  if (!row) return Fail(std::move(row.error()));
  return sum;
}

// Windows with the same start are in alphabetical order. Parameters: ?1 entity, ?2 resource, ?3
// from, ?4 until, ?5 window; of the cursor: ?6 the resource or entity that the filter leaves open,
// ?7 start, ?8 window.
std::string SqlOf(const UsageFilter& filter, bool has_cursor) {
  std::string sql(kSelect);
  sql += filter.entity ? "entity = ?1" : "resource = ?2";
  if (filter.entity && filter.resource) sql += " AND resource = ?2";
  if (filter.from) sql += " AND start >= ?3";
  if (filter.until) sql += " AND start <= ?4";
  if (filter.window) sql += " AND span = ?5";
  if (has_cursor && filter.entity) {
    sql += " AND (resource < ?6 OR (resource = ?6 AND (start < ?7 OR (start = ?7 AND span > ?8))))";
  } else if (has_cursor) {
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

Result<UsageRows> UsageRows::Open(sqlite::Connection& connection, UsageLimits limits) {
  UsageRows rows(limits);
  rows.file_name_ = connection.name();
  WEIR_ASSIGN_OR_RETURN(
      rows.find_, connection.Prepare(std::string(kSelect) +
                                     "entity = ? AND resource = ? AND start = ? AND span = ?"));
  WEIR_ASSIGN_OR_RETURN(rows.put_,
                        connection.Prepare("REPLACE INTO usage VALUES(?, ?, ?, ?, ?, ?, ?, ?)"));
  WEIR_ASSIGN_OR_RETURN(rows.select_remainder_, connection.Prepare(kSelectRemainder));
  WEIR_ASSIGN_OR_RETURN(rows.clear_remainder_,
                        connection.Prepare("UPDATE usage SET rest = NULL WHERE entity = ? AND "
                                           "resource = ? AND rest IS NOT NULL"));
  WEIR_ASSIGN_OR_RETURN(rows.oldest_,
                        connection.Prepare("SELECT min(start) FROM usage WHERE span = ?"));
  WEIR_ASSIGN_OR_RETURN(
      rows.remove_,
      connection.Prepare("DELETE FROM usage WHERE (entity, resource, start, span) IN (SELECT "
                         "entity, resource, start, span FROM usage WHERE span = ? AND start < ? "
                         "ORDER BY start LIMIT ?)"));
  WEIR_ASSIGN_OR_RETURN(rows.count_, connection.Prepare("SELECT count(*) FROM usage"));
  WEIR_ASSIGN_OR_RETURN(rows.changes_, connection.Prepare("SELECT changes()"));
  return rows;
}

Result<std::optional<UsageSnapshot>> UsageRows::Find(const UsageSnapshot& wanted) {
  find_->Reset();
  find_->Bind(1, wanted.entity).Bind(2, wanted.resource).Bind(3, wanted.start.value);
  find_->Bind(4, Name(wanted.window));
  UsageSnapshot snapshot;
  WEIR_ASSIGN_OR_RETURN(const bool found, find_->Step());
  const bool is_readable = found && ReadSnapshot(*find_, snapshot);
  const std::string what = found && !is_readable ? DescribeRow(*find_) : std::string();
  find_->Reset();
  if (!found) return std::nullopt;
  if (is_readable) return snapshot;
  return Fail(Code::kDataLoss, fmt::format("{}: usage of {}; 'weir store repair' removes it",
                                           file_name_, Printable(what)));
}

Status UsageRows::Put(const UsageSnapshot& snapshot, const UsageRemainder& remainder) {
  const std::string used = ToText(snapshot.used);
  const std::string overdrawn = ToText(snapshot.overdrawn);
  const std::string remainder_text = ToText(remainder);
  put_->Bind(1, snapshot.entity).Bind(2, snapshot.resource).Bind(3, snapshot.start.value);
  put_->Bind(4, Name(snapshot.window)).Bind(5, used).Bind(6, overdrawn).Bind(7, snapshot.events);
  return (remainder.empty() ? put_->BindNull(8) : put_->Bind(8, remainder_text)).Run();
}

Status UsageRows::Add(const UsageSnapshot& added) {
  WEIR_ASSIGN_OR_RETURN(const std::optional<UsageSnapshot> before, Find(added));
  UsageSnapshot sum = before.value_or(added);
  if (before) WEIR_RETURN_IF_ERROR(AddTo(sum, added));
  if (!before) ++rows_added_;
  UsageRemainder remainder;
  const BucketKey key{.entity = added.entity, .resource = added.resource};
  if (added.window == UsageWindow::kMonthly) {
    WEIR_ASSIGN_OR_RETURN(remainder, TakeRemainder(key));
  }
  return Put(sum, remainder);
}

Result<UsageRemainder> UsageRows::TakeRemainder(const BucketKey& key) {
  WEIR_ASSIGN_OR_RETURN(UsageRemainder remainder, ReadRemainderWith(*select_remainder_, key));
  if (!remainder.empty()) {
    WEIR_RETURN_IF_ERROR(clear_remainder_->Bind(1, key.entity).Bind(2, key.resource).Run());
  }
  return remainder;
}

Status UsageRows::AddHours(const BucketKey& key, std::span<const HourOfUse> hours) {
  for (const HourOfUse& hour : hours) {
    latest_end_ = std::max(latest_end_, EndOf(UsageWindow::kHourly, hour.start));
  }
  WEIR_ASSIGN_OR_RETURN(UsageRemainder remainder, TakeRemainder(key));
  const std::vector<UsageSnapshot> snapshots = SnapshotsOf(key, hours, remainder);
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    Result<std::optional<UsageSnapshot>> found = Find(snapshots[i]);
    // An unreadable row is reported by listings and checks, and a sum with it would be wrong.
    if (!found && found.error().code == Code::kDataLoss) continue;
    if (!found) return Fail(std::move(found.error()));
    if (!*found) ++rows_added_;
    UsageSnapshot sum = snapshots[i];
    if (*found) {
      sum = **std::move(found);
      AddCounted(sum, snapshots[i]);
    }
    // The last snapshot is a month's, whose row stores the remainder.
    WEIR_RETURN_IF_ERROR(Put(sum, i + 1 == snapshots.size() ? remainder : UsageRemainder()));
  }
  return {};
}

Status UsageRows::Trim(UnixMillis now) {
  if (!is_counted_) {
    count_->Reset();
    WEIR_ASSIGN_OR_RETURN(const bool counted, count_->Step());
    pending_stats_.kept = counted ? static_cast<std::uint64_t>(count_->Integer(0)) : 0;
    count_->Reset();
    is_counted_ = true;
  } else {
    pending_stats_.kept += static_cast<std::uint64_t>(rows_added_);
  }
  std::int64_t budget = 2 * std::exchange(rows_added_, 0) + kExtraTrimmedRows;
  WEIR_RETURN_IF_ERROR(Expire(std::min(now, latest_end_), budget));
  return Evict(budget);
}

Status UsageRows::Expire(UnixMillis now, std::int64_t& budget) {
  WEIR_ASSIGN_OR_RETURN(OldestUsage oldest, Oldest());
  while (budget > 0) {
    const auto window = NextExpired(oldest, now);
    if (!window) return {};
    WEIR_ASSIGN_OR_RETURN(const std::int64_t removed,
                          Remove(*window, FirstKept(*window, now), budget));
    pending_stats_.expired += static_cast<std::uint64_t>(removed);
    budget -= removed;
    oldest[static_cast<std::size_t>(*window)].reset();
  }
  return {};
}

Status UsageRows::Evict(std::int64_t max_rows) {
  while (max_rows > 0 && pending_stats_.kept > limits_.max_snapshots) {
    WEIR_ASSIGN_OR_RETURN(const OldestUsage oldest, Oldest());
    const auto window = NextEvicted(oldest);
    if (!window) return {};
    const UnixMillis start = *oldest[static_cast<std::size_t>(*window)];
    const auto excess = static_cast<std::int64_t>(pending_stats_.kept - limits_.max_snapshots);
    WEIR_ASSIGN_OR_RETURN(const std::int64_t removed,
                          Remove(*window, start + milliseconds(1), std::min(max_rows, excess)));
    if (removed == 0) return {};
    pending_stats_.evicted += static_cast<std::uint64_t>(removed);
    max_rows -= removed;
  }
  return {};
}

Result<OldestUsage> UsageRows::Oldest() {
  OldestUsage oldest;
  for (const UsageWindow window : kUsageWindows) {
    oldest_->Reset();
    oldest_->Bind(1, Name(window));
    WEIR_ASSIGN_OR_RETURN(const bool found, oldest_->Step());
    if (found && !oldest_->IsNull(0)) {
      oldest[static_cast<std::size_t>(window)] = UnixMillis{oldest_->Integer(0)};
    }
  }
  oldest_->Reset();
  return oldest;
}

Result<std::int64_t> UsageRows::Remove(UsageWindow window, UnixMillis before,
                                       std::int64_t max_rows) {
  WEIR_RETURN_IF_ERROR(
      remove_->Bind(1, Name(window)).Bind(2, before.value).Bind(3, max_rows).Run());
  changes_->Reset();
  WEIR_ASSIGN_OR_RETURN(const bool found, changes_->Step());
  const std::int64_t removed = found ? changes_->Integer(0) : 0;
  changes_->Reset();
  pending_stats_.kept -= std::min(pending_stats_.kept, static_cast<std::uint64_t>(removed));
  return removed;
}

void UsageRows::End(bool committed) {
  latest_end_ = {};
  if (committed) {
    committed_stats_ = pending_stats_;
  } else {
    // The rows are counted again, since pending_stats_ may contain a part of the transaction.
    pending_stats_ = committed_stats_;
    is_counted_ = false;
    rows_added_ = 0;
  }
}

Result<UsageRemainder> ReadRemainder(sqlite::Connection& connection, const BucketKey& key) {
  WEIR_ASSIGN_OR_RETURN(sqlite::Statement select, connection.Prepare(kSelectRemainder));
  return ReadRemainderWith(select, key);
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
  const bool has_cursor = !page.cursor.empty();
  WEIR_ASSIGN_OR_RETURN(sqlite::Statement select, connection.Prepare(SqlOf(filter, has_cursor)));
  Bind(select, filter);
  if (has_cursor)
    select.Bind(6, cursor.open).Bind(7, cursor.start.value).Bind(8, Name(cursor.window));
  Page<UsageSnapshot> found;
  Result<bool> row = true;
  while ((row = select.Step()) && *row) {
    // A row after a full page belongs to the next page, whether or not it is readable.
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

Result<Page<UsageSnapshot>> ListUsage(sqlite::Connection& connection, const PendingUsage& pending,
                                      const PageRequest& page, DamageReport& damage) {
  WEIR_ASSIGN_OR_RETURN(Page<UsageSnapshot> found,
                        ListUsage(connection, pending.filter(), page, damage));
  WEIR_RETURN_IF_ERROR(pending.MergeInto(
      found, [&](const BucketKey& key) { return ReadRemainder(connection, key); }));
  return found;
}

bool IsUsageRow(const sqlite::Statement& row) {
  UsageSnapshot snapshot;
  return ReadSnapshot(row, snapshot);
}

}  // namespace weir
