#include "weir/embedded/committer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// Relaxed: after work of t the committer rests for kRest * t, so that it takes at most one part in
// kRest + 1 of a core, whatever the load.
constexpr int kRest = 1;

// After this long without a change what stands in the log is folded.
constexpr nanoseconds kIdle = std::chrono::seconds(1);

constexpr nanoseconds kFirstRetry = std::chrono::milliseconds(20);
constexpr nanoseconds kLongestRetry = std::chrono::seconds(5);

}  // namespace

Committer::Committer(std::unique_ptr<StateFile> file, BucketTable& table, Scheduler& scheduler,
                     const EmbeddedOptions& options)
    : scheduler_(scheduler),
      table_(table),
      options_(options),
      name_(file->name()),
      left_(file->log().bytes() > 0 ? Left::kLog : Left::kNothing),
      backoff_(kFirstRetry, kLongestRetry),
      rng_(static_cast<std::uint64_t>(scheduler.clock().Now().nanos)),
      file_(std::move(file)) {}

void Committer::Start() {
  const MutexLock lock(mutex_);
  ScheduleNext(scheduler_.clock().Now());
}

Status Committer::CheckReady() const { return mode_ == Mode::kOpen ? Status() : Unavailable(); }

Status Committer::CheckOpen() const { return mode_ != Mode::kClosed ? Status() : Unavailable(); }

Status Committer::Unavailable() const {
  const MutexLock lock(mutex_);
  // It may have recovered since the caller looked: then saying "try again" is right as well.
  if (mode_ == Mode::kClosed) return Fail(Code::kUnavailable, name_ + ": closed");
  return Fail(Code::kUnavailable,
              fmt::format("{} (a commit failed and is being tried again)", cause_.message));
}

void Committer::NoteChange() {
  // A run clears the flag before it drains the table. Whoever still sees it set changed the table
  // before that drain came to its bucket: the locks of the table order the two.
  if (changed_ || changed_.exchange(true)) return;
  const MutexLock lock(mutex_);
  if (!changed_) return;  // a run took it in between
  MarkFirstChange();
  if (!running_ && mode_ == Mode::kOpen) ScheduleNext(*first_change_);
}

void Committer::WhenCommitted(Done<void> done) {
  {
    const MutexLock lock(mutex_);
    if (mode_ != Mode::kClosed) {
      waiters_.push_back(std::move(done));
      MarkFirstChange();
      if (!running_ && mode_ == Mode::kOpen) ScheduleNext(*first_change_);
      return;
    }
  }
  done(Unavailable());
}

void Committer::Submit(Job job, Done<void> done) {
  {
    const MutexLock lock(mutex_);
    if (mode_ != Mode::kClosed) {
      requests_.push_back({std::move(job), std::move(done)});
      if (!running_ && mode_ == Mode::kOpen) ScheduleNext(scheduler_.clock().Now());
      return;
    }
  }
  done(Unavailable());
}

void Committer::MarkFirstChange() {
  if (!first_change_) first_change_ = scheduler_.clock().Now();
}

// What waits decides when the next run is due.
void Committer::ScheduleNext(Instant now) {
  if (!waiters_.empty() || !requests_.empty()) return RunAt(now);
  if (changed_) {
    MarkFirstChange();
    return RunAt(std::max(*first_change_ + options_.commit_interval / 2, rest_until_));
  }
  if (left_ == Left::kFold) return RunAt(rest_until_);
  if (left_ == Left::kLog) return RunAt(now + kIdle);
}

void Committer::RunAt(Instant when) {
  if (timer_ && timer_at_ <= when) return;
  if (timer_) scheduler_.Cancel(*timer_);
  timer_at_ = when;
  timer_ = scheduler_.At(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Run();
  });
}

void Committer::Run() {
  std::optional<Work> work = TakeWork();
  if (!work) return;
  Status status = Commit(*work);
  for (Done<void>& waiter : work->waiters) waiter(status);
  for (Request& request : work->requests) request.done(status ? Do(request) : status);
  if (status) status = Maintain(*work);
  Finish(*work, status);
}

std::optional<Committer::Work> Committer::TakeWork() {
  const MutexLock lock(mutex_);
  timer_.reset();
  if (mode_ == Mode::kClosed || running_) return std::nullopt;
  running_ = true;
  return TakeAll();
}

Committer::Work Committer::TakeAll() {
  Work work{.waiters = std::move(waiters_),
            .requests = std::move(requests_),
            .first_change = std::exchange(first_change_, std::nullopt),
            .begun = scheduler_.clock().Now()};
  waiters_.clear();
  requests_.clear();
  const bool changed = changed_.exchange(false);
  work.idle = !changed && work.waiters.empty() && work.requests.empty() && mode_ == Mode::kOpen &&
              left_ == Left::kLog;
  return work;
}

Status Committer::Commit(const Work& work) {
  const MutexLock lock(io_mutex_);
  return file_ == nullptr ? Unavailable() : CommitLocked(work);
}

Status Committer::CommitLocked(const Work& work) {
  if (!pending_since_) pending_since_ = work.first_change;
  if (work.idle) table_.SweepIdle(table_.Now());
  ChangeLog& log = file_->log();
  table_.DrainChanges([&](const BucketKey& key, const BucketState* state, std::uint32_t& mark) {
    log.Add(key, state, mark);
  });
  auto written = log.Append();
  if (!written) return Fail(Code::kUnavailable, std::move(written.error().message));
  if (written->buckets > 0) CountCommit(*written);
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
  const nanoseconds gap = scheduler_.clock().Now() - *pending_since_;
  stats_.longest_gap = std::max(stats_.longest_gap, gap);
}

Status Committer::Do(Request& request) {
  const MutexLock lock(io_mutex_);
  if (file_ == nullptr) return Unavailable();
  Status done = request.job(*file_);
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
  const Instant now = scheduler_.clock().Now();
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

Status Committer::Close() {
  Work work;
  {
    const MutexLock lock(mutex_);
    if (mode_ == Mode::kClosed) return {};
    mode_ = Mode::kClosed;
    if (timer_) scheduler_.Cancel(*timer_);
    timer_.reset();
    work = TakeAll();
  }
  const auto [committed, closed] = CommitAndClose(work);
  for (Done<void>& waiter : work.waiters) waiter(committed);
  for (Request& request : work.requests) request.done(Unavailable());
  return committed ? closed : committed;
}

std::pair<Status, Status> Committer::CommitAndClose(const Work& work) {
  const MutexLock lock(io_mutex_);  // waits for the commit that runs
  Status committed = CommitLocked(work);
  Status closed = file_->Close(table_);
  file_.reset();
  return {std::move(committed), std::move(closed)};
}

EmbeddedStats Committer::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

}  // namespace weir
