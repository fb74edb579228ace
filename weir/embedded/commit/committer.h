// Decides when changes are written to the file: group commits, their waiters, and retries after a
// failure. Mechanism: docs/design/embedded.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/embedded/commit/commit_events.h"
#include "weir/embedded/commit/commit_queue.h"
#include "weir/embedded/commit/commit_writer.h"
#include "weir/embedded/commit/earliest_timer.h"
#include "weir/embedded/embedded_backend.h"
#include "weir/embedded/file/state_file.h"
#include "weir/runtime/backoff.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/bucket/bucket_table.h"

namespace weir {

/// Writes the changes of a table to a file, on the scheduler `file_io`, which it may block. The
/// deadlines of waiting calls fire on another scheduler (EmbeddedOptions::timers), also while the
/// file hangs. Thread-safe. The committer is owned by shared_ptr, because tasks on the schedulers
/// may outlive the backend: such a task finds the committer closed, and accesses nothing else.
///
/// kOpen -- a run fails --> kFailing -- a run succeeds --> kOpen
/// kOpen, kFailing -- StopRequests --> kClosed
class Committer : public std::enable_shared_from_this<Committer> {
 public:
  /// `table` must live until Close has returned; the schedulers must outlive every task on them.
  Committer(std::unique_ptr<StateFile> file, BucketTable& table, Scheduler& file_io,
            const EmbeddedOptions& options);

  /// Schedules the first run. Call it once, before anything else.
  void Start();

  /// Returns kUnavailable, with the cause, from a failed run until a run succeeds, and after
  /// StopRequests.
  [[nodiscard]] Status CheckReady() const;
  /// Returns kUnavailable after StopRequests.
  [[nodiscard]] Status CheckOpen() const;
  /// Returns kUnavailable while EmbeddedOptions::max_waiting calls wait.
  [[nodiscard]] Status CheckQueue() const;
  /// Returns the time of the clock that deadlines use.
  Instant Now() const { return timers_.clock().Now(); }

  /// Notes that the table has changed: a commit will follow.
  void NoteChange();
  /// Completes the waiter after a commit that contains all changes made before this call, or with
  /// kDeadlineExceeded. After kDeadlineExceeded its `after_late_commit` runs when that commit has
  /// succeeded or, on closing, before the last commit. `after_late_commit` may change the table,
  /// and must not call the committer.
  void WhenCommitted(CommitQueue::Waiter waiter);
  /// Runs the job on `file_io` after a successful commit, and completes with the result of the job.
  /// If the commit fails, completes with the error of the commit. kDeadlineExceeded: the job will
  /// not run, or it runs and its result is discarded. kUnavailable: too many calls wait.
  void Submit(CommitQueue::Request request);

  /// Callbacks with their results; the caller runs them while it holds no lock.
  using Completions = std::vector<std::pair<Done<void>, Status>>;
  /// Rejects all further calls. Returns the requests that had not begun.
  [[nodiscard]] Completions StopRequests();
  struct Closed {
    Status status;        ///< the first error of the last commit and of closing
    Completions waiters;  ///< the waiters that have not completed
  };
  /// Commits the remaining changes and closes the file. REQUIRES: StopRequests was called. Call it
  /// once.
  [[nodiscard]] Closed Close();
  EmbeddedStats stats() const;
  HistogramSnapshot CommitTime() const { return commit_time_.Snapshot(); }

 private:
  enum class Mode { kOpen, kFailing, kClosed };
  // The state with which a run begins.
  struct Work {
    CommitWriter::Run run;
    Instant begun;
  };

  /// One run: commits, runs the jobs of requests, maintains the file, and schedules the next run.
  void Run();
  /// Begins a run. Returns nothing if another run is active or the committer is closed.
  std::optional<Work> TakeWork();
  Work BeginWork() WEIR_REQUIRES(mutex_);
  /// Runs the jobs in flight, or completes their requests with the error of the commit.
  void DoRequests(const Status& committed);
  /// Ends a run: sets the mode and schedules the next one.
  void Finish(const Work& work, const Status& status);
  /// Schedules the next run at the time at which the pending work is due.
  void ScheduleNext(Instant now) WEIR_REQUIRES(mutex_);
  /// Schedules a run at `when`, unless one is scheduled earlier.
  void RunAt(Instant when) WEIR_REQUIRES(mutex_);
  /// Notes the time of the first change since the last run began.
  void MarkFirstChange() WEIR_REQUIRES(mutex_);
  /// Sets the expiry timer to `deadline`, unless the timer is set to an earlier time.
  void ExpireAt(Deadline deadline) WEIR_REQUIRES(mutex_);
  /// The task of the expiry timer.
  void Expire();
  Error TooLate(CommitQueue::State state) const;

  /// Commits, and runs `after_late_commit` of waiters that have expired. Returns the status and the
  /// waiters.
  std::pair<Status, std::vector<CommitQueue::Waiter>> Commit(const Work& work);
  /// Writes the changes of the table, and counts the commit.
  Status WriteChanges(const Work& work) WEIR_REQUIRES(io_mutex_);
  /// Runs one job.
  Status RunJob(CommitQueue::Job& job);
  /// Folds a part of the log if that is due, and checkpoints a long write-ahead log.
  Status Maintain(const Work& work);
  /// For closing: runs `after_late_commit` of the waiters that have expired.
  void RunLateWaiters() WEIR_REQUIRES(io_mutex_);
  void CountCommit(const CommitWriter::Committed& committed);
  /// The error of CheckReady and CheckOpen.
  Status UnavailableError() const;

  Scheduler& file_io_;
  Scheduler& timers_;
  const EmbeddedOptions options_;
  const std::string name_;
  CommitEvents events_;  // used by runs only
  Histogram commit_time_;

  std::atomic<Mode> mode_ = Mode::kOpen;  // written under mutex_
  std::atomic<bool> changed_ = false;     // cleared under mutex_
  std::atomic<std::size_t> waiting_ = 0;  // size of queue_; written under mutex_

  mutable Mutex mutex_;
  CommitQueue queue_ WEIR_GUARDED_BY(mutex_);
  EarliestTimer expiry_ WEIR_GUARDED_BY(mutex_);  // on timers_
  // Time of the first change that no run has begun to commit.
  std::optional<Instant> first_change_ WEIR_GUARDED_BY(mutex_);
  EarliestTimer next_run_ WEIR_GUARDED_BY(mutex_);  // on file_io_
  bool running_ WEIR_GUARDED_BY(mutex_) = false;
  /// In relaxed mode the next commit of changes does not begin before this time.
  Instant rest_until_ WEIR_GUARDED_BY(mutex_);
  PendingMaintenance pending_maintenance_ WEIR_GUARDED_BY(mutex_);
  Error cause_ WEIR_GUARDED_BY(mutex_);  // the error of the last run, while kFailing
  Backoff backoff_ WEIR_GUARDED_BY(mutex_);
  Rng rng_ WEIR_GUARDED_BY(mutex_);
  EmbeddedStats stats_ WEIR_GUARDED_BY(mutex_);

  Mutex io_mutex_;                                                   // taken before mutex_
  std::unique_ptr<CommitWriter> writer_ WEIR_GUARDED_BY(io_mutex_);  // null once it is closed
};

}  // namespace weir
