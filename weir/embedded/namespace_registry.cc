#include "weir/embedded/namespace_registry.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <optional>
#include <system_error>

#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/file_lock.h"
#include "weir/embedded/file/file_replace.h"
#include "weir/embedded/file/schema.h"
#include "weir/model/identifier.h"
#include "weir/model/namespace_name.h"

namespace weir {
namespace {

// IF NOT EXISTS, because two processes may create the file at the same time.
constexpr std::array kRegistrySchema = {Migration{1, R"sql(
CREATE TABLE IF NOT EXISTS namespace(  -- the data are in the file of this one's owner, '.' and the id
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  status TEXT NOT NULL,  -- active, deleted, purging
  created_at INTEGER NOT NULL,
  deleted_at INTEGER
) WITHOUT ROWID;
)sql"}};

constexpr std::string_view kCountRows =
    "SELECT (SELECT count(*) FROM bucket_view) + (SELECT count(*) FROM level) + "
    "(SELECT count(*) FROM entity) + (SELECT count(*) FROM audit) + (SELECT count(*) FROM usage)";

bool ReadStatus(std::string_view text, NamespaceStatus& status) {
  using enum NamespaceStatus;
  for (const NamespaceStatus one : {kActive, kDeleted, kPurging}) {
    if (Name(one) != text) continue;
    status = one;
    return true;
  }
  return false;
}

bool ReadNamespace(const sqlite::Statement& row, Namespace& space) {
  space.id = row.Text(0);
  space.name = row.Text(1);
  space.created_at = {row.Integer(3)};
  if (!row.IsNull(4)) space.deleted_at = UnixMillis{row.Integer(4)};
  return ReadStatus(row.Text(2), space.status) && CheckNamespaceId(space.id) &&
         CheckNamespace(space.name);
}

Result<NamespaceTable> LoadFrom(sqlite::Connection& connection, Log& log) {
  DamageReport damage(connection.name(), log);
  WEIR_ASSIGN_OR_RETURN(
      sqlite::Statement select,
      connection.Prepare("SELECT id, name, status, created_at, deleted_at FROM namespace"));
  NamespaceTable table;
  Result<bool> row = true;
  while ((row = select.Step()) && *row) {
    Namespace space;
    if (ReadNamespace(select, space)) {
      table.Load(std::move(space));
    } else {
      damage.Note("namespace", space.id + ": the row is unreadable and is left out");
    }
  }
  if (!row) return Fail(std::move(row.error()));
  return table;
}

Status Put(sqlite::Connection& connection, const Namespace& space) {
  WEIR_ASSIGN_OR_RETURN(sqlite::Statement put,
                        connection.Prepare("REPLACE INTO namespace VALUES(?, ?, ?, ?, ?)"));
  put.Bind(1, space.id).Bind(2, space.name).Bind(3, Name(space.status));
  put.Bind(4, space.created_at.value).BindNull(5);
  if (space.deleted_at) put.Bind(5, space.deleted_at->value);
  return put.Run();
}

Result<std::uint64_t> CountRows(const std::string& file, const std::string& vfs) {
  WEIR_ASSIGN_OR_RETURN(auto connection, sqlite::Connection::Open(file, vfs));
  // In this mode the write-ahead log needs no shared index file (-shm).
  WEIR_RETURN_IF_ERROR(connection.Execute("PRAGMA locking_mode = EXCLUSIVE"));
  WEIR_RETURN_IF_ERROR(PrepareSchema(connection));
  WEIR_ASSIGN_OR_RETURN(const std::int64_t rows, connection.QueryInteger(kCountRows));
  return static_cast<std::uint64_t>(rows);
}

Status Remove(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (!error) return {};
  return Fail(Code::kUnavailable,
              fmt::format("cannot delete {}: {}; make its folder writable", path, error.message()));
}

}  // namespace

std::span<const Migration> NamespaceMigrations() { return kRegistrySchema; }

bool IsNamespaceRow(const sqlite::Statement& row) {
  Namespace space;
  return ReadNamespace(row, space);
}

bool NamespaceRegistry::exists() const {
  std::error_code error;
  return std::filesystem::exists(file(), error);
}

std::string NamespaceRegistry::FileOf(std::string_view id) const {
  return fmt::format("{}.{}", path_, id);
}

Status NamespaceRegistry::InTransaction(const Body& body) const {
  Status done = Open(body);
  if (done || done.error().code == Code::kDataLoss) return done;
  return Fail(Code::kUnavailable, std::move(done.error().message));
}

Status NamespaceRegistry::Open(const Body& body) const {
  WEIR_RETURN_IF_ERROR(CheckReplaced(file()));
  WEIR_ASSIGN_OR_RETURN(auto connection, sqlite::Connection::Open(file(), vfs_));
  WEIR_RETURN_IF_ERROR(connection.Execute("PRAGMA busy_timeout = 5000"));
  WEIR_RETURN_IF_ERROR(PrepareSchema(connection, kRegistrySchema));
  WEIR_RETURN_IF_ERROR(connection.InTransaction([&] { return body(connection); }));
  return connection.Close();
}

Result<NamespaceTable> NamespaceRegistry::Load() const {
  if (!exists()) return NamespaceTable();
  std::optional<NamespaceTable> table;
  WEIR_RETURN_IF_ERROR(InTransaction([&](sqlite::Connection& connection) -> Status {
    WEIR_ASSIGN_OR_RETURN(table, LoadFrom(connection, *log_));
    return {};
  }));
  return *std::move(table);
}

Result<Namespace> NamespaceRegistry::Make(const Change& change) const {
  // If there is no registry, a `change` that fails must not create it.
  if (!exists()) {
    NamespaceTable empty;
    if (auto tried = change(empty); !tried) return tried;
  }
  Result<Namespace> result = Namespace();
  WEIR_RETURN_IF_ERROR(InTransaction([&](sqlite::Connection& connection) -> Status {
    WEIR_ASSIGN_OR_RETURN(NamespaceTable table, LoadFrom(connection, *log_));
    result = change(table);
    if (!result) return {};
    return Put(connection, *result);
  }));
  return result;
}

Result<std::uint64_t> NamespaceRegistry::Purge(const std::string& id, UnixMillis now) const {
  // If the purge is interrupted, the record stays marked, and another purge continues.
  WEIR_RETURN_IF_ERROR(Make([&](NamespaceTable& table) { return table.BeginPurge(id); }));
  WEIR_ASSIGN_OR_RETURN(const std::uint64_t rows, Erase(FileOf(id), now));
  WEIR_RETURN_IF_ERROR(InTransaction([&](sqlite::Connection& connection) -> Status {
    WEIR_ASSIGN_OR_RETURN(sqlite::Statement remove,
                          connection.Prepare("DELETE FROM namespace WHERE id = ?"));
    return remove.Bind(1, id).Run();
  }));
  return rows;
}

Result<std::uint64_t> NamespaceRegistry::Erase(const std::string& file, UnixMillis now) const {
  std::error_code error;
  const bool is_there = std::filesystem::exists(file, error);
  WEIR_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Take(file, now));
  // Data whose rows cannot be counted are deleted too.
  const std::uint64_t rows = is_there ? CountRows(file, vfs_).value_or(0) : 0;
  // The database itself is deleted last, so that another purge finds it if this one fails.
  for (const char* suffix : {"-wal", "-shm", "-journal", ""}) {
    WEIR_RETURN_IF_ERROR(Remove(file + suffix));
  }
  return rows;
}

}  // namespace weir
