#include "weir/limiter/waiting.h"

#include <utility>
#include <vector>

namespace weir {

Waiting::Waiting(Scheduler& scheduler, std::size_t max)
    : clock_(scheduler.clock()),
      max_(max),
      pump_(scheduler,
            {.next = [this] { return NextTurn(); }, .take_due = [this] { return TakeTurns(); }}) {}

void Waiting::Bind(const std::weak_ptr<Host>& host) {
  host_ = host;
  pump_.Bind(host);
}

// Several buckets share a counter, so a stamp may change although no tokens came back to these.
// That causes one more try.
std::uint64_t Waiting::StampOf(std::span<const Charge> charges) const {
  std::uint64_t sum = changes_.load();
  for (const Charge& charge : charges) sum += stamps_[charge.target->hash % kStamps].load();
  return sum;
}

std::optional<Waiting::Ahead> Waiting::FindAhead(std::span<const Charge> charges) const {
  const MutexLock lock(mutex_);
  std::optional<Ahead> ahead;
  for (const Charge& charge : charges) {
    if (!queue_.HasEarlier(*charge.target, UINT64_MAX)) continue;  // any waiter is earlier
    const auto retry_at = queue_.HeadRetry(*charge.target);
    if (!ahead || retry_at > ahead->retry_at) ahead = Ahead{retry_at};
  }
  return ahead;
}

// A call with several buckets is queued for the first one with an earlier waiter. When it becomes
// ready there, WaitQueue moves it behind the earlier waiters for its other buckets.
Waiting::Verdict Waiting::JoinBehind(CallPtr& call) {
  {
    const MutexLock lock(mutex_);
    if (closed()) return Verdict::kClosed;
    const WaitState& wait = *call->wait;
    if (wait.stop.stop_requested()) return Verdict::kStopped;
    const TargetPtr* bucket = nullptr;
    for (const Charge& charge : call->charges) {
      if (!queue_.HasEarlier(*charge.target, wait.id)) continue;
      if (queue_.HeadRetry(*charge.target) > wait.until) return Verdict::kTooLate;
      if (bucket == nullptr) bucket = &charge.target;
    }
    if (bucket == nullptr) return Verdict::kTry;
    if (!Enqueue(call, *bucket, std::nullopt)) return Verdict::kFull;
  }
  pump_.Kick();
  return Verdict::kQueued;
}

Waiting::Verdict Waiting::QueueRefused(CallPtr& call, const TargetPtr& bucket, Instant retry_at) {
  {
    const MutexLock lock(mutex_);
    if (closed()) return Verdict::kClosed;
    const WaitState& wait = *call->wait;
    if (wait.stop.stop_requested()) return Verdict::kStopped;
    const std::vector<Charge>& charges = call->charges;
    if (!Enqueue(call, bucket, retry_at)) return Verdict::kFull;
    // The stamp is compared after size_ was updated. OnTokensReturned changes the stamp first and
    // then reads size_, so one of the two sees the other.
    if (StampOf(charges) != wait.stamp) queue_.Wake(*bucket);
  }
  pump_.Kick();
  return Verdict::kQueued;
}

// A call's id is its position in the order of arrival. The bound does not apply to calls that were
// queued before.
bool Waiting::Enqueue(CallPtr& call, const TargetPtr& bucket, std::optional<Instant> retry_at) {
  WaitState& wait = *call->wait;
  std::vector<TargetPtr> targets = TargetsOf(call->charges);
  if (wait.queued) {
    queue_.OnRefused(wait.id, std::move(targets), bucket, *retry_at);
  } else {
    if (queue_.size() >= max_) return false;
    queue_.AddWaiter({wait.id, wait.until, std::move(targets)}, bucket, retry_at);
    wait.queued = true;
  }
  const WaitQueue::Id id = wait.id;
  calls_.emplace(id, std::move(call));
  UpdateSize();
  return true;
}

void Waiting::RemoveCall(PendingAcquire& call) {
  if (call.wait == nullptr || !std::exchange(call.wait->queued, false)) return;
  {
    const MutexLock lock(mutex_);
    if (closed()) return;  // Close has cleared the queue
    queue_.RemoveWaiter(call.wait->id);
    UpdateSize();
  }
  pump_.Kick();
}

void StopReport::operator()() const { waiting->RequestStop(id); }

void Waiting::WatchStop(WaitState& wait) {
  if (wait.stop.stop_possible()) wait.on_stop.emplace(wait.stop, StopReport{this, wait.id});
}

void Waiting::RequestStop(WaitQueue::Id id) {
  {
    const MutexLock lock(mutex_);
    if (closed()) return;
    stops_.push_back(id);
  }
  pump_.Kick();
}

void Waiting::OnTokensReturned(std::span<const Charge> charges) {
  for (const Charge& charge : charges) ++stamps_[charge.target->hash % kStamps];
  if (size_.load() == 0) return;
  {
    const MutexLock lock(mutex_);
    for (const Charge& charge : charges) queue_.Wake(*charge.target);
  }
  pump_.Kick();
}

// `changes_` is a part of every stamp, so a try in flight that is refused under old limits is
// repeated at once.
void Waiting::WakeAll() {
  ++changes_;
  if (size_.load() == 0) return;
  {
    const MutexLock lock(mutex_);
    queue_.WakeAll();
  }
  pump_.Kick();
}

// Calls whose try is in flight are not in calls_. They complete when the store responds.
void Waiting::Close() {
  std::map<WaitQueue::Id, CallPtr> calls;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    calls.swap(calls_);
    stops_.clear();
    queue_.Clear();
    UpdateSize();
  }
  pump_.Close();
  const auto host = host_.lock();
  for (auto& [id, call] : calls) {
    call->wait->queued = false;
    host->Abandon(std::move(call));
  }
}

std::optional<Instant> Waiting::NextTurn() const {
  const MutexLock lock(mutex_);
  if (closed()) return std::nullopt;
  return queue_.due() || !stops_.empty() ? std::optional(clock_.Now()) : queue_.NextWake();
}

// The host is called without the lock, because it may call OnTokensReturned, QueueRefused or
// RemoveCall.
bool Waiting::TakeTurns() {
  const auto host = host_.lock();
  const Instant now = clock_.Now();
  std::vector<CallPtr> expired;
  std::vector<CallPtr> tries;
  std::vector<CallPtr> stopped;
  bool acted = false;
  {
    const MutexLock lock(mutex_);
    if (closed()) return false;
    acted = !stops_.empty();
    stopped = TakeStopped();
    const WaitQueue::Step step = queue_.Advance(now);
    for (const WaitQueue::Id id : step.expired) {
      expired.push_back(TakeCall(id));
      expired.back()->wait->queued = false;
    }
    for (const WaitQueue::Id id : step.tries) tries.push_back(TakeCall(id));
    UpdateSize();
  }
  for (CallPtr& call : stopped) host->Stop(std::move(call));
  for (CallPtr& call : expired) host->Expire(std::move(call));
  for (CallPtr& call : tries) host->TakeTurn(std::move(call));
  return acted || !expired.empty() || !tries.empty();
}

std::vector<CallPtr> Waiting::TakeStopped() {
  std::vector<CallPtr> stopped;
  for (const WaitQueue::Id id : std::exchange(stops_, {})) {
    if (!calls_.contains(id)) continue;  // trying, or ended
    stopped.push_back(TakeCall(id));
    stopped.back()->wait->queued = false;
    queue_.RemoveWaiter(id);
  }
  return stopped;
}

CallPtr Waiting::TakeCall(WaitQueue::Id id) {
  const auto found = calls_.find(id);
  CallPtr call = std::move(found->second);
  calls_.erase(found);
  return call;
}

}  // namespace weir
