#include "weir/embedded/file/row_checks.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "weir/embedded/namespace_registry.h"
#include "weir/embedded/rows/audit_rows.h"
#include "weir/embedded/rows/bucket_reader.h"
#include "weir/embedded/rows/clock_rows.h"
#include "weir/embedded/rows/usage_rows.h"
#include "weir/store/reservation/reservation_checks.h"

namespace weir {
namespace {

bool IsTimeOf(const sqlite::Statement& row, int column) {
  const std::int64_t time = row.Integer(column);
  return time >= kEarliestBucketTime.value && time <= kLatestBucketTime.value;
}

AccountKey KeyOf(const sqlite::Statement& row) {
  return {.resource = std::string(row.Text(0)), .account = std::string(row.Text(1))};
}

bool IsSlotRow(const sqlite::Statement& row) {
  return Check(SlotRef{KeyOf(row), std::string(row.Text(2))}) && CheckResourceId(row.Text(3)) &&
         IsTimeOf(row, 4) && IsTimeOf(row, 5);
}

bool IsEndedRow(const sqlite::Statement& row) {
  return CheckResourceId(row.Text(0)) && IsTimeOf(row, 1) && IsTimeOf(row, 2);
}

bool IsAccountLimitRow(const sqlite::Statement& row) {
  const AccountLimit limit{.limit = row.Integer(2), .window = std::chrono::seconds(row.Integer(3))};
  return Check(KeyOf(row), limit) && (row.Text(4).empty() || CheckService(row.Text(4)));
}

bool IsAccountBucketRow(const sqlite::Statement& row) {
  BucketRecord record;
  return Check(KeyOf(row)) && IsTimeOf(row, 2) && BucketReader().ReadLimits(row.Text(3), record) &&
         record.bucket.meters.size() == 1;
}

constexpr RowCheck kClock = {.table = "clock", .key = "id", .key_columns = 1, .reads = IsClockRow};

constexpr std::array kRecords = {
    kClock, RowCheck{.table = "audit", .key = "subject, id", .key_columns = 2, .reads = IsEventRow},
    RowCheck{.table = "usage",
             .key = "entity, resource, start, span",
             .key_columns = 4,
             .reads = IsUsageRow},
    RowCheck{.table = "setting", .key = "name", .key_columns = 1, .reads = IsSettingRow}};

constexpr std::array kReservationChecks = {
    kClock,
    RowCheck{.table = "slot", .key = "resource, account, id", .key_columns = 3, .reads = IsSlotRow},
    RowCheck{.table = "ended", .key = "resource_id", .key_columns = 1, .reads = IsEndedRow},
    RowCheck{.table = "account_limit",
             .key = "resource, account",
             .key_columns = 2,
             .reads = IsAccountLimitRow},
    RowCheck{.table = "account_bucket",
             .key = "resource, account",
             .key_columns = 2,
             .reads = IsAccountBucketRow}};

constexpr std::array kNamespaces = {
    RowCheck{.table = "namespace", .key = "id", .key_columns = 1, .reads = IsNamespaceRow}};

RowKey ReadRowKey(const sqlite::Statement& row, const RowCheck& check) {
  RowKey key;
  for (std::size_t i = 0; i < check.key_columns; ++i) {
    key.emplace_back(row.Text(static_cast<int>(i)));
  }
  return key;
}

Status RemoveRows(sqlite::Connection& connection, const RowCheck& check,
                  const std::vector<RowKey>& keys) {
  std::string marks = "?";
  for (std::size_t i = 1; i < check.key_columns; ++i) marks += ", ?";
  WEIR_ASSIGN_OR_RETURN(sqlite::Statement remove,
                        connection.Prepare(fmt::format("DELETE FROM {} WHERE ({}) = ({})",
                                                       check.table, check.key, marks)));
  return connection.InTransaction([&]() -> Status {
    for (const RowKey& key : keys) {
      for (std::size_t i = 0; i < key.size(); ++i) {
        remove.Bind(static_cast<int>(i) + 1, std::string_view(key[i]));
      }
      WEIR_RETURN_IF_ERROR(remove.Run());
    }
    return {};
  });
}

}  // namespace

std::span<const RowCheck> RecordChecks() { return kRecords; }
std::span<const RowCheck> ReservationChecks() { return kReservationChecks; }
std::span<const RowCheck> NamespaceChecks() { return kNamespaces; }

Result<std::vector<RowKey>> CheckRows(sqlite::Connection& connection, const RowCheck& check,
                                      DamagedRows damaged, DamageReport& damage) {
  std::vector<RowKey> keys;
  {
    WEIR_ASSIGN_OR_RETURN(sqlite::Statement rows,
                          connection.Prepare(fmt::format("SELECT * FROM {}", check.table)));
    Result<bool> row = true;
    while ((row = rows.Step()) && *row) {
      if (check.reads(rows)) continue;
      keys.push_back(ReadRowKey(rows, check));
      damage.Note(check.table, fmt::format("{}: the row is unreadable", keys.back().front()));
    }
    if (!row) return Fail(std::move(row.error()));
  }
  if (damaged == DamagedRows::kRemove && !keys.empty()) {
    WEIR_RETURN_IF_ERROR(RemoveRows(connection, check, keys));
  }
  return keys;
}

}  // namespace weir
