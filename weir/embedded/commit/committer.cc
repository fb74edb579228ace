// One run of the committer, on the scheduler of the file:
//
//   TakeWork ---> Commit ---> DoRequests ---> Maintain ---> Finish ---> RunAt(the next run)
//   takes calls   writes the  runs the jobs   folds,        kOpen and rest, or
//   and changes   log                         checkpoints   kFailing and backoff
//
// If the commit fails, the requests complete with its error, and Maintain is skipped. The drained
// changes stay collected in the ChangeLog, and the next run writes them.
#include "weir/embedded/commit/committer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// After this time without a change, the log is folded.
constexpr nanoseconds kIdle = std::chrono::seconds(1);

// Deadlines that pass within this time of each other expire together, because each expiry searches
// the whole queue.
constexpr nanoseconds kExpirySpacing = std::chrono::milliseconds(5);

constexpr nanoseconds kFirstRetry = std::chrono::milliseconds(20);
constexpr nanoseconds kLongestRetry = std::chrono::seconds(5);

// In relaxed mode, the committer rests for kRest * t after work of t, so that it uses at most
// 1 / (kRest + 1) of a core, whatever the load.
constexpr int kRest = 1;

}  // namespace

Committer::Committer(std::unique_ptr<StateFile> file, BucketTable& table, Scheduler& file_io,
                     const EmbeddedOptions& options)
    : file_io_(file_io),
      timers_(options.timers == nullptr ? file_io : *options.timers),
      options_(options),
      name_(file->name()),
      events_(options.log == nullptr ? NoLog() : *options.log, name_),
      expiry_(timers_),
      next_run_(file_io),
      backoff_(kFirstRetry, kLongestRetry),
      rng_(static_cast<std::uint64_t>(file_io.clock().Now().nanos)),
      writer_(std::make_unique<CommitWriter>(std::move(file), table,
                                             CommitWriter::Options{.fold_bytes = options.fold_bytes,
                                                                   .clock = file_io.clock(),
                                                                   .commit_time = commit_time_})) {
  const MutexLock lock(io_mutex_);
  const MutexLock state_lock(mutex_);
  pending_maintenance_ = writer_->pending_maintenance();
}

void Committer::Start() {
  const MutexLock lock(mutex_);
  ScheduleNext(file_io_.clock().Now());
}

Status Committer::CheckReady() const {
  return mode_ == Mode::kOpen ? Status() : UnavailableError();
}

Status Committer::CheckOpen() const {
  return mode_ != Mode::kClosed ? Status() : UnavailableError();
}

Status Committer::UnavailableError() const {
  const MutexLock lock(mutex_);
  // The mode may be kOpen again since the caller read it. kUnavailable is right then, too: a retry
  // helps.
  if (mode_ == Mode::kClosed) return Fail(Code::kUnavailable, name_ + ": closed");
  return Fail(Code::kUnavailable,
              fmt::format("{} (a commit failed and is being tried again)", cause_.message));
}

Status Committer::CheckQueue() const {
  if (waiting_ < options_.max_waiting) return {};
  return Fail(
      Code::kUnavailable,
      fmt::format("{}: too many calls wait for the disk (max_waiting is {}); try again later",
                  name_, options_.max_waiting));
}

void Committer::NoteChange() {
  // A run clears changed_ before it drains the table. A thread that still reads changed_ as set has
  // changed its bucket before that drain reaches the bucket: the locks of the table order the
  // change and the drain.
  if (changed_ || changed_.exchange(true)) return;
  const MutexLock lock(mutex_);
  if (!changed_) return;  // a run has taken the change meanwhile
  MarkFirstChange();
  // During a run, Finish schedules the next one. While commits fail, the next retry commits the
  // change.
  if (!running_ && mode_ == Mode::kOpen) ScheduleNext(*first_change_);
}

void Committer::WhenCommitted(CommitQueue::Waiter waiter) {
  {
    const MutexLock lock(mutex_);
    if (mode_ != Mode::kClosed) {
      ExpireAt(waiter.deadline);
      queue_.Add(std::move(waiter));
      waiting_ = queue_.size();
      // A waiter needs a commit even if the table has not changed.
      MarkFirstChange();
      if (!running_ && mode_ == Mode::kOpen) ScheduleNext(*first_change_);
      return;
    }
  }
  waiter.done(UnavailableError());
}

void Committer::Submit(CommitQueue::Request request) {
  if (Status queue = CheckQueue(); !queue) return request.done(std::move(queue));
  {
    const MutexLock lock(mutex_);
    if (mode_ != Mode::kClosed) {
      ExpireAt(request.deadline);
      queue_.Add(std::move(request));
      waiting_ = queue_.size();
      if (!running_ && mode_ == Mode::kOpen) ScheduleNext(file_io_.clock().Now());
      return;
    }
  }
  request.done(UnavailableError());
}

void Committer::ExpireAt(Deadline deadline) {
  if (deadline.is_never()) return;
  expiry_.FireAt(deadline.at(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Expire();
  });
}

void Committer::Expire() {
  std::vector<CommitQueue::Expired> expired;
  {
    const MutexLock lock(mutex_);
    expiry_.MarkFired();
    const Instant now = Now();
    expired = queue_.TakeExpired(now);
    waiting_ = queue_.size();
    const Deadline next = queue_.NextDeadline();
    // The queue is searched again after kExpirySpacing at the earliest.
    if (!next.is_never()) ExpireAt(std::max(next, Deadline::At(now + kExpirySpacing)));
  }
  // Callbacks run, and dropped jobs are destroyed, outside the lock.
  for (CommitQueue::Expired& call : expired) call.done(Fail(TooLate(call.state)));
}

Error Committer::TooLate(CommitQueue::State state) const {
  const bool not_begun = state == CommitQueue::State::kNotBegun;
  return {Code::kDeadlineExceeded,
          fmt::format("{}: {}", name_,
                      not_begun ? "the call waited too long; nothing was done"
                                : "the disk was too slow; the call may take effect")};
}

void Committer::MarkFirstChange() {
  if (!first_change_) first_change_ = file_io_.clock().Now();
}

// New calls are due at once. Otherwise changes are due after half the commit interval, but not
// before rest_until_. Without changes, folding is due: an unfinished fold at rest_until_, a new
// fold after kIdle.
void Committer::ScheduleNext(Instant now) {
  if (queue_.has_new()) return RunAt(now);
  if (changed_) {
    MarkFirstChange();
    return RunAt(std::max(*first_change_ + options_.commit_interval / 2, rest_until_));
  }
  if (pending_maintenance_ == PendingMaintenance::kFold) return RunAt(rest_until_);
  if (pending_maintenance_ == PendingMaintenance::kLog) return RunAt(now + kIdle);
}

void Committer::RunAt(Instant when) {
  next_run_.FireAt(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Run();
  });
}

EmbeddedStats Committer::stats() const {
  const MutexLock lock(mutex_);
  EmbeddedStats stats = stats_;
  stats.waiting = waiting_;
  return stats;
}

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
  next_run_.MarkFired();
  if (mode_ == Mode::kClosed || running_) return std::nullopt;
  running_ = true;
  return BeginWork();
}

Committer::Work Committer::BeginWork() {
  Work work{.run = {.first_change = std::exchange(first_change_, std::nullopt)},
            .begun = file_io_.clock().Now()};
  const bool had_changes = changed_.exchange(false);
  work.run.is_idle = !had_changes && !queue_.has_new() && mode_ == Mode::kOpen &&
                     pending_maintenance_ == PendingMaintenance::kLog;
  queue_.BeginCommit();
  return work;
}

// `after_late_commit` of expired waiters runs under io_mutex_, which Close waits for: it accesses
// the table, which is only required to live until Close has returned.
std::pair<Status, std::vector<CommitQueue::Waiter>> Committer::Commit(const Work& work) {
  const MutexLock lock(io_mutex_);
  const Status status = WriteChanges(work);
  std::vector<CommitQueue::Waiter> waiters;
  {
    const MutexLock state_lock(mutex_);
    waiters = queue_.TakeCommitted();
    waiting_ = queue_.size();
  }
  bool has_changed = false;
  for (CommitQueue::Waiter& waiter : waiters) {
    if (!status || waiter.done || !waiter.after_late_commit) continue;
    waiter.after_late_commit();
    has_changed = true;
  }
  if (has_changed) NoteChange();
  return {status, std::move(waiters)};
}

Status Committer::WriteChanges(const Work& work) {
  if (writer_ == nullptr) return UnavailableError();
  return writer_->Commit(work.run).map(
      [this](const CommitWriter::Committed& committed) { CountCommit(committed); });
}

void Committer::CountCommit(const CommitWriter::Committed& committed) {
  const MutexLock lock(mutex_);
  stats_.usage = committed.usage;
  if (committed.written.buckets == 0) return;
  ++stats_.commits;
  stats_.buckets_written += committed.written.buckets;
  stats_.bytes_written += committed.written.bytes;
  stats_.longest_gap = std::max(stats_.longest_gap, committed.gap.value_or(nanoseconds(0)));
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
    Status status = committed ? RunJob(job) : committed;
    if (Done<void> done = finish()) done(std::move(status));
  }
}

Status Committer::RunJob(CommitQueue::Job& job) {
  const MutexLock lock(io_mutex_);
  if (writer_ == nullptr) return UnavailableError();
  Status done = writer_->RunJob(job);
  NoteChange();
  return done;
}

Status Committer::Maintain(const Work& work) {
  const MutexLock lock(io_mutex_);
  if (writer_ == nullptr) return {};
  Status status = writer_->Maintain(work.run);
  const MutexLock state_lock(mutex_);
  pending_maintenance_ = writer_->pending_maintenance();
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

Committer::Completions Committer::StopRequests() {
  std::vector<CommitQueue::Request> stopped;
  {
    const MutexLock lock(mutex_);
    mode_ = Mode::kClosed;
    next_run_.Cancel();
    stopped = queue_.TakeNewRequests();
    waiting_ = queue_.size();
  }
  Completions completions;
  for (CommitQueue::Request& request : stopped) {
    completions.emplace_back(std::move(request.done), UnavailableError());
  }
  return completions;
}

Committer::Closed Committer::Close() {
  CommitWriter::Run run;
  {
    const MutexLock lock(mutex_);
    run.first_change = std::exchange(first_change_, std::nullopt);
    changed_ = false;
  }
  const MutexLock lock(io_mutex_);  // waits for the commit in flight
  RunLateWaiters();
  // Waiters stay in the queue until the file is closed, so that their deadlines fire while the disk
  // hangs. The tokens of waiters that expire now stay taken: no commit follows that could return
  // them.
  const CommitWriter::Closed closed = writer_->Close(run);
  writer_.reset();
  std::vector<CommitQueue::Waiter> waiters;
  {
    const MutexLock state_lock(mutex_);
    expiry_.Cancel();
    waiters = queue_.TakeWaiters();
    waiting_ = queue_.size();
  }
  Closed result{.status = closed.status, .waiters = {}};
  for (CommitQueue::Waiter& waiter : waiters) {
    if (waiter.done) result.waiters.emplace_back(std::move(waiter.done), closed.stored);
  }
  return result;
}

void Committer::RunLateWaiters() {
  std::vector<CommitQueue::Waiter> late;
  {
    const MutexLock lock(mutex_);
    late = queue_.TakeLateWaiters();
  }
  for (CommitQueue::Waiter& waiter : late) {
    if (waiter.after_late_commit) waiter.after_late_commit();
  }
}

}  // namespace weir
