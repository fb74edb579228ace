// The default backend: buckets in memory, kept in one SQLite file by group commits.
// Mechanism and format: docs/design/embedded.md.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weir/base/result.h"
#include "weir/embedded/boot_identity.h"
#include "weir/embedded/damage.h"
#include "weir/embedded/file_lock.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/backend.h"
#include "weir/telemetry/histogram.h"
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
  /// How long to wait for a process that owns the file.
  LockWait lock_wait;
  /// A namespace of the file: its name, or `id:` and its id (model/namespace_name.h). It has a file
  /// of its own beside it. Empty: the file itself.
  std::string namespace_name;
  /// Who changes limits and entities, for the audit log. REQUIRES: CheckPrincipal accepts it.
  std::optional<std::string> principal{};
  /// The boot that the time since boot counts from; none: that of this machine.
  std::optional<BootIdentity> boot{};
  /// Must outlive the backend. Gets the events of CommitEvents (commit_events.h), "file.recovered"
  /// (info: file, bytes of changes that a process which was killed left),
  /// "clock.stored_time_ahead" and "clock.jumped" (label_clock.h).
  Log* log = nullptr;
  /// Fires the deadlines of calls that wait for the file, and must not be blocked by it; must
  /// outlive the backend. Null: the scheduler of the file, so that they fire only when it is free.
  Scheduler* timers = nullptr;
  /// At most this many calls wait for the file at once; further ones are kUnavailable, and take
  /// nothing.
  std::size_t max_waiting = 65'536;
  /// Name of an SQLite VFS; empty: SQLite's default. Tests inject faults here.
  std::string vfs;
};

struct EmbeddedStats {
  std::uint64_t commits = 0;
  std::uint64_t commit_failures = 0;
  std::uint64_t buckets_written = 0;
  std::uint64_t bytes_written = 0;  ///< of bucket changes, as handed to SQLite
  nanoseconds longest_gap{0};       ///< longest time from a change to its commit
  std::uint64_t waiting = 0;        ///< calls that wait for the file
};

class EmbeddedBackend : public Backend, public DamageSource {
 public:
  virtual EmbeddedStats stats() const = 0;
  /// Nanoseconds that each write of bucket changes took, with its sync.
  virtual HistogramSnapshot CommitTime() const = 0;
};

/// Opens the file, or creates it with its folder's permissions. `file_io` runs all that reads or
/// writes it, must outlive the backend, and should be the backend's own: a commit blocks it. No
/// call but those of namespaces() and Close blocks: a call is answered before it returns, on
/// `file_io` after the commit that it waits for, or on `options.timers` when its deadline passes,
/// with kDeadlineExceeded. An acquire that was answered so returns its tokens after that commit
/// (AcquireAndKeep: keeps them taken); an adjust is made; a setting is not made if its turn had not
/// come. Settings survive a power loss in either mode.
///
/// A namespace must be registered (kNotFound), and not be deleted (kFailedPrecondition). Processes
/// may own different namespaces of a file at the same time.
///
/// kUnavailable: another process has it open (the message says which). kFailedPrecondition: written
/// by a newer weir, or not a weir file. kDataLoss: SQLite cannot read a page; a row that does not
/// read costs that row, or what of it does not read, and is reported by damage().
/// kPermissionDenied: cannot be written. kNotFound: no such folder. kResourceExhausted: no space.
/// In each case the file is left as it was.
///
/// When a commit fails, acquires, adjusts and settings answer kUnavailable with the cause until one
/// succeeds again.
[[nodiscard]] Result<std::unique_ptr<EmbeddedBackend>> OpenEmbedded(
    const std::string& path, Scheduler& file_io, const EmbeddedOptions& options = {});

}  // namespace weir
