// When changes reach the file: group commits, their waiters, and what happens when one fails.
// docs/design/embedded.md.
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
#include "weir/embedded/commit_events.h"
#include "weir/embedded/commit_queue.h"
#include "weir/embedded/embedded_backend.h"
#include "weir/embedded/state_file.h"
#include "weir/runtime/backoff.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/bucket_table.h"

namespace weir {

/// Brings the changes of a table to a file, on a scheduler that it may block (`file_io`). Calls
/// that wait for that are answered by their deadlines, which fire on another one
/// (EmbeddedOptions::timers), while the file hangs. Thread-safe; owned by shared_ptr, since tasks
/// on the schedulers may outlive the backend: they find it closed, and touch nothing else.
class Committer : public std::enable_shared_from_this<Committer> {
 public:
  /// `table` must live until Close returned, the schedulers longer than every task on them.
  Committer(std::unique_ptr<StateFile> file, BucketTable& table, Scheduler& file_io,
            const EmbeddedOptions& options);

  /// Call it once, before anything else.
  void Start();

  /// kUnavailable, with the cause, while the last commit failed, and after Close.
  [[nodiscard]] Status CheckReady() const;
  [[nodiscard]] Status CheckOpen() const;
  /// kUnavailable while EmbeddedOptions::max_waiting calls wait.
  [[nodiscard]] Status CheckQueue() const;
  /// Of the clock that deadlines count on.
  Instant Now() const { return timers_.clock().Now(); }

  /// The table changed: a commit will follow.
  void NoteChange();
  /// Answers the waiter after a commit that holds all that changed before this call, or
  /// kDeadlineExceeded; then its `if_late` runs after that commit, if it succeeds. `if_late` may
  /// change the table and must not call back.
  void WhenCommitted(CommitQueue::Waiter waiter);
  /// Runs the job on `file_io`, after a commit that succeeded. kDeadlineExceeded: it did not run,
  /// or runs and its result is lost. kUnavailable: too many calls wait.
  void Submit(CommitQueue::Request request);

  /// What calls are to be answered when no lock is held.
  using Answers = std::vector<std::pair<Done<void>, Status>>;
  /// Nothing more is accepted. Returns the requests that had not begun.
  [[nodiscard]] Answers StopRequests();
  struct Closed {
    Status status;    ///< the first error of the last commit and of closing
    Answers waiters;  ///< those whose deadline did not pass meanwhile
  };
  /// Commits, and closes the file. REQUIRES: StopRequests. To be called once.
  [[nodiscard]] Closed Close();
  EmbeddedStats stats() const;
  HistogramSnapshot CommitTime() const { return commit_time_.Snapshot(); }

 private:
  enum class Mode { kOpen, kFailing, kClosed };
  // What one run begins with.
  struct Work {
    std::optional<Instant> first_change;
    Instant begun;
    bool idle = false;
  };
  // What the file still needs after a run.
  enum class Left { kNothing, kLog, kFold };

  void Run();
  std::optional<Work> TakeWork();
  Work BeginWork() WEIR_REQUIRES(mutex_);
  void DoRequests(const Status& committed);
  void Finish(const Work& work, const Status& status);
  void ScheduleNext(Instant now) WEIR_REQUIRES(mutex_);
  void RunAt(Instant when) WEIR_REQUIRES(mutex_);
  void MarkFirstChange() WEIR_REQUIRES(mutex_);
  void ExpireAt(Deadline deadline) WEIR_REQUIRES(mutex_);
  void Expire();
  Error TooLate(CommitQueue::State state) const;

  std::pair<Status, std::vector<CommitQueue::Waiter>> Commit(const Work& work);
  Status CommitLocked(const Work& work) WEIR_REQUIRES(io_mutex_);
  Status Do(CommitQueue::Job& job);
  Status Maintain(const Work& work);
  void ReturnLate() WEIR_REQUIRES(io_mutex_);
  void CountCommit(const ChangeLog::Written& written) WEIR_REQUIRES(io_mutex_);
  Status Unavailable() const;

  Scheduler& file_io_;
  Scheduler& timers_;
  BucketTable& table_;
  const EmbeddedOptions options_;
  const std::string name_;
  CommitEvents events_;  // of the run
  Histogram commit_time_;

  std::atomic<Mode> mode_ = Mode::kOpen;  // written under mutex_
  std::atomic<bool> changed_ = false;     // cleared under mutex_
  std::atomic<std::size_t> waiting_ = 0;  // calls in queue_; written under mutex_

  mutable Mutex mutex_;
  CommitQueue queue_ WEIR_GUARDED_BY(mutex_);
  std::optional<TimerId> expiry_ WEIR_GUARDED_BY(mutex_);  // on timers_
  Instant expiry_at_ WEIR_GUARDED_BY(mutex_);
  std::optional<Instant> first_change_ WEIR_GUARDED_BY(mutex_);  // of those that wait
  std::optional<TimerId> timer_ WEIR_GUARDED_BY(mutex_);
  Instant timer_at_ WEIR_GUARDED_BY(mutex_);
  bool running_ WEIR_GUARDED_BY(mutex_) = false;
  Instant rest_until_ WEIR_GUARDED_BY(mutex_);
  Left left_ WEIR_GUARDED_BY(mutex_) = Left::kNothing;
  Error cause_ WEIR_GUARDED_BY(mutex_);  // while kFailing
  Backoff backoff_ WEIR_GUARDED_BY(mutex_);
  Rng rng_ WEIR_GUARDED_BY(mutex_);
  EmbeddedStats stats_ WEIR_GUARDED_BY(mutex_);

  Mutex io_mutex_;                                                   // taken before mutex_
  std::unique_ptr<StateFile> file_ WEIR_GUARDED_BY(io_mutex_);       // null once closed
  std::optional<Instant> pending_since_ WEIR_GUARDED_BY(io_mutex_);  // drained, not committed
  std::size_t grown_bytes_ WEIR_GUARDED_BY(io_mutex_) = 0;  // of the log, since the last Maintain
};

}  // namespace weir
