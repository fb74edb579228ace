#include "weir/limiter/waiting.h"

#include <utility>
#include <vector>

namespace weir {

std::uint64_t Waiting::Stamp(std::span<const Charge> charges) const {
  std::uint64_t sum = changes_.load();
  for (const Charge& charge : charges) sum += stamps_[charge.target->hash % kStamps].load();
  return sum;
}

std::optional<Waiting::Ahead> Waiting::FindAhead(std::span<const Charge> charges) const {
  const MutexLock lock(mutex_);
  std::optional<Ahead> ahead;
  for (const Charge& charge : charges) {
    if (!queue_.HasEarlier(*charge.target, UINT64_MAX)) continue;
    const auto retry_at = queue_.HeadRetry(*charge.target);
    if (!ahead || retry_at > ahead->retry_at) ahead = Ahead{retry_at};
  }
  return ahead;
}

Waiting::Verdict Waiting::Join(CallPtr& call) {
  {
    const MutexLock lock(mutex_);
    if (closed()) return Verdict::kClosed;
    const Patience& patience = *call->patience;
    const TargetPtr* bucket = nullptr;
    for (const Charge& charge : call->charges) {
      if (!queue_.HasEarlier(*charge.target, patience.id)) continue;
      if (queue_.HeadRetry(*charge.target) > patience.until) return Verdict::kTooLate;
      if (bucket == nullptr) bucket = &charge.target;
    }
    if (bucket == nullptr) return Verdict::kTry;
    if (!Place(call, *bucket, std::nullopt)) return Verdict::kFull;
  }
  Kick();
  return Verdict::kQueued;
}

Waiting::Verdict Waiting::Stay(CallPtr& call, const TargetPtr& bucket, Instant retry_at) {
  {
    const MutexLock lock(mutex_);
    if (closed()) return Verdict::kClosed;
    const Patience& patience = *call->patience;
    const std::vector<Charge>& charges = call->charges;
    if (!Place(call, bucket, retry_at)) return Verdict::kFull;
    // After the place is counted: whoever gives back changes the stamp and then looks at the count.
    if (Stamp(charges) != patience.stamp) queue_.Wake(*bucket);
  }
  Kick();
  return Verdict::kQueued;
}

bool Waiting::Place(CallPtr& call, const TargetPtr& bucket, std::optional<Instant> retry_at) {
  Patience& patience = *call->patience;
  std::vector<TargetPtr> targets = TargetsOf(call->charges);
  if (patience.queued) {
    queue_.Refused(patience.id, std::move(targets), bucket, *retry_at);
  } else {
    if (queue_.size() >= max_) return false;
    queue_.Enter({patience.id, patience.until, std::move(targets)}, bucket, retry_at);
    patience.queued = true;
  }
  const WaitQueue::Id id = patience.id;
  calls_.emplace(id, std::move(call));
  Count();
  return true;
}

void Waiting::Leave(Call& call) {
  if (call.patience == nullptr || !std::exchange(call.patience->queued, false)) return;
  {
    const MutexLock lock(mutex_);
    if (closed()) return;
    queue_.Leave(call.patience->id);
    Count();
  }
  Kick();
}

void Waiting::GaveBack(std::span<const Charge> charges) {
  for (const Charge& charge : charges) ++stamps_[charge.target->hash % kStamps];
  if (size_.load() == 0) return;
  {
    const MutexLock lock(mutex_);
    for (const Charge& charge : charges) queue_.Wake(*charge.target);
  }
  Kick();
}

void Waiting::WakeAll() {
  ++changes_;
  if (size_.load() == 0) return;
  {
    const MutexLock lock(mutex_);
    queue_.WakeAll();
  }
  Kick();
}

void Waiting::Close() {
  std::map<WaitQueue::Id, CallPtr> calls;
  std::optional<Timer> timer;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    calls.swap(calls_);
    timer.swap(timer_);
    queue_.Clear();
    Count();
  }
  if (timer) scheduler_.Cancel(timer->id);
  const auto host = host_.lock();
  for (auto& [id, call] : calls) {
    call->patience->queued = false;
    host->Abandon(std::move(call));
  }
}

// Has Pump run soon, if there is anything for it to do.
void Waiting::Kick() {
  {
    const MutexLock lock(mutex_);
    const auto next = queue_.NextWake();
    const bool sooner = next && (!timer_ || *next < timer_->at);
    if (closed() || posted_ || !(queue_.due() || sooner)) return;
    posted_ = true;
  }
  scheduler_.Post([this, host = host_] {
    if (const auto alive = host.lock()) Pump();
  });
}

void Waiting::Pump() {
  const auto host = host_.lock();
  for (;;) {
    const Instant now = scheduler_.clock().Now();
    std::vector<CallPtr> expired;
    std::vector<CallPtr> tries;
    {
      const MutexLock lock(mutex_);
      const WaitQueue::Step step = queue_.Advance(now);
      for (const WaitQueue::Id id : step.expired) {
        expired.push_back(Take(id));
        expired.back()->patience->queued = false;
      }
      for (const WaitQueue::Id id : step.tries) tries.push_back(Take(id));
      Count();
      posted_ = !expired.empty() || !tries.empty();
      if (!posted_) break;
    }
    for (CallPtr& call : expired) host->Expire(std::move(call));
    for (CallPtr& call : tries) host->TakeTurn(std::move(call));
  }
  Arm();
}

// One timer for all: at the first instant at which there may be something to do.
void Waiting::Arm() {
  std::optional<Instant> next;
  std::optional<Timer> old;
  {
    const MutexLock lock(mutex_);
    next = queue_.NextWake();
    if (closed() || (timer_ && next == timer_->at)) return;
    old = std::exchange(timer_, std::nullopt);
  }
  if (old) scheduler_.Cancel(old->id);
  if (!next) return;
  const TimerId id = scheduler_.At(*next, [this, host = host_] {
    if (const auto alive = host.lock()) Ring();
  });
  {
    const MutexLock lock(mutex_);
    if (!closed()) timer_ = Timer{*next, id};
    if (!closed()) return;
  }
  scheduler_.Cancel(id);
}

void Waiting::Ring() {
  {
    const MutexLock lock(mutex_);
    timer_.reset();
    posted_ = true;
  }
  Pump();
}

CallPtr Waiting::Take(WaitQueue::Id id) {
  const auto found = calls_.find(id);
  CallPtr call = std::move(found->second);
  calls_.erase(found);
  return call;
}

}  // namespace weir
