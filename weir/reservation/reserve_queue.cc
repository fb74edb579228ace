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

ReserveQueue::Answer ReserveQueue::Arrive(Request request, Instant now) {
  const auto belief = refusals_.Find(request.key, request.limit, now);
  const auto line = Reach(request.key, request.limit);
  if (request.wait_until && *request.wait_until > now) {
    return Stand(std::move(request), belief, now);
  }
  if (line != lines_.end()) {
    return {Verdict::kRefuse, KnownOf(line->second, request.limit, now)};
  }
  if (belief) return {Verdict::kRefuse, MakeKnown(belief->full.in_use, belief->until, now)};
  const std::uint64_t stamp = refusals_.Stamp(request.key);
  request.wait_until.reset();  // if it has come, the request does not wait
  const Id id = request.id;
  places_.emplace(id, Place{std::move(request), stamp});
  return {Verdict::kAsk};
}

// A refusal for another limit says nothing about this one.
ReserveQueue::Lines::iterator ReserveQueue::Reach(const AccountKey& key, std::int64_t limit) {
  const auto line = lines_.find(key);
  if (line == lines_.end()) return line;
  const auto& told = line->second.told;
  if (told && told->limit != limit && !line->second.asking) SetRetry(line, kAtOnce);
  return line;
}

ReserveQueue::Answer ReserveQueue::Stand(Request request,
                                         const std::optional<SlotRefusals::Belief>& belief,
                                         Instant now) {
  if (waiting_ >= max_waiting_) return {Verdict::kTooMany};
  const auto [line, is_new] = lines_.try_emplace(request.key);
  if (is_new && belief) line->second.told = belief->full;
  if (is_new) SetRetry(line, belief ? NextTry(line->second, now) : kAtOnce);
  line->second.ids.insert(request.id);
  ++waiting_;
  if (*request.wait_until != kForEver) ends_.emplace(*request.wait_until, request.id);
  const Id id = request.id;
  places_.emplace(id, Place{std::move(request)});
  return {Verdict::kWait};
}

// If a slot was released since the try began, the refusal may be outdated: it is not cached, and
// the line asks again at once.
ReserveQueue::Answer ReserveQueue::Refused(Id id, const SlotsFull& full, Instant now) {
  const auto place = places_.find(id);
  const Request& request = place->second.request;
  const bool fresh = refusals_.Remember(request.key, full, place->second.stamp, now);
  if (!request.wait_until) {
    const auto belief = refusals_.Find(request.key, full.limit, now);
    places_.erase(place);
    return {Verdict::kRefuse, MakeKnown(full.in_use, belief ? belief->until : now, now)};
  }
  const auto line = lines_.find(request.key);
  line->second.asking.reset();
  line->second.told = full;
  SetRetry(line, fresh ? NextTry(line->second, now) : kAtOnce);
  if (*request.wait_until > now) {
    if (*request.wait_until != kForEver) ends_.emplace(*request.wait_until, id);
    return {Verdict::kWait};
  }
  const Known known = KnownOf(line->second, full.limit, now);
  RemoveFromLine(line, place);
  return {Verdict::kRefuse, known};
}

bool ReserveQueue::Postponed(Id id, Instant now) {
  const auto place = places_.find(id);
  const Instant until = *place->second.request.wait_until;
  const auto line = lines_.find(place->second.request.key);
  line->second.asking.reset();
  SetRetry(line, NextTry(line->second, now));
  if (until <= now) {
    RemoveFromLine(line, place);
    return false;
  }
  if (until != kForEver) ends_.emplace(until, id);
  return true;
}

// The cached refusal is removed, and the next request of the line asks at once: another slot may be
// free.
void ReserveQueue::Leave(Id id) {
  const auto place = places_.find(id);
  refusals_.Forget(place->second.request.key);
  if (!place->second.request.wait_until) {
    places_.erase(place);
    return;
  }
  const auto line = lines_.find(place->second.request.key);
  line->second.asking.reset();
  line->second.backoff.Reset();
  SetRetry(line, kAtOnce);
  RemoveFromLine(line, place);
}

// While a request is asking, the changed stamp makes Refused ask again.
void ReserveQueue::Released(const AccountKey& key) {
  refusals_.Released(key);
  const auto line = lines_.find(key);
  if (line == lines_.end()) return;
  line->second.backoff.Reset();
  if (!line->second.asking) SetRetry(line, kAtOnce);
}

// The first request of each line whose retry_at has come asks. The line then has no retry_at until
// the result arrives, so the loop ends.
ReserveQueue::Step ReserveQueue::Advance(Instant now) {
  Step step;
  Expire(now, step);
  while (!retries_.empty() && retries_.begin()->first <= now) {
    const auto line = lines_.find(retries_.begin()->second);
    const Id id = *line->second.ids.begin();
    Place& place = places_.at(id);
    place.stamp = refusals_.Stamp(line->first);
    ends_.erase({*place.request.wait_until, id});
    line->second.asking = id;
    SetRetry(line, std::nullopt);
    step.asks.push_back(id);
  }
  return step;
}

void ReserveQueue::Expire(Instant now, Step& step) {
  for (auto end = ends_.begin(); end != ends_.end() && end->first <= now;) {
    const auto place = places_.find(end->second);
    ++end;
    const auto line = lines_.find(place->second.request.key);
    const auto& retry_at = line->second.retry_at;
    const bool is_first = *line->second.ids.begin() == place->first;
    if (is_first && retry_at && *retry_at <= now) continue;  // it is due to ask once more
    step.expired.push_back({place->first, KnownOf(line->second, place->second.request.limit, now)});
    RemoveFromLine(line, place);
  }
}

// The retry time belongs to the line: the next request becomes the first and asks at that time.
void ReserveQueue::RemoveFromLine(Lines::iterator line, Places::iterator place) {
  const Id id = place->first;
  ends_.erase({*place->second.request.wait_until, id});
  line->second.ids.erase(id);
  --waiting_;
  places_.erase(place);
  if (!line->second.ids.empty()) return;
  SetRetry(line, std::nullopt);
  lines_.erase(line);
}

void ReserveQueue::SetRetry(Lines::iterator line, std::optional<Instant> at) {
  auto& retry_at = line->second.retry_at;
  if (retry_at) retries_.erase({*retry_at, line->first});
  retry_at = at;
  if (at) retries_.emplace(*at, line->first);
}

// The wait with jitter, or the first expiry of a held slot if that is earlier.
Instant ReserveQueue::NextTry(Line& line, Instant now) {
  const Instant next = now + kShortestWait + line.backoff.Next(rng_);
  const auto expiry = line.told ? line.told->next_expiry : std::nullopt;
  return expiry && *expiry > now ? std::min(*expiry, next) : next;
}

// While requests wait, the key counts as full: released slots are for them.
ReserveQueue::Known ReserveQueue::KnownOf(const Line& line, std::int64_t limit, Instant now) {
  const std::int64_t told = line.told ? line.told->in_use : limit;
  return MakeKnown(std::max(told, limit), line.retry_at.value_or(now), now);
}

std::optional<Instant> ReserveQueue::NextWake() const {
  std::optional<Instant> next;
  if (!retries_.empty()) next = retries_.begin()->first;
  if (!ends_.empty() && (!next || ends_.begin()->first < *next)) next = ends_.begin()->first;
  return next;
}

}  // namespace weir
