#include "weir/limiter/wait_queue.h"

#include <iterator>
#include <utility>

namespace weir {
namespace {

constexpr Instant kForEver{INT64_MAX};

// Returns a non-owning pointer for lookups.
TargetPtr Unowned(const Target& target) { return TargetPtr(TargetPtr(), &target); }

}  // namespace

const WaitQueue::Line* WaitQueue::LineOf(const Target& bucket) const {
  const auto found = lines_.find(Unowned(bucket));
  return found == lines_.end() ? nullptr : &found->second;
}

bool WaitQueue::HasEarlier(const Target& bucket, Id id) const {
  const Line* line = LineOf(bucket);
  return line != nullptr && *line->begin() < id;
}

std::optional<Instant> WaitQueue::HeadRetry(const Target& bucket) const {
  const Line* line = LineOf(bucket);
  return line == nullptr ? std::nullopt : waiters_.at(*line->begin()).retry_at;
}

void WaitQueue::Enter(Waiter waiter, const TargetPtr& bucket, std::optional<Instant> retry_at) {
  const Id id = waiter.id;
  if (waiter.until != kForEver) ends_.emplace(waiter.until, id);
  Place& place = waiters_[id];
  place.waiter = std::move(waiter);
  Insert(place, bucket, retry_at);
}

void WaitQueue::Refused(Id id, std::vector<TargetPtr> buckets, const TargetPtr& bucket,
                        Instant retry_at) {
  Place& place = waiters_.at(id);
  Remove(place);
  place.trying = false;
  place.waiter.buckets = std::move(buckets);
  if (place.waiter.until != kForEver) ends_.emplace(place.waiter.until, id);
  Insert(place, bucket, retry_at);
}

void WaitQueue::Leave(Id id) {
  const auto found = waiters_.find(id);
  Remove(found->second);
  ends_.erase({found->second.waiter.until, id});
  waiters_.erase(found);
}

void WaitQueue::Insert(Place& place, const TargetPtr& bucket, std::optional<Instant> retry_at) {
  place.bucket = bucket;
  Line& line = lines_[bucket];
  const auto [at, inserted] = line.insert(place.waiter.id);
  if (at != line.begin()) return;
  // The waiter arrived before the previous head, but was refused later. The previous head tries
  // when it is the head again; if it is trying, Refused or Leave follows anyway.
  if (const auto second = std::next(at); second != line.end()) {
    SetRetry(waiters_.at(*second), std::nullopt);
    ready_.erase(*second);
  }
  SetRetry(place, retry_at);
  if (!retry_at) ready_.insert(place.waiter.id);
}

void WaitQueue::Remove(Place& place) {
  SetRetry(place, std::nullopt);
  ready_.erase(place.waiter.id);
  const auto found = lines_.find(place.bucket);
  Line& line = found->second;
  const bool was_head = *line.begin() == place.waiter.id;
  line.erase(place.waiter.id);
  if (line.empty()) {
    lines_.erase(found);
  } else if (was_head) {
    WakeHead(line);
  }
}

void WaitQueue::SetRetry(Place& place, std::optional<Instant> retry_at) {
  if (place.retry_at) retries_.erase({*place.retry_at, place.waiter.id});
  place.retry_at = retry_at;
  if (retry_at) retries_.emplace(*retry_at, place.waiter.id);
}

void WaitQueue::Wake(const Target& bucket) {
  if (const Line* line = LineOf(bucket)) WakeHead(*line);
}

void WaitQueue::WakeAll() {
  for (const auto& [bucket, line] : lines_) WakeHead(line);
}

void WaitQueue::WakeHead(const Line& line) {
  Place& head = waiters_.at(*line.begin());
  if (head.trying) return;  // its result decides
  SetRetry(head, std::nullopt);
  ready_.insert(head.waiter.id);
}

// The order matters. Heads whose retry is due become ready before Expire, so that they try once
// more; expired waiters are removed before moves, so that none moves behind them.
WaitQueue::Step WaitQueue::Advance(Instant now) {
  Step step;
  Ring(now);
  Expire(now, step);
  MoveBehindEarlier();
  for (const Id id : std::exchange(ready_, {})) {
    Place& head = waiters_.at(id);
    head.trying = true;
    ends_.erase({head.waiter.until, id});
    step.tries.push_back(id);
  }
  return step;
}

void WaitQueue::Ring(Instant now) {
  while (!retries_.empty() && retries_.begin()->first <= now) {
    Place& head = waiters_.at(retries_.begin()->second);
    SetRetry(head, std::nullopt);
    ready_.insert(head.waiter.id);
  }
}

void WaitQueue::Expire(Instant now, Step& step) {
  for (auto end = ends_.begin(); end != ends_.end() && end->first <= now;) {
    const Id id = end->second;
    ++end;
    if (ready_.contains(id)) continue;  // a ready head tries once more
    Leave(id);
    step.expired.push_back(id);
  }
}

// One pass in the order of arrival is enough: a move only makes heads of later waiters.
void WaitQueue::MoveBehindEarlier() {
  for (auto next = ready_.begin(); next != ready_.end();) {
    const Id id = *next;
    Place& head = waiters_.at(id);
    if (const TargetPtr elsewhere = EarlierElsewhere(head)) {
      Remove(head);
      Insert(head, elsewhere, std::nullopt);
    }
    next = ready_.upper_bound(id);  // Remove and Insert have changed ready_
  }
}

TargetPtr WaitQueue::EarlierElsewhere(const Place& place) const {
  for (const TargetPtr& bucket : place.waiter.buckets) {
    if (HasEarlier(*bucket, place.waiter.id)) return bucket;
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
