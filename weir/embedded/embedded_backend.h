// The default backend: buckets in memory, stored in one SQLite file by group commits. Mechanism and
// format: docs/design/embedded.md.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/embedded/boot_identity.h"
#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/file_lock.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/backend.h"
#include "weir/store/usage/counted_usage.h"
#include "weir/telemetry/histogram.h"
#include "weir/telemetry/log.h"

namespace weir {

enum class Durability {
  /// Calls complete at once. A killed process loses at most the last commit interval (more under
  /// heavy load: EmbeddedStats::longest_gap); a power loss also loses the data that the system had
  /// not written. A clean stop loses nothing.
  kRelaxed,
  /// An admitted acquire and an adjust complete after the commit: their effect survives a kill and
  /// a power loss.
  kStrict,
};

struct EmbeddedOptions {
  Durability durability = Durability::kRelaxed;
  /// In relaxed mode, the intended time from a change to the end of its commit. Changes are
  /// collected for half of it; the other half is for the commit.
  milliseconds commit_interval{5};
  /// The log of changes is folded into the bucket table when it has this many bytes.
  std::size_t fold_bytes = 64u << 20;
  /// How much usage is kept.
  UsageLimits usage{};
  /// How long to wait for another process that owns the file.
  LockWait lock_wait;
  /// A namespace of the file: its name, or `id:` and its id (model/namespace_name.h). It has a file
  /// of its own next to the main file. Empty: the main file itself.
  std::string namespace_name;
  /// The author of changes to limits and entities, for the audit log. REQUIRES: CheckPrincipal
  /// accepts it.
  std::optional<std::string> principal{};
  /// The boot from which the clock's time since boot counts; by default ReadBootIdentity().
  std::optional<BootIdentity> boot{};
  /// Gets the events of CommitEvents (commit_events.h), DamageReport (damage.h), LabelClock
  /// (label_clock.h) and AheadReport (stored_ahead.h), and "file.recovered" (info: file, and bytes,
  /// the size of the changes that a killed process left). Must outlive the backend.
  Log* log = nullptr;
  /// Fires the deadlines of calls that wait for the file. It must not be blocked by the file, and
  /// must outlive the backend. Null: deadlines fire on the scheduler of the file, and only when
  /// that scheduler is free.
  Scheduler* timers = nullptr;
  /// The number of calls that may wait for the file at once. Further ones return kUnavailable, and
  /// take no tokens.
  std::size_t max_waiting = 65'536;
  /// Name of an SQLite VFS; empty: SQLite's default. Tests use it to inject faults.
  std::string vfs;
};

struct EmbeddedStats {
  std::uint64_t commits = 0;
  std::uint64_t commit_failures = 0;  ///< failed folds and checkpoints count too
  std::uint64_t buckets_written = 0;
  std::uint64_t bytes_written = 0;  ///< the size of the written bucket changes, as passed to SQLite
  nanoseconds longest_gap{0};       ///< longest time from a change to its commit
  std::uint64_t waiting = 0;        ///< calls that wait for the file
  UsageStats usage;                 ///< after the last commit; `kept` is 0 until usage is written
};

class WEIR_API EmbeddedBackend : public Backend, public DamageSource {
 public:
  virtual EmbeddedStats stats() const = 0;
  /// Returns the durations of the writes of bucket changes, in nanoseconds; in strict mode a write
  /// includes its sync.
  virtual HistogramSnapshot CommitTime() const = 0;
};

/// Opens the file, or creates it with its folder's permissions. All reads and writes of the file
/// run on `file_io`, which must outlive the backend, and should not be shared: a commit blocks it.
///
/// No call blocks, except those of namespaces() and Close. A call completes before it returns, or
/// on `file_io` after the commit that it waits for, or on `options.timers` with kDeadlineExceeded
/// when its deadline passes. In the last case an acquire returns its tokens after the commit
/// (AcquireAndKeep keeps them taken), an adjust is made, and a change of limits or entities is not
/// made if it had not begun. Changes of limits and entities survive a power loss in both modes.
///
/// A namespace must be registered (else kNotFound), and must not be deleted (else
/// kFailedPrecondition). Processes may own different namespaces of a file at the same time.
///
/// Returns an error, and leaves the file as it was:
/// - kUnavailable: another process owns the file (the message says which), or a repair of the file
///   has not ended.
/// - kFailedPrecondition: the file was written by a newer weir, is not a weir file, or is not a
///   regular file.
/// - kDataLoss: SQLite cannot read a page. An unreadable row is not an error: damage() reports
///   it, and docs/design/embedded.md ("Damage") has the state that is used instead.
/// - kPermissionDenied: the file cannot be written. kNotFound: its folder does not exist.
///   kResourceExhausted: there is no space.
///
/// After a commit has failed, acquires, adjusts and changes of limits and entities return
/// kUnavailable with the cause, until a commit succeeds again.
[[nodiscard]] WEIR_API Result<std::unique_ptr<EmbeddedBackend>> OpenEmbedded(
    const std::string& path, Scheduler& file_io, const EmbeddedOptions& options = {});

}  // namespace weir
