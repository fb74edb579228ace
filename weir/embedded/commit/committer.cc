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

}  // namespace

Committer::Committer(std::unique_ptr<StateFile> file, BucketTable& table, Scheduler& file_io,
                     const EmbeddedOptions& options)
    : file_io_(file_io),
      timers_(options.timers == nullptr ? file_io : *options.timers),
      table_(table),
      options_(options),
      name_(file->name()),
      events_(options.log == nullptr ? NoLog() : *options.log, name_),
      left_(file->log().bytes() > 0 ? Left::kLog : Left::kNothing),
      backoff_(kFirstRetry, kLongestRetry),
      rng_(static_cast<std::uint64_t>(file_io.clock().Now().nanos)),
      file_(std::move(file)) {}

void Committer::Start() {
  const MutexLock lock(mutex_);
  ScheduleNext(file_io_.clock().Now());
}

Status Committer::CheckReady() const { return mode_ == Mode::kOpen ? Status() : Unavailable(); }

Status Committer::CheckOpen() const { return mode_ != Mode::kClosed ? Status() : Unavailable(); }

Status Committer::Unavailable() const {
  const MutexLock lock(mutex_);
  // The mode may have changed back to kOpen since the caller read it. The advice to retry is right
  // then, too.
  if (mode_ == Mode::kClosed) return Fail(Code::kUnavailable, name_ + ": closed");
  return Fail(Code::kUnavailable,
              fmt::format("{} (a commit failed and is being tried again)", cause_.message));
}

Status Committer::CheckQueue() const {
  if (waiting_ < options_.max_waiting) return {};
  return Fail(Code::kUnavailable,
              fmt::format("{}: {} calls wait for the disk, and no more may; try again later", name_,
                          options_.max_waiting));
}

void Committer::NoteChange() {
  // A run clears the flag before it drains the table. A thread that still reads it as set has
  // changed its bucket before that drain reaches the bucket: the locks of the table order the two.
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
  waiter.done(Unavailable());
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
  request.done(Unavailable());
}

void Committer::ExpireAt(Deadline deadline) {
  if (deadline.is_never() || (expiry_ && expiry_at_ <= deadline.at())) return;
  if (expiry_) timers_.Cancel(*expiry_);
  expiry_at_ = deadline.at();
  expiry_ = timers_.At(expiry_at_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Expire();
  });
}

void Committer::Expire() {
  std::vector<CommitQueue::Expired> expired;
  {
    const MutexLock lock(mutex_);
    expiry_.reset();
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
                      not_begun ? "the call had to wait too long; nothing is done"
                                : "the disk did not answer in time; the call may count")};
}

void Committer::MarkFirstChange() {
  if (!first_change_) first_change_ = file_io_.clock().Now();
}

// New calls are due at once; changes after half the commit interval and the rest; then folding.
void Committer::ScheduleNext(Instant now) {
  if (queue_.has_new()) return RunAt(now);
  if (changed_) {
    MarkFirstChange();
    return RunAt(std::max(*first_change_ + options_.commit_interval / 2, rest_until_));
  }
  if (left_ == Left::kFold) return RunAt(rest_until_);
  if (left_ == Left::kLog) return RunAt(now + kIdle);
}

void Committer::RunAt(Instant when) {
  if (timer_ && timer_at_ <= when) return;
  if (timer_) file_io_.Cancel(*timer_);
  timer_at_ = when;
  timer_ = file_io_.At(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Run();
  });
}

EmbeddedStats Committer::stats() const {
  const MutexLock lock(mutex_);
  EmbeddedStats stats = stats_;
  stats.waiting = waiting_;
  return stats;
}

}  // namespace weir
