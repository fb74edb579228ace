#include "weir/embedded/rows/setting_rows.h"

#include <string_view>

#include "weir/embedded/rows/bucket_reader.h"
#include "weir/store/config/audit_log.h"

namespace weir {
namespace {

constexpr std::string_view kRetentionDays = "audit_retention_days";
constexpr std::string_view kEmptiedAt = "absent_buckets_emptied_at";

Result<std::optional<std::int64_t>> ReadSetting(sqlite::Connection& connection,
                                                std::string_view name) {
  WEIR_ASSIGN_OR_RETURN(sqlite::Statement select,
                        connection.Prepare("SELECT name, value FROM setting WHERE name = ?"));
  WEIR_ASSIGN_OR_RETURN(const bool is_set, select.Bind(1, name).Step());
  if (!is_set || !IsSettingRow(select)) return std::nullopt;
  return select.Integer(1);
}

Status WriteSetting(sqlite::Connection& connection, std::string_view name, std::int64_t value) {
  WEIR_ASSIGN_OR_RETURN(sqlite::Statement replace,
                        connection.Prepare("INSERT OR REPLACE INTO setting VALUES(?, ?)"));
  return replace.Bind(1, name).Bind(2, value).Run();
}

}  // namespace

Result<std::int64_t> ReadRetention(sqlite::Connection& connection) {
  WEIR_ASSIGN_OR_RETURN(const auto days, ReadSetting(connection, kRetentionDays));
  return days.value_or(kAuditRetentionDays);
}

Status WriteRetention(sqlite::Connection& connection, std::int64_t days) {
  return WriteSetting(connection, kRetentionDays, days);
}

Result<std::optional<UnixMillis>> ReadEmptiedAt(sqlite::Connection& connection) {
  WEIR_ASSIGN_OR_RETURN(const auto time, ReadSetting(connection, kEmptiedAt));
  if (!time) return std::nullopt;
  return UnixMillis{*time};
}

Status WriteEmptiedAt(sqlite::Connection& connection, UnixMillis time) {
  return WriteSetting(connection, kEmptiedAt, time.value);
}

bool IsSettingRow(const sqlite::Statement& row) {
  if (!row.IsInteger(1)) return false;
  const std::int64_t value = row.Integer(1);
  if (row.Text(0) == kRetentionDays) return CheckRetention(value).has_value();
  return row.Text(0) == kEmptiedAt && value >= kEarliestBucketTime.value &&
         value <= kLatestBucketTime.value;
}

}  // namespace weir
