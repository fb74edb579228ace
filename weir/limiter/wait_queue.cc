#include "weir/limiter/wait_queue.h"

#include <iterator>
#include <utility>

namespace weir {
namespace {

constexpr Instant kForEver{INT64_MAX};

// Returns a non-owning pointer for lookups.
TargetPtr NonOwning(const Target& target) { return TargetPtr(TargetPtr(), &target); }

}  // namespace

const WaitQueue::BucketQueue* WaitQueue::QueueOf(const Target& bucket) const {
  const auto found = queues_.find(NonOwning(bucket));
  return found == queues_.end() ? nullptr : &found->second;
}

bool WaitQueue::HasEarlier(const Target& bucket, Id id) const {
  const BucketQueue* queue = QueueOf(bucket);
  return queue != nullptr && *queue->begin() < id;
}

std::optional<Instant> WaitQueue::HeadRetry(const Target& bucket) const {
  const BucketQueue* queue = QueueOf(bucket);
  return queue == nullptr ? std::nullopt : waiters_.at(*queue->begin()).retry_at;
}

void WaitQueue::AddWaiter(Waiter waiter, const TargetPtr& bucket, std::optional<Instant> retry_at) {
  const Id id = waiter.id;
  if (waiter.until != kForEver) ends_.emplace(waiter.until, id);
  Entry& entry = waiters_[id];
  entry.waiter = std::move(waiter);
  Insert(entry, bucket, retry_at);
}

void WaitQueue::OnRefused(Id id, std::vector<TargetPtr> buckets, const TargetPtr& bucket,
                          Instant retry_at) {
  Entry& entry = waiters_.at(id);
  Remove(entry);
  entry.trying = false;
  entry.waiter.buckets = std::move(buckets);
  if (entry.waiter.until != kForEver) ends_.emplace(entry.waiter.until, id);
  Insert(entry, bucket, retry_at);
}

void WaitQueue::RemoveWaiter(Id id) {
  const auto found = waiters_.find(id);
  Remove(found->second);
  ends_.erase({found->second.waiter.until, id});
  waiters_.erase(found);
}

void WaitQueue::Insert(Entry& entry, const TargetPtr& bucket, std::optional<Instant> retry_at) {
  entry.bucket = bucket;
  BucketQueue& queue = queues_[bucket];
  const auto [at, inserted] = queue.insert(entry.waiter.id);
  if (at != queue.begin()) return;
  // The waiter arrived before the previous head, but was refused later. The previous head tries
  // when it is the head again; if it is trying, OnRefused or RemoveWaiter follows anyway.
  if (const auto second = std::next(at); second != queue.end()) {
    SetRetry(waiters_.at(*second), std::nullopt);
    ready_.erase(*second);
  }
  SetRetry(entry, retry_at);
  if (!retry_at) ready_.insert(entry.waiter.id);
}

void WaitQueue::Remove(Entry& entry) {
  SetRetry(entry, std::nullopt);
  ready_.erase(entry.waiter.id);
  const auto found = queues_.find(entry.bucket);
  BucketQueue& queue = found->second;
  const bool was_head = *queue.begin() == entry.waiter.id;
  queue.erase(entry.waiter.id);
  if (queue.empty()) {
    queues_.erase(found);
  } else if (was_head) {
    WakeHead(queue);
  }
}

void WaitQueue::SetRetry(Entry& entry, std::optional<Instant> retry_at) {
  if (entry.retry_at) retries_.erase({*entry.retry_at, entry.waiter.id});
  entry.retry_at = retry_at;
  if (retry_at) retries_.emplace(*retry_at, entry.waiter.id);
}

void WaitQueue::Wake(const Target& bucket) {
  if (const BucketQueue* queue = QueueOf(bucket)) WakeHead(*queue);
}

void WaitQueue::WakeAll() {
  for (const auto& [bucket, queue] : queues_) WakeHead(queue);
}

void WaitQueue::WakeHead(const BucketQueue& queue) {
  Entry& head = waiters_.at(*queue.begin());
  if (head.trying) return;  // its result decides
  SetRetry(head, std::nullopt);
  ready_.insert(head.waiter.id);
}

// The order matters. Heads whose retry is due become ready before Expire, so that they try once
// more. Expired waiters are removed before moves, so that no waiter moves behind an expired one.
WaitQueue::Step WaitQueue::Advance(Instant now) {
  Step step;
  WakeDueHeads(now);
  Expire(now, step);
  MoveBehindEarlier();
  for (const Id id : std::exchange(ready_, {})) {
    Entry& head = waiters_.at(id);
    head.trying = true;
    ends_.erase({head.waiter.until, id});
    step.tries.push_back(id);
  }
  return step;
}

void WaitQueue::WakeDueHeads(Instant now) {
  while (!retries_.empty() && retries_.begin()->first <= now) {
    Entry& head = waiters_.at(retries_.begin()->second);
    SetRetry(head, std::nullopt);
    ready_.insert(head.waiter.id);
  }
}

void WaitQueue::Expire(Instant now, Step& step) {
  for (auto end = ends_.begin(); end != ends_.end() && end->first <= now;) {
    const Id id = end->second;
    ++end;
    if (ready_.contains(id)) continue;  // a ready head tries once more
    RemoveWaiter(id);
    step.expired.push_back(id);
  }
}

// One pass in the order of arrival is enough: if a head moves, the next head of its queue arrived
// later.
void WaitQueue::MoveBehindEarlier() {
  for (auto next = ready_.begin(); next != ready_.end();) {
    const Id id = *next;
    Entry& head = waiters_.at(id);
    if (const TargetPtr elsewhere = EarlierElsewhere(head)) {
      Remove(head);
      Insert(head, elsewhere, std::nullopt);
    }
    next = ready_.upper_bound(id);  // Remove and Insert have changed ready_
  }
}

TargetPtr WaitQueue::EarlierElsewhere(const Entry& entry) const {
  for (const TargetPtr& bucket : entry.waiter.buckets) {
    if (HasEarlier(*bucket, entry.waiter.id)) return bucket;
  }
  return nullptr;
}

std::optional<Instant> WaitQueue::NextWake() const {
  std::optional<Instant> next;
  for (const Timers* timers : {&retries_, &ends_}) {
    if (timers->empty()) continue;
    const Instant first = timers->begin()->first;
    if (!next || first < *next) next = first;
  }
  return next;
}

}  // namespace weir
