// The registry of the namespaces of a file, in a file next to it, and the file of each namespace.
// Mechanism: docs/design/embedded.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "weir/embedded/file/data_file.h"
#include "weir/embedded/file/schema.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/store/config/namespace_table.h"
#include "weir/telemetry/log.h"

namespace weir {

/// The registry of the namespaces of the file at `path`. No process owns the registry: each call
/// opens it, and waits up to five seconds for other processes that have it open. The registry does
/// not exist until a namespace is registered. Failures of the file are kUnavailable or kDataLoss.
/// Copyable; thread-safe.
class NamespaceRegistry {
 public:
  /// `vfs` is as in EmbeddedOptions::vfs. Damaged rows are logged to `log`, which must outlive it.
  NamespaceRegistry(const std::string& path, std::string vfs, Log& log = NoLog())
      : path_(WithoutLink(path)), vfs_(std::move(vfs)), log_(&log) {}

  /// Loads the registry, without its unreadable rows.
  [[nodiscard]] Result<NamespaceTable> Load() const;
  /// Changes the table in memory, and returns the namespace to store.
  using Change = std::function<Result<Namespace>(NamespaceTable&)>;
  /// Runs `change` and stores the namespace that it returns, in one transaction. Stores nothing if
  /// `change` returns an error. If there is no registry yet, `change` runs on an empty table first,
  /// and again in the transaction.
  [[nodiscard]] Result<Namespace> Make(const Change& change) const;
  /// Purges as NamespaceStore::Purge, for a valid id, in three steps: marks the record as purging,
  /// deletes the data, deletes the record. Returns kUnavailable if a process has the data open, or
  /// the data cannot be deleted.
  [[nodiscard]] Result<std::uint64_t> Purge(const std::string& id, UnixMillis now) const;

  /// Returns the path of the file with the data of a namespace.
  std::string FileOf(std::string_view id) const;

 private:
  using Body = std::function<Status(sqlite::Connection&)>;

  std::string file() const { return path_ + "-namespaces"; }
  bool exists() const;
  /// Runs Open, and maps its errors to kUnavailable, except kDataLoss.
  Status InTransaction(const Body& body) const;
  /// Opens the registry, and runs `body` in a transaction.
  Status Open(const Body& body) const;
  /// Deletes the data of a namespace, and returns the number of rows that they had.
  Result<std::uint64_t> Erase(const std::string& file, UnixMillis now) const;

  std::string path_;
  std::string vfs_;
  Log* log_;
};

/// Returns the migrations of the registry's file.
std::span<const Migration> NamespaceMigrations();
/// Returns whether a row is a valid namespace. `row` has all columns in the order of the table.
bool IsNamespaceRow(const sqlite::Statement& row);

}  // namespace weir
