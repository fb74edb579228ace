#include "weir/embedded/file/file_check.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "weir/embedded/commit/change_log.h"
#include "weir/embedded/file/file_replace.h"
#include "weir/embedded/file/row_checks.h"
#include "weir/embedded/file/salvage.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/embedded/rows/bucket_rows.h"
#include "weir/embedded/rows/config_rows.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kPatience{5};

// Notes damage, so that the rest of the file is read. Other errors are returned, and end the check.
Status NoteIfDamaged(Status read, DamageReport& damage) {
  if (read || read.error().code != Code::kDataLoss) return read;
  damage.Note("page", read.error().message);
  return {};
}

Status CheckPages(sqlite::Connection& connection, DamageReport& damage) {
  WEIR_ASSIGN_OR_RETURN(auto rows, connection.Prepare("PRAGMA integrity_check"));
  Result<bool> row = true;
  while ((row = rows.Step()) && *row) {
    if (rows.Text(0) != "ok") damage.Note("page", rows.Text(0));
  }
  return row.map([](bool) {});
}

// Notes a write-ahead log that may lack commits: SQLite takes its first unreadable frame for its
// end.
void NoteLog(const sqlite::PageFile& pages, const StoreFile& file, DamageReport& damage) {
  if (pages.is_log_whole()) return;
  damage.Note("log", fmt::format("{}-wal: its header or a frame is unreadable; later commits may "
                                 "be missing",
                                 file.path));
}

Status CheckLogWithSqlite(const StoreFile& file, DamageReport& damage) {
  // Destroyed after the connection: closing its descriptors releases SQLite's locks on the file,
  // and SQLite would delete the log of a process that opens the file then.
  std::optional<sqlite::PageFile> pages;
  WEIR_ASSIGN_OR_RETURN(auto connection, sqlite::Connection::OpenUnchanged(file.path, ""));
  WEIR_RETURN_IF_ERROR(connection.ExcludeOthers());
  WEIR_ASSIGN_OR_RETURN(auto opened, sqlite::PageFile::Open(file.path));
  pages.emplace(std::move(opened));
  NoteLog(*pages, file, damage);
  return {};
}

Status CheckLogWithoutSqlite(const StoreFile& file, DamageReport& damage) {
  WEIR_ASSIGN_OR_RETURN(const SqliteLocks locks, SqliteLocks::Take(file.path));
  WEIR_ASSIGN_OR_RETURN(const auto pages, sqlite::PageFile::Open(file.path));
  NoteLog(pages, file, damage);
  return {};
}

// Returns an error if the log is not examined: while another connection has the file open, a frame
// may be half written.
Status CheckLog(const StoreFile& file, DamageReport& damage) {
  Status checked = CheckLogWithSqlite(file, damage);
  const auto is = [&](Code code) { return checked.error().code == code; };
  if (checked || is(Code::kUnavailable) || is(Code::kPermissionDenied)) return checked;
  // SQLite cannot read the file, but no other connection has it open.
  return CheckLogWithoutSqlite(file, damage);
}

Status LoadAll(sqlite::Connection& connection, UnixMillis now, DamageReport& damage) {
  BucketTable buckets;
  ConfigTable config;
  WEIR_RETURN_IF_ERROR(NoteIfDamaged(LoadConfig(connection, config, damage), damage));
  WEIR_ASSIGN_OR_RETURN(ChangeLog log, ChangeLog::Open(connection));
  Result<ChangeIndex> read = log.Read(damage);
  // If the log is unreadable, the rows of the table are checked all the same.
  if (!read) WEIR_RETURN_IF_ERROR(NoteIfDamaged(Fail(read.error()), damage));
  const ChangeIndex index = std::move(read).value_or(ChangeIndex());
  return NoteIfDamaged(LoadBuckets(connection, index, {buckets, config, damage, now}), damage);
}

std::span<const RowCheck> ChecksOf(StoreFile::Kind kind) {
  if (kind == StoreFile::Kind::kNamespaces) return NamespaceChecks();
  return kind == StoreFile::Kind::kReservations ? ReservationChecks() : RecordChecks();
}

Status CountTable(sqlite::Connection& connection, const std::string& table, FileCheck& check) {
  const auto rows = connection.QueryInteger(fmt::format("SELECT count(*) FROM \"{}\"", table));
  if (rows) check.rows[table] = static_cast<std::uint64_t>(*rows);
  return NoteIfDamaged(rows.map([](std::int64_t) {}), check.damage);
}

Status ReadEverything(sqlite::Connection& connection, const StoreFile& file, UnixMillis now,
                      FileCheck& check) {
  if (file.kind == StoreFile::Kind::kState) {
    WEIR_RETURN_IF_ERROR(LoadAll(connection, now, check.damage));
  }
  for (const RowCheck& rows : ChecksOf(file.kind)) {
    const auto keys = CheckRows(connection, rows, DamagedRows::kReport, check.damage);
    WEIR_RETURN_IF_ERROR(NoteIfDamaged(keys.map([](const std::vector<RowKey>&) {}), check.damage));
  }
  WEIR_ASSIGN_OR_RETURN(const std::vector<TableShape> shapes, ShapesOf(connection));
  for (const TableShape& shape : shapes) {
    WEIR_RETURN_IF_ERROR(CountTable(connection, shape.table, check));
  }
  return {};
}

// Returns a copy in memory, migrated to the newest version, if the file is older.
Result<std::optional<sqlite::Connection>> CopyIfOlder(sqlite::Connection& connection,
                                                      const StoreFile& file) {
  WEIR_ASSIGN_OR_RETURN(const bool is_older, IsOlder(connection, file.migrations()));
  if (!is_older) return std::nullopt;
  WEIR_ASSIGN_OR_RETURN(sqlite::Connection copy, connection.CopyTo(""));
  WEIR_RETURN_IF_ERROR(PrepareSchema(copy, file.migrations()));
  return std::optional(std::move(copy));
}

Status CheckConnection(sqlite::Connection& connection, const StoreFile& file, UnixMillis now,
                       FileCheck& check) {
  WEIR_RETURN_IF_ERROR(CheckPages(connection, check.damage));
  WEIR_ASSIGN_OR_RETURN(auto copy, CopyIfOlder(connection, file));
  sqlite::Connection& newest = copy ? *copy : connection;
  // All rows are read as of one moment, also while another process writes to the file.
  return newest.InSnapshot([&] { return ReadEverything(newest, file, now, check); });
}

// A store's file without SQLite's header is a damaged database.
bool IsDatabaseNoMore(const Error& error) {
  return error.code == Code::kFailedPrecondition &&
         error.message.find("not a database") != error.message.npos;
}

}  // namespace

Result<FileCheck> CheckFile(const StoreFile& file, UnixMillis now) {
  FileCheck check;
  check.damage = DamageReport(file.path);
  WEIR_RETURN_IF_ERROR(CheckReplaced(file.path));
  const Status log_checked = CheckLog(file, check.damage);
  check.is_log_examined = log_checked.has_value();
  if (!log_checked) check.log_error = log_checked.error().message;
  WEIR_ASSIGN_OR_RETURN(auto connection, sqlite::Connection::OpenUnchanged(file.path, ""));
  connection.WaitForOthers(kPatience);
  Status read = CheckConnection(connection, file, now, check);
  if (!read && IsDatabaseNoMore(read.error())) read.error().code = Code::kDataLoss;
  WEIR_RETURN_IF_ERROR(NoteIfDamaged(std::move(read), check.damage));
  return check;
}

}  // namespace weir
