#include "weir/events/sqs_poll.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir {
namespace {

constexpr std::chrono::seconds kWaitWhileFailing{1};
// While max_failing messages fail, one of this many rounds receives a message.
constexpr std::uint32_t kRoundsPerProbe = 10;

bool IsPermanent(Code code) { return code == Code::kPermissionDenied || code == Code::kNotFound; }

/// Returns whether the error is caused by the message itself. All other errors are caused by the
/// store, which is unavailable or refuses this process, and a retry may succeed.
bool IsOfTheMessage(Code code) { return code == Code::kInvalidArgument || code == Code::kDataLoss; }

std::vector<std::string> TakeBatch(std::deque<std::string>& from) {
  const auto end = from.begin() + std::min<std::ptrdiff_t>(std::ssize(from), kMaxSqsMessages);
  std::vector<std::string> batch(std::move_iterator(from.begin()), std::move_iterator(end));
  from.erase(from.begin(), end);
  return batch;
}

std::vector<SqsHiding> TakeBatch(std::map<SqsPoll::Key, SqsHiding>& from) {
  std::vector<SqsHiding> batch;
  while (!from.empty() && batch.size() < kMaxSqsMessages) {
    batch.push_back(std::move(from.extract(from.begin()).mapped()));
  }
  return batch;
}

}  // namespace

SqsPoll::SqsPoll(const SqsPollOptions& options, std::uint64_t seed)
    : options_(options), rng_(seed), backoff_(options.first_backoff, options.longest_backoff) {}

SqsPoll::Step SqsPoll::OnWake(Instant now) {
  if (in_round_ || stopping_ || ended_) return {};
  if (now < due_) return {.wake = due_};
  in_round_ = true;
  began_ = now;
  has_failed_ = has_succeeded_ = false;
  was_empty_ = true;  // until OnReceived
  ReceiveIfRoom();
  RetryFailing();
  HideAgain(now);
  return FinishStep(now);
}

// While max_failing messages fail, every tenth round still receives one message, as a probe: if its
// handling succeeds, the store is available, and AbandonFailing may give up the failing messages.
void SqsPoll::ReceiveIfRoom() {
  const bool is_full = failing_ >= options_.max_failing;
  full_rounds_ = is_full ? full_rounds_ + 1 : 0;
  if (held_.size() + to_delete_.size() >= options_.max_held) return;
  if (is_full && full_rounds_ % kRoundsPerProbe != 0) return;
  receiving_ = true;
  step_.receive = options_.receive;
  if (is_full) step_.receive->max_messages = 1;
  // Failing messages are handled again in the next round, so the call must not wait for long.
  if (failing_ > 0) step_.receive->wait = std::min(step_.receive->wait, kWaitWhileFailing);
}

// Under load, the requests for an event may take longer than the time for which its message is
// hidden.
void SqsPoll::HideAgain(Instant now) {
  // Queues at most one call's messages at once, so that new hidings do not wait behind all of them.
  while (!hidden_until_.empty() && to_hide_.size() < kMaxSqsMessages) {
    const auto [until, key] = *hidden_until_.begin();
    if (until - *options_.receive.visibility > now) return;
    QueueHiding(key, held_.at(key), now);
  }
}

void SqsPoll::QueueHiding(Key key, Held& held, Instant now) {
  const bool is_pending = held.state == State::kPending;
  const auto time = is_pending ? options_.hidden : *options_.receive.visibility;
  to_hide_.insert_or_assign(key, SqsHiding{held.message.receipt, time});
  if (!is_pending) return;
  hidden_until_.erase({held.hidden_until, key});
  held.hidden_until = now + time;
  hidden_until_.emplace(held.hidden_until, key);
}

void SqsPoll::RetryFailing() {
  if (failing_ == 0) return;
  for (auto& [key, held] : held_) {
    if (held.state != State::kFailing) continue;
    --failing_;
    HandOverMessage(key, held);
  }
}

void SqsPoll::HandOverMessage(Key key, Held& held) {
  held.state = State::kHandling;
  ++handling_;
  step_.messages.push_back({key, held.message.body, held.message.sent});
}

SqsPoll::Step SqsPoll::OnReceived(Result<std::vector<SqsMessage>> received, Instant now) {
  receiving_ = false;
  if (!received) {
    ++stats_.receive_errors;
    if (IsPermanent(received.error().code) && !stopping_) {
      ended_ = true;
      step_.ended = std::move(received.error());
    } else {
      ReportFault({}, std::move(received.error()));
    }
    return FinishStep(now);
  }
  ++stats_.receives;
  stats_.received += received->size();
  was_empty_ = received->empty();
  for (SqsMessage& message : *received) {
    const Key key = ++last_key_;
    HandOverMessage(key, held_.emplace(key, Held{.message = std::move(message)}).first->second);
  }
  return FinishStep(now);
}

SqsPoll::Step SqsPoll::OnHandled(Key key, const Result<bool>& settled, Instant now) {
  const auto at = held_.find(key);
  Held& held = at->second;
  --handling_;
  if (settled) {
    has_succeeded_ = true;
    if (!*settled || !options_.keeps_until_over) {
      QueueDeletion(key);
    } else {
      held.state = State::kPending;
      std::string().swap(held.message.body);  // frees the memory; an assignment would keep it
      QueueHiding(key, held, now);
    }
  } else {
    OnFailed(key, held, settled.error(), now);
  }
  return FinishStep(now);
}

void SqsPoll::OnFailed(Key key, Held& held, const Error& error, Instant now) {
  if (IsOfTheMessage(error.code)) {
    ++(error.code == Code::kInvalidArgument ? stats_.bad : stats_.failed);
    step_.notices.push_back({RemoveHeld(key).id, error, /*is_abandoned=*/true});
    return;
  }
  ++stats_.failed;
  ++held.failures;
  ReportFault(held.message.id, error);
  held.state = State::kFailing;
  ++failing_;
  QueueHiding(key, held, now);
}

// The handling of another message succeeded, so the store is available and these messages have a
// defect.
void SqsPoll::AbandonFailing() {
  if (failing_ == 0 || !has_succeeded_) return;
  for (auto at = held_.begin(); at != held_.end();) {
    const auto& [key, held] = *at++;
    if (held.state != State::kFailing || held.failures < options_.max_failures) continue;
    --failing_;
    step_.notices.push_back(
        {RemoveHeld(key).id,
         {Code::kAborted, "its handling failed repeatedly, and that of other messages succeeded"},
         /*is_abandoned=*/true});
  }
}

// A message that is not held any more was given back, or deleted when it was handled.
SqsPoll::Step SqsPoll::OnEventOver(Key key, const Status& status, Instant now) {
  const auto at = held_.find(key);
  if (at == held_.end()) return FinishStep(now);
  if (status) {
    QueueDeletion(key);
  } else {
    step_.notices.push_back({RemoveHeld(key).id, status.error()});
  }
  return FinishStep(now);
}

void SqsPoll::QueueDeletion(Key key) { to_delete_.push_back(RemoveHeld(key).receipt); }

SqsMessage SqsPoll::RemoveHeld(Key key) {
  Held held = std::move(held_.extract(key).mapped());
  hidden_until_.erase({held.hidden_until, key});
  to_hide_.erase(key);
  return std::move(held.message);
}

SqsPoll::Step SqsPoll::OnDeleted(const Result<SqsBatchOutcome>& deleted, Instant now) {
  const std::size_t requested = std::exchange(deleting_, 0);
  const std::size_t deleted_count = deleted ? std::min(deleted->done, requested) : 0;
  stats_.deleted += deleted_count;
  stats_.not_deleted += requested - deleted_count;
  if (!deleted) {
    ++stats_.delete_errors;
    ReportFault({}, deleted.error());
    if (stopping_) to_delete_.clear();
  } else if (deleted_count < requested) {
    ReportFault({}, {Code::kUnavailable, "a message was not deleted: " + deleted->first_fault});
  }
  return FinishStep(now);
}

// A message that could not be hidden is received again, which does no harm. If the queue is
// unavailable during the stop, the remaining messages are received again after their visibility
// timeouts.
SqsPoll::Step SqsPoll::OnHidden(const Result<SqsBatchOutcome>& hidden, Instant now) {
  hiding_ = false;
  if (!hidden) {
    ++stats_.hide_errors;
    ReportFault({}, hidden.error());
    if (stopping_) to_hide_.clear();
  } else if (hidden->failed > 0) {
    ReportFault({}, {Code::kUnavailable, "a message was not hidden: " + hidden->first_fault});
  }
  if (!stopping_) HideAgain(now);
  return FinishStep(now);
}

void SqsPoll::ReportFault(std::string message_id, Error error) {
  has_failed_ = true;
  step_.notices.push_back({std::move(message_id), std::move(error)});
}

SqsPoll::Step SqsPoll::Stop(Instant now) {
  stopping_ = true;
  return FinishStep(now);
}

bool SqsPoll::IsIdle() const {
  return !receiving_ && handling_ == 0 && deleting_ == 0 && !hiding_ && to_delete_.empty() &&
         to_hide_.empty();
}

// The receipts of a round are sent together, when its last message was handled, or when a batch is
// full.
bool SqsPoll::IsDue(std::size_t receipts) const {
  return receipts >= kMaxSqsMessages || (receipts > 0 && handling_ == 0);
}

void SqsPoll::GiveBack() {
  to_hide_.clear();
  hidden_until_.clear();
  for (auto& [key, held] : std::exchange(held_, {})) {
    to_hide_.emplace(key, SqsHiding{std::move(held.message.receipt), std::chrono::seconds(0)});
  }
  failing_ = 0;
}

// At most one deletion and one hiding are in flight, and the end of a round does not wait for them.
// EndRound is called before the hidings are taken, because it drops the hidings of messages that it
// leaves in the queue.
SqsPoll::Step SqsPoll::FinishStep(Instant now) {
  if (stopping_ && !receiving_ && handling_ == 0 && !held_.empty()) GiveBack();
  if (!stopping_ && !receiving_ && handling_ == 0) EndRound(now);
  if (deleting_ == 0 && IsDue(to_delete_.size())) {
    step_.receipts = TakeBatch(to_delete_);
    deleting_ = step_.receipts.size();
  }
  if (!hiding_ && IsDue(to_hide_.size())) {
    step_.hidings = TakeBatch(to_hide_);
    hiding_ = true;
  }
  if (stopping_ && IsIdle()) step_.stopped = !std::exchange(stopped_, true);
  return std::exchange(step_, {});
}

// A round with any failure is followed by a pause. A success in the same round keeps the pauses
// from growing.
void SqsPoll::EndRound(Instant now) {
  if (!std::exchange(in_round_, false) || ended_) return;
  AbandonFailing();
  due_ = was_empty_ ? std::max(now, began_ + options_.least_gap) : now;
  if (has_succeeded_ || !has_failed_) backoff_.Reset();
  if (has_failed_) due_ = now + backoff_.Next(rng_);
  step_.wake = due_;
}

SqsStats SqsPoll::stats() const {
  SqsStats stats = stats_;
  stats.held = held_.size();
  return stats;
}

}  // namespace weir
