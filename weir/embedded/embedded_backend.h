// The default backend: buckets in memory, kept in one SQLite file by group commits.
// Mechanism and format: docs/design/embedded.md.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weir/base/result.h"
#include "weir/embedded/boot_identity.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/backend.h"
#include "weir/telemetry/log.h"

namespace weir {

enum class Durability {
  /// Answers at once. A killed process forgets at most the last commit interval (under heavy load
  /// more: EmbeddedStats::longest_gap), a power loss also what the system had not written; a clean
  /// stop nothing.
  kRelaxed,
  /// Answers an acquire that was admitted, and an adjust, after the commit: what was answered
  /// survives a kill and a power loss.
  kStrict,
};

struct EmbeddedOptions {
  Durability durability = Durability::kRelaxed;
  /// Relaxed: a change is in the file after so long. Half of it changes are gathered, and half is
  /// left for the commit.
  milliseconds commit_interval{5};
  /// Fold the log of changes into the bucket table when it holds this many bytes.
  std::size_t fold_bytes = 64u << 20;
  /// A namespace of the file: its name, or `id:` and its id (model/namespace_name.h). It has a file
  /// of its own beside it. Empty: the file itself.
  std::string namespace_name;
  /// The boot that the time since boot counts from; none: that of this machine.
  std::optional<BootIdentity> boot{};
  Log* log = nullptr;  ///< must outlive the backend
  /// Name of an SQLite VFS; empty: SQLite's default. Tests inject faults here.
  std::string vfs;
};

struct EmbeddedStats {
  std::uint64_t commits = 0;
  std::uint64_t commit_failures = 0;
  std::uint64_t buckets_written = 0;
  std::uint64_t bytes_written = 0;  ///< of bucket changes, as handed to SQLite
  nanoseconds longest_gap{0};       ///< longest time from a change to its commit
};

class EmbeddedBackend : public Backend {
 public:
  virtual EmbeddedStats stats() const = 0;
};

/// Opens the file, or creates it with its folder's permissions. `scheduler` runs the commits, must
/// outlive the backend, and should be the backend's own: a commit blocks it. A call is answered
/// before it returns, or on the scheduler, after the commit that it waits for: however long that
/// takes, so deadlines of bucket calls are not looked at. Settings survive a power loss in either
/// mode; one that has waited beyond its deadline is not made.
///
/// A namespace must be registered (kNotFound), and not be deleted (kFailedPrecondition). Processes
/// may own different namespaces of a file at the same time.
///
/// kUnavailable: another process has it open (the message says which). kFailedPrecondition: written
/// by a newer weir, or not a weir file. kDataLoss: damaged. kPermissionDenied: cannot be written.
/// kNotFound: no such folder. kResourceExhausted: no space. In each case the file is left as it
/// was.
///
/// When a commit fails, acquires, adjusts and settings answer kUnavailable with the cause until one
/// succeeds again.
[[nodiscard]] Result<std::unique_ptr<EmbeddedBackend>> OpenEmbedded(
    const std::string& path, Scheduler& scheduler, const EmbeddedOptions& options = {});

}  // namespace weir
