#include "weir/embedded/file/sqlite.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "weir/embedded/file/errno_code.h"

namespace weir::sqlite {
namespace {

Code CodeOf(int result, int system_error) {
  switch (result & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return Code::kResourceExhausted;
    case SQLITE_CORRUPT:
      return Code::kDataLoss;
    case SQLITE_NOTADB:
      return Code::kFailedPrecondition;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Code::kPermissionDenied;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      return CodeOfErrno(system_error);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

// Returns advice for the user, if SQLite's message has none.
std::string_view Advice(int result) {
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "; another program has the file open: close it there";
    case SQLITE_FULL:
      return "; free some space";
    case SQLITE_NOTADB:
      return ", so not a weir file; give the path of one, or of none; if it was one, 'weir store "
             "repair' saves the rows that can still be read";
    case SQLITE_CORRUPT:
      return "; 'weir store repair' saves the rows that can still be read into a new file, and "
             "keeps this one";
    default:
      return "";
  }
}

std::string NameOf(sqlite3* handle) {
  const char* path = sqlite3_db_filename(handle, "main");
  return fmt::format("sqlite:{}", path == nullptr ? "" : path);
}

// Returns the system's reason for which a file could not be opened: SQLite's message has none.
std::string ReasonOf(int result, int system_error) {
  if ((result & 0xff) != SQLITE_CANTOPEN || system_error == 0) return {};
  return ": " + std::generic_category().message(system_error);
}

Error ErrorOf(sqlite3* handle, int result) {
  const int system_error = sqlite3_system_errno(handle);
  return {CodeOf(result, system_error),
          fmt::format("{}: {}{}{}", NameOf(handle), sqlite3_errmsg(handle),
                      ReasonOf(result, system_error), Advice(result))};
}

// Returns a name that SQLite uses as a plain path: SQLite interprets names like ":memory:" and
// "file:x".
std::string PlainName(const std::string& path) {
  return path.starts_with('/') ? path : "./" + path;
}

// Returns "file:PATH", with characters that have a meaning in a URI in hexadecimal form.
std::string UriOf(const std::string& path) {
  std::string uri = path.starts_with('/') ? "file:" : "file:./";
  for (const char byte : path) {
    if (byte == '%' || byte == '?' || byte == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(byte));
    } else {
      uri += byte;
    }
  }
  return uri;
}

constexpr std::chrono::milliseconds kWaitForClosing{1000};

bool IsEmptyOrAbsent(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error || size == 0;
}

// Returns the path that the file had when it was opened: absolute, and without links. Empty or
// null: a database in memory.
const char* PathOf(sqlite3* handle) { return sqlite3_db_filename(handle, "main"); }

const char* LogPathOf(sqlite3* handle) { return sqlite3_filename_wal(PathOf(handle)); }

// Returns nothing, and errno says why, if the path leads to no file.
std::optional<FileId> FileAt(const char* path) {
  struct stat found = {};
  if (path == nullptr || stat(path, &found) != 0) return std::nullopt;
  return FileId{found.st_dev, found.st_ino};
}

// Returns whether the path, which led to `file`, leads to another file or to none. Not by
// SQLITE_FCNTL_HAS_MOVED, to which each error of stat is a move, and to which the files of two
// volumes are one if their inodes have the same number.
bool HasLeft(const char* path, const std::optional<FileId>& file) {
  if (!file) return false;
  const std::optional<FileId> found = FileAt(path);
  const bool is_unknown = !found && errno != ENOENT && errno != ENOTDIR;
  return !is_unknown && found != file;
}

int NoteWalPages(void* pages, sqlite3*, const char*, int count) {
  *static_cast<int*>(pages) = count;
  return SQLITE_OK;
}

}  // namespace

Statement& Statement::Bind(int parameter, std::int64_t value) {
  bind_error_ |= sqlite3_bind_int64(handle_.get(), parameter, value);
  return *this;
}

Statement& Statement::Bind(int parameter, std::string_view text) {
  // A null pointer would bind NULL instead of an empty text.
  const char* data = text.data() == nullptr ? "" : text.data();
  bind_error_ |=
      sqlite3_bind_text64(handle_.get(), parameter, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::BindNull(int parameter) {
  bind_error_ |= sqlite3_bind_null(handle_.get(), parameter);
  return *this;
}

Result<bool> Statement::Step() {
  sqlite3* connection = sqlite3_db_handle(handle_.get());
  if (bind_error_ != SQLITE_OK) return Fail(ErrorOf(connection, bind_error_));
  const int result = sqlite3_step(handle_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return Fail(ErrorOf(connection, result));
}

std::string_view Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

bool Statement::IsInteger(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_INTEGER;
}

void Statement::Reset() {
  sqlite3_reset(handle_.get());
  bind_error_ = SQLITE_OK;
}

Status Statement::Run() {
  Result<bool> row = true;
  while (row && *row) row = Step();
  Reset();
  return row.map([](bool) {});
}

Result<Connection> Connection::Open(const std::string& path, const std::string& vfs) {
  return OpenNamed(PlainName(path), path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs);
}

Result<Connection> Connection::OpenExisting(const std::string& path, const std::string& vfs) {
  return OpenNamed(PlainName(path), path, SQLITE_OPEN_READWRITE, vfs);
}

Result<Connection> Connection::OpenToRead(const std::string& path, const std::string& vfs) {
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  const auto open = [&](std::string_view mode) -> Result<Connection> {
    WEIR_ASSIGN_OR_RETURN(Connection connection,
                          OpenNamed(UriOf(path) + std::string(mode), path, kFlags, vfs));
    // An owner that closes the file locks it for the duration of a checkpoint.
    connection.WaitForOthers(kWaitForClosing);
    // The first read fails if the index of the write-ahead log is not accessible.
    WEIR_RETURN_IF_ERROR(connection.QueryInteger("SELECT count(*) FROM sqlite_schema"));
    return connection;
  };
  Result<Connection> opened = open("?mode=ro");
  // A file that is in use must not be opened as immutable.
  const auto is = [&](Code code) { return opened.error().code == code; };
  if (opened || is(Code::kDataLoss) || is(Code::kUnavailable) || !IsEmptyOrAbsent(path + "-wal")) {
    return opened;
  }
  Result<Connection> immutable = open("?mode=ro&immutable=1");
  return immutable ? std::move(immutable) : std::move(opened);
}

Result<Connection> Connection::OpenUnchanged(const std::string& path, const std::string& vfs) {
  std::error_code error;
  const bool had_wal = std::filesystem::exists(path + "-wal", error);
  // If SQLite opened the file for reading only, it would leave an empty log behind.
  auto opened = OpenExisting(path, vfs);
  if (opened && opened->read_only()) opened = OpenToRead(path, vfs);
  if (!opened) return opened;
  opened->KeepWalOnClose(had_wal);
  WEIR_RETURN_IF_ERROR(opened->Execute("PRAGMA query_only = ON"));
  return opened;
}

Result<Connection> Connection::OpenInMemory() {
  return OpenNamed(":memory:", "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
}

Result<Connection> Connection::CopyTo(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(Connection copy, path.empty() ? OpenInMemory() : Open(path, ""));
  sqlite3* const target = copy.state_->handle;
  sqlite3_backup* backup = sqlite3_backup_init(target, "main", state_->handle, "main");
  if (backup == nullptr) return Fail(ErrorOf(target, sqlite3_errcode(target)));
  const int stepped = sqlite3_backup_step(backup, -1);
  const int finished = sqlite3_backup_finish(backup);
  if (stepped == SQLITE_DONE && finished == SQLITE_OK) return copy;
  const int result = finished == SQLITE_OK ? stepped : finished;
  return Fail(Error{CodeOf(result, sqlite3_system_errno(state_->handle)),
                    fmt::format("{}: cannot be copied to {}: {}{}", name(), path,
                                sqlite3_errstr(result), Advice(result))});
}

Result<Connection> Connection::OpenNamed(const std::string& name, const std::string& path,
                                         int flags, const std::string& vfs) {
  auto state = std::make_unique<State>();
  flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int result =
      sqlite3_open_v2(name.c_str(), &state->handle, flags, vfs.empty() ? nullptr : vfs.c_str());
  if (result != SQLITE_OK) {
    Error error = ErrorOf(state->handle, result);
    error.message = fmt::format("sqlite:{}: {}{}", path, sqlite3_errmsg(state->handle),
                                ReasonOf(result, sqlite3_system_errno(state->handle)));
    return Fail(std::move(error));
  }
  // The backend makes the checkpoints, because SQLite ignores errors of its automatic checkpoints.
  sqlite3_wal_autocheckpoint(state->handle, 0);
  sqlite3_wal_hook(state->handle, NoteWalPages, &state->wal_pages);
  state->file = FileAt(PathOf(state->handle));
  return Connection(std::move(state));
}

Result<Statement> Connection::Prepare(std::string_view sql) {
  sqlite3_stmt* handle = nullptr;
  const int result = sqlite3_prepare_v3(state_->handle, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (result != SQLITE_OK) return Fail(ErrorOf(state_->handle, result));
  return Statement(handle);
}

Status Connection::Execute(const std::string& sql) {
  const int result = sqlite3_exec(state_->handle, sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return Fail(ErrorOf(state_->handle, result));
  return {};
}

Result<std::int64_t> Connection::QueryInteger(std::string_view sql) {
  WEIR_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  WEIR_RETURN_IF_ERROR(statement.Step());
  const std::int64_t value = statement.Integer(0);
  WEIR_RETURN_IF_ERROR(statement.Run());
  return value;
}

Result<std::string> Connection::QueryText(std::string_view sql) {
  WEIR_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  WEIR_RETURN_IF_ERROR(statement.Step());
  std::string value(statement.Text(0));
  // A pragma that changes something commits when it ends, not when it returns its result.
  WEIR_RETURN_IF_ERROR(statement.Run());
  return value;
}

Error DisplacedError(const std::string& name) {
  return {Code::kUnavailable,
          fmt::format("{}: was deleted, moved or replaced while it is open; put it back, or stop "
                      "this process with SIGTERM and start it again",
                      name)};
}

Status Connection::CheckInPlace() const {
  sqlite3* const handle = state_->handle;
  if (HasLeft(PathOf(handle), state_->file)) return Fail(DisplacedError(name()));
  if (HasLeft(LogPathOf(handle), state_->log)) return Fail(DisplacedError(name() + "-wal"));
  return {};
}

// If the file has left its path, but its log has not, SQLite would apply the log to whatever file
// is at the path when this process is killed. If the log has left its path, SQLite goes on writing
// it, but the next opener would not find it: the file lacks all commits since the last checkpoint.
// A checkpoint that empties the log ends both. Until the file and the log are back, nothing is
// written, because SQLite can change to a new log only while no other connection to the file is
// open. The emptied log is left alone: another process may use it for the file that is at the path
// now. A log of another process is left alone too.
Status Connection::PrepareWrite() {
  Status in_place = CheckInPlace();
  if (in_place) state_->is_log_empty = false;
  if (in_place || state_->is_log_empty) return in_place;
  if (HasOtherLog()) return in_place;
  const int result = RunCheckpoint(SQLITE_CHECKPOINT_TRUNCATE);
  state_->is_log_empty = result == SQLITE_OK;
  if (result != SQLITE_OK) {
    in_place.error().message += fmt::format("; its write-ahead log cannot be emptied: {}",
                                            ErrorOf(state_->handle, result).message);
  }
  return in_place;
}

// Within a transaction, the file at the path is the log that SQLite has open, if it has one: other
// connections cannot turn the log on or off meanwhile.
void Connection::NoteLog() {
  if (state_->file && !state_->log) state_->log = FileAt(LogPathOf(state_->handle));
}

bool Connection::HasOtherLog() const {
  const char* const log = LogPathOf(state_->handle);
  return HasLeft(log, state_->log) && !IsEmptyOrAbsent(log);
}

// In this mode the first read takes SQLite's exclusive lock. The next ones keep it.
Status Connection::ExcludeOthers() {
  if (read_only()) return Fail(Code::kPermissionDenied, name() + ": can only be read");
  WEIR_RETURN_IF_ERROR(Execute("PRAGMA locking_mode = EXCLUSIVE"));
  return QueryInteger("SELECT count(*) FROM sqlite_schema").map([](std::int64_t) {});
}

void Connection::WaitForOthers(std::chrono::milliseconds wait) {
  state_->wait = wait;
  sqlite3_busy_timeout(state_->handle, static_cast<int>(wait.count()));
}

std::string Connection::name() const { return NameOf(state_->handle); }

int Connection::RunCheckpoint(int mode) {
  if (state_->is_log_empty) return SQLITE_OK;
  const int result = sqlite3_wal_checkpoint_v2(state_->handle, "main", mode, nullptr, nullptr);
  if (result == SQLITE_OK) state_->wal_pages = 0;
  if (result == SQLITE_OK && mode == SQLITE_CHECKPOINT_TRUNCATE) {
    state_->log_may_lack_pages = false;
  }
  NoteSync(result);
  return result;
}

// Linux marks the pages of a failed fsync(2) clean, and a later fsync does not write them. SQLite
// reports a failed sync as an input or output error. A checkpoint syncs the log first.
void Connection::NoteSync(int result) {
  if ((result & 0xff) == SQLITE_IOERR) state_->log_may_lack_pages = true;
}

// The checkpoint writes all pages again, to the database. It also removes the frames of a commit
// that failed at its sync: behind a shorter commit, they would look like a commit that was lost. If
// it fails, or another connection reads the log, the next transaction tries again.
void Connection::TryToEmptyLog() {
  sqlite3_busy_timeout(state_->handle, 0);
  RunCheckpoint(SQLITE_CHECKPOINT_TRUNCATE);
  sqlite3_busy_timeout(state_->handle, static_cast<int>(state_->wait.count()));
}

// Recovery ends at the first commit that is missing on the disk. While another connection reads the
// log, it cannot be emptied, and a synced commit would follow the missing ones.
Status Connection::RestorePages() {
  if (!log_may_lack_pages()) return {};
  WEIR_ASSIGN_OR_RETURN(const bool is_empty, EmptyLog());
  if (is_empty) return {};
  return Fail(Code::kUnavailable,
              fmt::format("{}: a sync may have failed, and the commits before it cannot be written "
                          "again while another process reads the file; try again when it has ended",
                          name()));
}

Status Connection::Checkpoint() {
  if (HasOtherLog()) return Fail(DisplacedError(name() + "-wal"));
  const int result = RunCheckpoint(SQLITE_CHECKPOINT_PASSIVE);
  if (result != SQLITE_OK) return Fail(ErrorOf(state_->handle, result));
  return {};
}

Result<bool> Connection::EmptyLog() {
  if (HasOtherLog()) return Fail(DisplacedError(name() + "-wal"));
  const int result = RunCheckpoint(SQLITE_CHECKPOINT_TRUNCATE);
  if ((result & 0xff) == SQLITE_BUSY) return false;
  if (result != SQLITE_OK) return Fail(ErrorOf(state_->handle, result));
  return true;
}

void Connection::KeepWalOnClose(bool keep) {
  sqlite3_db_config(state_->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
}

Status Connection::Close() {
  Status in_place = PrepareWrite();
  // SQLite would delete the write-ahead log at the path, which belongs to another file now.
  if (!in_place) KeepWalOnClose(true);
  const int result = sqlite3_close(state_->handle);
  if (result != SQLITE_OK) return Fail(ErrorOf(state_->handle, result));
  state_->handle = nullptr;
  return in_place;
}

Status Connection::Commit() {
  const int result = sqlite3_exec(state_->handle, "COMMIT", nullptr, nullptr, nullptr);
  if (result == SQLITE_OK) return {};
  NoteSync(result);
  return Fail(ErrorOf(state_->handle, result));
}

void Connection::RollBack() {
  // Many errors roll back by themselves. If this rollback fails, the transaction has ended all the
  // same, and the next statements return errors.
  if (sqlite3_get_autocommit(state_->handle) == 0) {
    sqlite3_exec(state_->handle, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

}  // namespace weir::sqlite
