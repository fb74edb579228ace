#include "weir/reservation/reserve_queue.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr Instant kForEver{INT64_MAX};

// Makes a Known whose retry_at is after now.
ReserveQueue::Known MakeKnown(std::int64_t in_use, Instant retry_at, Instant now) {
  if (retry_at <= now) retry_at = now + ReserveQueue::kShortestWait;
  return {.in_use = in_use, .retry_at = retry_at};
}

}  // namespace

ReserveQueue::ReserveQueue(const Options& options)
    : max_waiting_(options.max_waiting),
      rng_(options.seed),
      refusals_(options.full_for, options.remembered) {}

ReserveQueue::Admission ReserveQueue::Add(Request request, Instant now) {
  const auto cached = refusals_.Find(request.key, request.limit, now);
  const auto queue = FindQueue(request.key, request.limit);
  if (request.wait_until && *request.wait_until > now) {
    return AddWaiter(std::move(request), cached, now);
  }
  if (queue != queues_.end()) {
    return {Verdict::kRefuse, KnownOf(queue->second, request.limit, now)};
  }
  if (cached) return {Verdict::kRefuse, MakeKnown(cached->full.in_use, cached->until, now)};
  const std::uint64_t stamp = refusals_.StampOf(request.key);
  request.wait_until.reset();  // if the time has come, the request does not wait
  const Id id = request.id;
  entries_.emplace(id, Entry{std::move(request), stamp});
  return {Verdict::kAsk};
}

// A refusal for another limit says nothing about this limit.
ReserveQueue::KeyQueues::iterator ReserveQueue::FindQueue(const AccountKey& key,
                                                          std::int64_t limit) {
  const auto queue = queues_.find(key);
  if (queue == queues_.end()) return queue;
  const auto& last_refusal = queue->second.last_refusal;
  if (last_refusal && last_refusal->limit != limit && !queue->second.asking)
    SetRetry(queue, kAtOnce);
  return queue;
}

ReserveQueue::Admission ReserveQueue::AddWaiter(
    Request request, const std::optional<SlotRefusals::CachedRefusal>& cached, Instant now) {
  if (waiting_ >= max_waiting_) return {Verdict::kTooMany};
  const auto [queue, is_new] = queues_.try_emplace(request.key);
  if (is_new && cached) queue->second.last_refusal = cached->full;
  if (is_new) SetRetry(queue, cached ? NextTry(queue->second, now) : kAtOnce);
  queue->second.ids.insert(request.id);
  ++waiting_;
  if (*request.wait_until != kForEver) ends_.emplace(*request.wait_until, request.id);
  const Id id = request.id;
  entries_.emplace(id, Entry{std::move(request)});
  return {Verdict::kWait};
}

// If a slot was released since the try began, the refusal may be outdated: it is not cached, and
// the queue asks again at once.
ReserveQueue::Admission ReserveQueue::OnRefused(Id id, const ClaimRefusal& full, Instant now) {
  const auto entry = entries_.find(id);
  const Request& request = entry->second.request;
  const bool is_current = refusals_.CacheRefusal(request.key, full, entry->second.stamp, now);
  if (!request.wait_until) {
    const auto cached = refusals_.Find(request.key, full.limit, now);
    entries_.erase(entry);
    return {Verdict::kRefuse, MakeKnown(full.in_use, cached ? cached->until : now, now)};
  }
  const auto queue = queues_.find(request.key);
  queue->second.asking.reset();
  queue->second.last_refusal = full;
  SetRetry(queue, is_current ? NextTry(queue->second, now) : kAtOnce);
  if (*request.wait_until > now) {
    if (*request.wait_until != kForEver) ends_.emplace(*request.wait_until, id);
    return {Verdict::kWait};
  }
  const Known known = KnownOf(queue->second, full.limit, now);
  RemoveFromQueue(queue, entry);
  return {Verdict::kRefuse, known};
}

bool ReserveQueue::Postpone(Id id, Instant now) {
  const auto entry = entries_.find(id);
  const Instant until = *entry->second.request.wait_until;
  const auto queue = queues_.find(entry->second.request.key);
  queue->second.asking.reset();
  SetRetry(queue, NextTry(queue->second, now));
  if (until <= now) {
    RemoveFromQueue(queue, entry);
    return false;
  }
  if (until != kForEver) ends_.emplace(until, id);
  return true;
}

// The cached refusal is removed, and the next request of the queue asks at once: another slot may
// be free.
void ReserveQueue::Remove(Id id) {
  const auto entry = entries_.find(id);
  refusals_.Drop(entry->second.request.key);
  if (!entry->second.request.wait_until) {
    entries_.erase(entry);
    return;
  }
  const auto queue = queues_.find(entry->second.request.key);
  queue->second.asking.reset();
  queue->second.backoff.Reset();
  SetRetry(queue, kAtOnce);
  RemoveFromQueue(queue, entry);
}

// While a request is asking, the changed stamp makes OnRefused ask again.
void ReserveQueue::OnReleased(const AccountKey& key) {
  refusals_.OnReleased(key);
  const auto queue = queues_.find(key);
  if (queue == queues_.end()) return;
  queue->second.backoff.Reset();
  if (!queue->second.asking) SetRetry(queue, kAtOnce);
}

// The first request of each queue whose retry_at has come asks. The queue then has no retry_at
// until the result arrives, so the loop ends.
ReserveQueue::Step ReserveQueue::Advance(Instant now) {
  Step step;
  Expire(now, step);
  while (!retries_.empty() && retries_.begin()->first <= now) {
    const auto queue = queues_.find(retries_.begin()->second);
    const Id id = *queue->second.ids.begin();
    Entry& entry = entries_.at(id);
    entry.stamp = refusals_.StampOf(queue->first);
    ends_.erase({*entry.request.wait_until, id});
    queue->second.asking = id;
    SetRetry(queue, std::nullopt);
    step.asks.push_back(id);
  }
  return step;
}

void ReserveQueue::Expire(Instant now, Step& step) {
  for (auto end = ends_.begin(); end != ends_.end() && end->first <= now;) {
    const auto entry = entries_.find(end->second);
    ++end;
    const auto queue = queues_.find(entry->second.request.key);
    const auto& retry_at = queue->second.retry_at;
    const bool is_first = *queue->second.ids.begin() == entry->first;
    if (is_first && retry_at && *retry_at <= now) continue;  // due to ask once more
    step.expired.push_back(
        {entry->first, KnownOf(queue->second, entry->second.request.limit, now)});
    RemoveFromQueue(queue, entry);
  }
}

// The retry time belongs to the queue: the next request becomes the first and asks at that time.
void ReserveQueue::RemoveFromQueue(KeyQueues::iterator queue, Entries::iterator entry) {
  const Id id = entry->first;
  ends_.erase({*entry->second.request.wait_until, id});
  queue->second.ids.erase(id);
  --waiting_;
  entries_.erase(entry);
  if (!queue->second.ids.empty()) return;
  SetRetry(queue, std::nullopt);
  queues_.erase(queue);
}

void ReserveQueue::SetRetry(KeyQueues::iterator queue, std::optional<Instant> at) {
  auto& retry_at = queue->second.retry_at;
  if (retry_at) retries_.erase({*retry_at, queue->first});
  retry_at = at;
  if (at) retries_.emplace(*at, queue->first);
}

// The wait with jitter, or the first expiry of a held slot if that is earlier.
Instant ReserveQueue::NextTry(KeyQueue& queue, Instant now) {
  const Instant next = now + kShortestWait + queue.backoff.Next(rng_);
  const auto expiry = queue.last_refusal ? queue.last_refusal->next_expiry : std::nullopt;
  return expiry && *expiry > now ? std::min(*expiry, next) : next;
}

// While requests wait, the key counts as full: released slots are for them.
ReserveQueue::Known ReserveQueue::KnownOf(const KeyQueue& queue, std::int64_t limit, Instant now) {
  const std::int64_t in_use = queue.last_refusal ? queue.last_refusal->in_use : limit;
  return MakeKnown(std::max(in_use, limit), queue.retry_at.value_or(now), now);
}

std::optional<Instant> ReserveQueue::NextWake() const {
  std::optional<Instant> next;
  if (!retries_.empty()) next = retries_.begin()->first;
  if (!ends_.empty() && (!next || ends_.begin()->first < *next)) next = ends_.begin()->first;
  return next;
}

}  // namespace weir
