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
#include "weir/embedded/embedded_backend.h"
#include "weir/embedded/state_file.h"
#include "weir/runtime/backoff.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/bucket_table.h"

namespace weir {

/// Brings the changes of a table to a file, on a scheduler. Thread-safe; owned by shared_ptr, since
/// tasks on the scheduler may outlive the backend: they find it closed, and touch nothing else.
class Committer : public std::enable_shared_from_this<Committer> {
 public:
  /// What to do to the file between two commits.
  using Job = std::move_only_function<Status(StateFile&)>;

  /// `table` must live until Close returned, `scheduler` longer than every task on it.
  Committer(std::unique_ptr<StateFile> file, BucketTable& table, Scheduler& scheduler,
            const EmbeddedOptions& options);

  /// Call it once, before anything else.
  void Start();

  /// kUnavailable, with the cause, while the last commit failed, and after Close.
  [[nodiscard]] Status CheckReady() const;
  [[nodiscard]] Status CheckOpen() const;

  /// The table changed: a commit will follow.
  void NoteChange();
  /// Runs `done` after a commit that holds all that changed before this call.
  void WhenCommitted(Done<void> done);
  /// Runs `job` on the scheduler, after a commit that succeeded.
  void Submit(Job job, Done<void> done);

  /// Commits, and closes the file. What waits and cannot be done any more answers kUnavailable.
  /// Further calls do nothing.
  [[nodiscard]] Status Close();
  EmbeddedStats stats() const;

 private:
  enum class Mode { kOpen, kFailing, kClosed };
  struct Request {
    Job job;
    Done<void> done;
  };
  // What one run takes over.
  struct Work {
    std::vector<Done<void>> waiters;
    std::vector<Request> requests;
    std::optional<Instant> first_change;
    Instant begun;
    bool idle = false;
  };
  // What the file still needs after a run.
  enum class Left { kNothing, kLog, kFold };

  void Run();
  std::optional<Work> TakeWork();
  Work TakeAll() WEIR_REQUIRES(mutex_);
  void Finish(const Work& work, const Status& status);
  void ScheduleNext(Instant now) WEIR_REQUIRES(mutex_);
  void RunAt(Instant when) WEIR_REQUIRES(mutex_);
  void MarkFirstChange() WEIR_REQUIRES(mutex_);

  Status Commit(const Work& work);
  Status CommitLocked(const Work& work) WEIR_REQUIRES(io_mutex_);
  Status Do(Request& request);
  Status Maintain(const Work& work);
  /// What the last commit and closing came to.
  std::pair<Status, Status> CommitAndClose(const Work& work);
  void CountCommit(const ChangeLog::Written& written) WEIR_REQUIRES(io_mutex_);
  Status Unavailable() const;

  Scheduler& scheduler_;
  BucketTable& table_;
  const EmbeddedOptions options_;
  const std::string name_;

  std::atomic<Mode> mode_ = Mode::kOpen;  // written under mutex_
  std::atomic<bool> changed_ = false;     // cleared under mutex_

  mutable Mutex mutex_;
  std::vector<Done<void>> waiters_ WEIR_GUARDED_BY(mutex_);
  std::vector<Request> requests_ WEIR_GUARDED_BY(mutex_);
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
