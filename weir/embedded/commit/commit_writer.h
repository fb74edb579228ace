// Writes the changes of a table to a file, and keeps the log of the file short.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/embedded/commit/change_log.h"
#include "weir/embedded/commit/commit_queue.h"
#include "weir/embedded/file/state_file.h"
#include "weir/store/bucket/bucket_table.h"
#include "weir/telemetry/histogram.h"

namespace weir {

/// The maintenance that a file still needs.
enum class PendingMaintenance {
  kNothing,
  kLog,   ///< the log is to be folded once the file is idle
  kFold,  ///< a fold has begun and is to be continued
};

/// Not thread-safe. Each function blocks on the disk. This class has no timer: the Committer
/// decides when to write.
class CommitWriter {
 public:
  struct Options {
    std::size_t fold_bytes;  ///< EmbeddedOptions::fold_bytes
    const Clock& clock;
    Histogram& commit_time;  ///< gets the time of each write, in nanoseconds
  };
  /// `table`, the clock and the histogram must outlive it.
  CommitWriter(std::unique_ptr<StateFile> file, BucketTable& table, const Options& options)
      : file_(std::move(file)), table_(table), options_(options) {}

  /// A run of the committer.
  struct Run {
    /// The time at which the first change or waiter of the run arrived.
    std::optional<Instant> first_change;
    bool is_idle = false;  ///< there is only an old log to fold
  };
  /// The result of a commit. `gap` is the time from its first change or waiter to its end, or
  /// nothing if there was none.
  struct Committed {
    ChangeLog::Written written;
    std::optional<nanoseconds> gap{};
    UsageStats usage{};
  };
  /// Writes the changes of the table to the log. After an error they stay collected for the next
  /// commit. Errors are kUnavailable.
  [[nodiscard]] Result<Committed> Commit(const Run& run);
  [[nodiscard]] Status RunJob(CommitQueue::Job& job) { return job(*file_); }
  /// Folds a part of the log if that is due, and checkpoints a long write-ahead log.
  [[nodiscard]] Status Maintain(const Run& run);
  PendingMaintenance pending_maintenance() const;

  struct Closed {
    Status status;  ///< the first error of the last commit and of closing
    Status stored;  ///< an error if changes may be missing in the file
  };
  /// Commits, folds the log and closes the file. No other function may be called afterwards.
  [[nodiscard]] Closed Close(const Run& run);

 private:
  std::unique_ptr<StateFile> file_;
  BucketTable& table_;
  const Options options_;
  // Time of the first change that was drained from the table but not committed.
  std::optional<Instant> pending_since_;
  std::size_t grown_bytes_ = 0;  // growth of the log since the last Maintain
};

}  // namespace weir
