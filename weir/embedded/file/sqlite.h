// Owners of SQLite's handles, and its errors as Code.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weir/base/result.h"

namespace weir::sqlite {

/// One compiled statement. Not thread-safe; must not outlive its connection.
class Statement {
 public:
  /// Binds a parameter; parameters count from 1. A text must live until the next Reset or Run.
  Statement& Bind(int parameter, std::int64_t value);
  Statement& Bind(int parameter, std::string_view text);
  Statement& BindNull(int parameter);

  /// Returns true if there is a row; its columns count from 0 and are valid until the next Step or
  /// Reset.
  [[nodiscard]] Result<bool> Step();
  std::int64_t Integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  std::string_view Text(int column) const;
  bool IsNull(int column) const;
  bool IsInteger(int column) const;

  /// Makes the statement ready to be bound and run again.
  void Reset();
  /// Steps to the end, discards the rows, and resets.
  [[nodiscard]] Status Run();

 private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}

  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int bind_error_ = SQLITE_OK;
};

/// Identifies a file among all that are mounted.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const FileId&, const FileId&) = default;
};

/// Returns the error of Connection::CheckInPlace for a file with this name().
Error DisplacedError(const std::string& name);

/// One open file. Not thread-safe. Errors name the file and SQLite's reason: kResourceExhausted (no
/// space), kDataLoss (damaged), kFailedPrecondition (not a database), kPermissionDenied, kNotFound
/// (no such folder), kUnavailable (in use, or an input or output error).
class Connection {
 public:
  /// Opens or creates a file. An empty `vfs` means SQLite's default. If the file can only be read,
  /// it is opened for reading, and read_only() returns true.
  [[nodiscard]] static Result<Connection> Open(const std::string& path, const std::string& vfs);

  /// Like Open, but returns kNotFound if there is no file.
  [[nodiscard]] static Result<Connection> OpenExisting(const std::string& path,
                                                       const std::string& vfs);

  /// Opens an existing file for reading only. If SQLite cannot open it because its folder cannot be
  /// written either, and the file has no write-ahead log, the file is opened as one that no process
  /// changes.
  [[nodiscard]] static Result<Connection> OpenToRead(const std::string& path,
                                                     const std::string& vfs);

  /// Opens an existing file, and changes neither it nor its write-ahead log.
  [[nodiscard]] static Result<Connection> OpenUnchanged(const std::string& path,
                                                        const std::string& vfs);

  /// Creates a database in memory, which is destroyed with the connection.
  [[nodiscard]] static Result<Connection> OpenInMemory();

  /// Copies all pages, as of one moment, into another file, or into memory if `path` is empty.
  [[nodiscard]] Result<Connection> CopyTo(const std::string& path);

  [[nodiscard]] Result<Statement> Prepare(std::string_view sql);
  /// Runs one or several statements, and discards the rows.
  [[nodiscard]] Status Execute(const std::string& sql);
  /// Returns the first column of the first row.
  [[nodiscard]] Result<std::int64_t> QueryInteger(std::string_view sql);
  [[nodiscard]] Result<std::string> QueryText(std::string_view sql);

  /// Runs `body` between BEGIN and COMMIT, and rolls back if either fails. No other connection
  /// writes meanwhile. Returns the error of CheckInPlace, if any, and runs nothing then. If the
  /// log may lack pages, tries first to empty it.
  template <class Body>
  [[nodiscard]] Status InTransaction(Body&& body) {
    WEIR_RETURN_IF_ERROR(PrepareWrite());
    if (log_may_lack_pages()) TryToEmptyLog();
    return Within("BEGIN IMMEDIATE", std::forward<Body>(body));
  }
  /// Runs `body`, which only reads and sees the file as of one moment.
  template <class Body>
  [[nodiscard]] Status InSnapshot(Body&& body) {
    return Within("BEGIN", std::forward<Body>(body));
  }

  /// Returns kUnavailable if the path with which the file was opened no longer leads to it, or
  /// PATH-wal no longer to its write-ahead log, so that the next opener would not find what is
  /// written: one of them was deleted, moved or replaced. Returns no error if the path cannot be
  /// looked up for another reason, as in a folder that was closed to this user.
  [[nodiscard]] Status CheckInPlace() const;

  /// Excludes all other connections from a file that has a write-ahead log until this one is
  /// closed. Call it before the file is read. Returns kUnavailable if another connection has the
  /// file open, and kPermissionDenied if the file can only be read.
  [[nodiscard]] Status ExcludeOthers();

  /// Sets how long to wait for other connections to the file. Initially there is no wait.
  void WaitForOthers(std::chrono::milliseconds wait);

  /// Returns "sqlite:PATH", with which error messages begin.
  std::string name() const;
  /// Returns which file is open; nothing for a database in memory.
  const std::optional<FileId>& file() const { return state_->file; }
  bool read_only() const { return sqlite3_db_readonly(state_->handle, "main") == 1; }
  /// Returns the number of pages in the write-ahead log after the last commit; 0 after a
  /// checkpoint.
  int wal_pages() const { return state_->wal_pages; }
  /// Copies the write-ahead log into the file, as far as other connections do not read it. Returns
  /// the error of CheckInPlace, and changes nothing, if another log with contents is at PATH-wal.
  [[nodiscard]] Status Checkpoint();
  /// Like Checkpoint, but also empties the log. Returns false if another connection reads the log,
  /// which therefore stays.
  [[nodiscard]] Result<bool> EmptyLog();
  /// Returns true if a sync of the write-ahead log may have failed since the log was last empty:
  /// pages may be missing on the disk although they can be read, and a power loss then loses all
  /// commits after them, also those that are synced.
  bool log_may_lack_pages() const { return state_->log_may_lack_pages; }
  /// Restores pages that the log may lack. Fails with kUnavailable while another connection reads
  /// the log.
  [[nodiscard]] Status RestorePages();
  /// Notes that the log, which another process or connection has left, may lack pages.
  void DistrustLog() { state_->log_may_lack_pages = true; }
  /// Sets whether closing leaves the write-ahead log as it is. Otherwise closing moves it into the
  /// file.
  void KeepWalOnClose(bool keep);
  /// Closes the file, also if it returns the error of CheckInPlace. REQUIRES: its statements are
  /// destroyed.
  [[nodiscard]] Status Close();

 private:
  struct State {
    State() = default;
    ~State() { sqlite3_close(handle); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    sqlite3* handle = nullptr;
    int wal_pages = 0;
    std::optional<FileId> file{};  // nothing: a database in memory
    std::optional<FileId> log{};   // the write-ahead log; nothing: no transaction has used it yet
    bool is_log_empty = false;     // emptied since CheckInPlace fails
    bool log_may_lack_pages = false;
    std::chrono::milliseconds wait{0};  // of WaitForOthers
  };
  explicit Connection(std::unique_ptr<State> state) : state_(std::move(state)) {}
  static Result<Connection> OpenNamed(const std::string& name, const std::string& path, int flags,
                                      const std::string& vfs);
  /// Returns the error of CheckInPlace. While it fails, each call tries to empty the write-ahead
  /// log, until one succeeds.
  Status PrepareWrite();
  /// Returns true if a log with contents that is not this connection's is at PATH-wal: another
  /// process has written it without the commits of this log, and a checkpoint would mix the pages
  /// of both.
  bool HasOtherLog() const;
  /// Returns SQLite's result. REQUIRES: !HasOtherLog(). Does nothing if the log is empty while
  /// CheckInPlace fails.
  int RunCheckpoint(int mode);
  /// Like EmptyLog, but does not wait for other connections, and ignores errors.
  void TryToEmptyLog();
  /// Notes whether an operation with this result may have failed to sync the log.
  void NoteSync(int result);
  Status Commit();
  /// Notes which file the write-ahead log is, unless that is known. Call it in a transaction
  /// that has read the file.
  void NoteLog();
  void RollBack();
  template <class Body>
  Status Within(const char* begin, Body&& body) {
    WEIR_RETURN_IF_ERROR(Execute(begin));
    Status status = std::forward<Body>(body)();
    if (status) {
      NoteLog();
      status = Commit();
    }
    if (!status) RollBack();
    return status;
  }

  std::unique_ptr<State> state_;  // on the heap, because SQLite's hook has its address
};

}  // namespace weir::sqlite
