// Owners of SQLite's handles, and its errors in our codes.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weir/base/result.h"

namespace weir::sqlite {

/// One compiled statement. Not thread-safe; must not outlive its connection.
class Statement {
 public:
  /// Parameters count from 1. A text must live until the next Reset or Run.
  Statement& Bind(int parameter, std::int64_t value);
  Statement& Bind(int parameter, std::string_view text);
  Statement& BindNull(int parameter);

  /// True: a row is there; its columns count from 0 and live until the next Step or Reset.
  [[nodiscard]] Result<bool> Step();
  std::int64_t Integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  std::string_view Text(int column) const;
  bool IsNull(int column) const;
  bool IsInteger(int column) const;

  /// Ready to be bound and run again.
  void Reset();
  /// Steps to the end, dropping rows, and resets.
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

/// One open file. Not thread-safe. Errors name the file and SQLite's reason:
/// kResourceExhausted (no space), kDataLoss (damaged), kFailedPrecondition (not a database),
/// kPermissionDenied, kNotFound (no such folder), kUnavailable (in use, input or output failed).
class Connection {
 public:
  /// Opens or creates. `vfs` empty: SQLite's default. Where the file can only be read, it is opened
  /// so: ask read_only().
  [[nodiscard]] static Result<Connection> Open(const std::string& path, const std::string& vfs);

  /// Opens a file that is there for reading alone. If its folder cannot be written either, and the
  /// file has no write-ahead log, it is taken to be one that nobody changes.
  [[nodiscard]] static Result<Connection> OpenToRead(const std::string& path,
                                                     const std::string& vfs);

  /// Opens a file that is there, and changes nothing in it, nor its write-ahead log.
  [[nodiscard]] static Result<Connection> OpenUnchanged(const std::string& path,
                                                        const std::string& vfs);

  /// A new database, which goes with the connection.
  [[nodiscard]] static Result<Connection> OpenInMemory();

  /// Copies all pages, as of one moment, into another file, or into memory ("").
  [[nodiscard]] Result<Connection> CopyTo(const std::string& path);

  [[nodiscard]] Result<Statement> Prepare(std::string_view sql);
  /// One statement or several; rows are dropped.
  [[nodiscard]] Status Execute(const std::string& sql);
  /// The first column of the first row.
  [[nodiscard]] Result<std::int64_t> QueryInteger(std::string_view sql);
  [[nodiscard]] Result<std::string> QueryText(std::string_view sql);

  /// Runs `body` between BEGIN and COMMIT, and rolls back where either fails. No other connection
  /// writes meanwhile.
  template <class Body>
  [[nodiscard]] Status InTransaction(Body&& body) {
    return Within("BEGIN IMMEDIATE", std::forward<Body>(body));
  }
  /// The same for a `body` that only reads: it sees the file as of one moment.
  template <class Body>
  [[nodiscard]] Status InSnapshot(Body&& body) {
    return Within("BEGIN", std::forward<Body>(body));
  }

  /// How long to wait for other connections to the file; at first not at all.
  void WaitForOthers(std::chrono::milliseconds wait);

  /// "sqlite:PATH", as error messages begin.
  std::string name() const;
  bool read_only() const { return sqlite3_db_readonly(state_->handle, "main") == 1; }
  /// Pages in the write-ahead log after the last commit; 0 after a checkpoint.
  int wal_pages() const { return state_->wal_pages; }
  /// Moves the write-ahead log into the file, as far as other connections do not read it;
  /// `truncate`: and empties it, if none does.
  [[nodiscard]] Status Checkpoint(bool truncate);
  /// Whether closing leaves the write-ahead log as it is. Else closing moves it into the file.
  void KeepWalOnClose(bool keep);
  /// REQUIRES: its statements are gone.
  [[nodiscard]] Status Close();

 private:
  struct State {
    State() = default;
    ~State() { sqlite3_close(handle); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    sqlite3* handle = nullptr;
    int wal_pages = 0;
  };
  explicit Connection(std::unique_ptr<State> state) : state_(std::move(state)) {}
  static Result<Connection> OpenNamed(const std::string& name, const std::string& path, int flags,
                                      const std::string& vfs);
  void RollBack();
  template <class Body>
  Status Within(const char* begin, Body&& body) {
    WEIR_RETURN_IF_ERROR(Execute(begin));
    Status status = std::forward<Body>(body)();
    if (status) status = Execute("COMMIT");
    if (!status) RollBack();
    return status;
  }

  std::unique_ptr<State> state_;  // SQLite's hook points at it
};

}  // namespace weir::sqlite
