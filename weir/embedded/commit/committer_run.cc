// One run of the committer, on the scheduler of the file:
//
//   TakeWork ---> Commit ---> DoRequests ---> Maintain ---> Finish ---> RunAt(the next run)
//   takes calls   writes the  runs the jobs   folds,        kOpen and rest, or
//   and changes   log                         checkpoints   kFailing and backoff
//
// If the commit fails, the requests complete with its error, and Maintain is skipped. The drained
// changes stay collected in the ChangeLog, and the next run writes them.
#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/embedded/commit/committer.h"

namespace weir {
namespace {

// In relaxed mode, the committer rests for kRest * t after work of t, so that it uses at most one
// part in kRest + 1 of a core, whatever the load.
constexpr int kRest = 1;

}  // namespace

void Committer::Run() {
  const std::optional<Work> work = TakeWork();
  if (!work) return;
  auto [status, waiters] = Commit(*work);
  for (CommitQueue::Waiter& waiter : waiters) {
    if (waiter.done) waiter.done(status);
  }
  DoRequests(status);
  if (status) status = Maintain(*work);
  const Instant now = file_io_.clock().Now();
  events_.Committed(status, now - work->begun, now);
  Finish(*work, status);
}

std::optional<Committer::Work> Committer::TakeWork() {
  const MutexLock lock(mutex_);
  timer_.reset();
  if (mode_ == Mode::kClosed || running_) return std::nullopt;
  running_ = true;
  return BeginWork();
}

Committer::Work Committer::BeginWork() {
  Work work{.first_change = std::exchange(first_change_, std::nullopt),
            .begun = file_io_.clock().Now()};
  const bool changed = changed_.exchange(false);
  work.idle = !changed && !queue_.has_new() && mode_ == Mode::kOpen && left_ == Left::kLog;
  queue_.BeginCommit();
  return work;
}

// `if_late` of expired waiters runs under io_mutex_, which Close waits for: it accesses the table,
// which is only required to live until Close has returned.
std::pair<Status, std::vector<CommitQueue::Waiter>> Committer::Commit(const Work& work) {
  const MutexLock lock(io_mutex_);
  const Status status = file_ == nullptr ? Unavailable() : CommitLocked(work);
  std::vector<CommitQueue::Waiter> waiters;
  {
    const MutexLock state_lock(mutex_);
    waiters = queue_.TakeCommitted();
    waiting_ = queue_.size();
  }
  bool returned = false;
  for (CommitQueue::Waiter& waiter : waiters) {
    if (!status || waiter.done || !waiter.if_late) continue;
    waiter.if_late();
    returned = true;
  }
  if (returned) NoteChange();
  return {status, std::move(waiters)};
}

Status Committer::CommitLocked(const Work& work) {
  if (!pending_since_) pending_since_ = work.first_change;
  if (work.idle) table_.SweepIdle(table_.Now());
  ChangeLog& log = file_->log();
  table_.DrainChanges([&](const BucketKey& key, const BucketState* state, std::uint32_t& mark) {
    log.Add(key, state, mark);
  });
  const Instant begun = file_io_.clock().Now();
  auto written = log.Append();
  commit_time_.Record((file_io_.clock().Now() - begun).count());
  if (!written) return Fail(Code::kUnavailable, std::move(written.error().message));
  if (written->buckets > 0) CountCommit(*written);
  file_->SampleClock();
  pending_since_.reset();
  return {};
}

void Committer::CountCommit(const ChangeLog::Written& written) {
  grown_bytes_ += written.bytes;
  const MutexLock lock(mutex_);
  ++stats_.commits;
  stats_.buckets_written += written.buckets;
  stats_.bytes_written += written.bytes;
  if (!pending_since_) return;
  const nanoseconds gap = file_io_.clock().Now() - *pending_since_;
  stats_.longest_gap = std::max(stats_.longest_gap, gap);
}

void Committer::DoRequests(const Status& committed) {
  const auto start = [this] {
    const MutexLock lock(mutex_);
    return queue_.StartRequest();
  };
  const auto finish = [this] {
    const MutexLock lock(mutex_);
    Done<void> done = queue_.FinishRequest();
    waiting_ = queue_.size();
    return done;
  };
  while (CommitQueue::Job job = start()) {
    Status status = committed ? Do(job) : committed;
    if (Done<void> done = finish()) done(std::move(status));
  }
}

Status Committer::Do(CommitQueue::Job& job) {
  const MutexLock lock(io_mutex_);
  if (file_ == nullptr) return Unavailable();
  Status done = job(*file_);
  NoteChange();
  return done;
}

Status Committer::Maintain(const Work& work) {
  const MutexLock lock(io_mutex_);
  if (file_ == nullptr) return {};
  ChangeLog& log = file_->log();
  const std::size_t grown = std::exchange(grown_bytes_, 0);
  const bool full = log.bytes() >= options_.fold_bytes;
  Status status;
  if (log.bytes() > 0 && (log.folding() || full || work.idle)) {
    status = log.FoldSome(table_, grown);
  }
  if (status) status = file_->CheckpointIfLong();
  const MutexLock state_lock(mutex_);
  left_ = log.folding() ? Left::kFold : log.bytes() > 0 ? Left::kLog : Left::kNothing;
  return status;
}

void Committer::Finish(const Work& work, const Status& status) {
  const MutexLock lock(mutex_);
  running_ = false;
  if (mode_ == Mode::kClosed) return;
  const Instant now = file_io_.clock().Now();
  if (!status) {
    ++stats_.commit_failures;
    cause_ = status.error();
    mode_ = Mode::kFailing;
    return RunAt(now + backoff_.Next(rng_));
  }
  mode_ = Mode::kOpen;
  backoff_.Reset();
  rest_until_ = now;
  if (options_.durability == Durability::kRelaxed) rest_until_ = now + kRest * (now - work.begun);
  ScheduleNext(now);
}

Committer::Answers Committer::StopRequests() {
  std::vector<CommitQueue::Request> stopped;
  {
    const MutexLock lock(mutex_);
    mode_ = Mode::kClosed;
    if (timer_) file_io_.Cancel(*timer_);
    timer_.reset();
    stopped = queue_.TakeNewRequests();
    waiting_ = queue_.size();
  }
  Answers answers;
  for (CommitQueue::Request& request : stopped) {
    answers.emplace_back(std::move(request.done), Unavailable());
  }
  return answers;
}

Committer::Closed Committer::Close() {
  Work work;
  {
    const MutexLock lock(mutex_);
    work.first_change = std::exchange(first_change_, std::nullopt);
    changed_ = false;
  }
  const MutexLock lock(io_mutex_);  // waits for the commit in flight
  ReturnLate();
  const Status committed = CommitLocked(work);
  // Waiters stay in the queue until the file is closed, so that their deadlines fire while the disk
  // hangs. The tokens of waiters that expire now stay taken: no commit follows that could return
  // them.
  const Status closed = file_->Close(table_);
  file_.reset();
  std::vector<CommitQueue::Waiter> waiters;
  {
    const MutexLock state_lock(mutex_);
    if (expiry_) timers_.Cancel(*expiry_);
    expiry_.reset();
    waiters = queue_.TakeWaiters();
    waiting_ = queue_.size();
  }
  Closed result{.status = committed ? closed : committed, .waiters = {}};
  for (CommitQueue::Waiter& waiter : waiters) {
    if (waiter.done) result.waiters.emplace_back(std::move(waiter.done), committed);
  }
  return result;
}

void Committer::ReturnLate() {
  std::vector<CommitQueue::Waiter> late;
  {
    const MutexLock lock(mutex_);
    late = queue_.TakeLateWaiters();
  }
  for (CommitQueue::Waiter& waiter : late) {
    if (waiter.if_late) waiter.if_late();
  }
}

}  // namespace weir
