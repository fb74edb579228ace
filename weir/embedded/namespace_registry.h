// The registry of the namespaces of a file, in a file beside it, and the file of each.
// docs/design/embedded.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "weir/embedded/data_file.h"
#include "weir/embedded/schema.h"
#include "weir/embedded/sqlite.h"
#include "weir/store/namespace_table.h"
#include "weir/telemetry/log.h"

namespace weir {

/// The registry of the namespaces of the file at `path`. Nobody owns it: each verb opens it, and
/// waits up to five seconds for whoever else has it open. There is none until a namespace is
/// registered. What goes wrong with the file is kUnavailable, or kDataLoss. A value; thread-safe.
class NamespaceRegistry {
 public:
  /// `vfs` as EmbeddedOptions::vfs. Damaged rows are logged to `log`, which must outlive it.
  NamespaceRegistry(const std::string& path, std::string vfs, Log& log = NoLog())
      : path_(WithoutLink(path)), vfs_(std::move(vfs)), log_(&log) {}

  /// Without the rows that do not read.
  [[nodiscard]] Result<NamespaceTable> Load() const;
  /// Keeps the namespace that `change` answers, or nothing where it is an error, in one
  /// transaction.
  using Change = std::function<Result<Namespace>(NamespaceTable&)>;
  [[nodiscard]] Result<Namespace> Make(const Change& change) const;
  /// As NamespaceStore::Purge, of an id that is valid: the record says that the data are going,
  /// they go, the record goes. kUnavailable where somebody has them open, or cannot delete them.
  [[nodiscard]] Result<std::uint64_t> Purge(const std::string& id, UnixMillis now) const;

  /// Where a namespace keeps its data.
  std::string FileOf(std::string_view id) const;

 private:
  using Body = std::function<Status(sqlite::Connection&)>;

  std::string file() const { return path_ + "-namespaces"; }
  bool exists() const;
  Status InTransaction(const Body& body) const;
  Status Open(const Body& body) const;
  Result<std::uint64_t> Erase(const std::string& file, UnixMillis now) const;

  std::string path_;
  std::string vfs_;
  Log* log_;
};

/// Of the file of a registry.
std::span<const Migration> NamespaceMigrations();
/// Whether a row with all columns in their order is a namespace.
bool IsNamespaceRow(const sqlite::Statement& row);

}  // namespace weir
