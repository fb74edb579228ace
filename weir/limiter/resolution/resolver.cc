#include "weir/limiter/resolution/resolver.h"

#include <algorithm>
#include <utility>

#include "weir/limiter/resolution/cascade_limits.h"
#include "weir/limiter/resolution/resolver_fetch.h"
#include "weir/model/identifier.h"
#include "weir/runtime/add_saturated.h"

namespace weir {
namespace {

constexpr int kNoPolicy = -1;

Status CheckPair(std::string_view entity, std::string_view resource) {
  WEIR_RETURN_IF_ERROR(CheckEntityId(entity));
  return CheckResource(resource);
}

Result<ResolvedPtr> ResultOf(const ResolutionPtr& resolution) {
  if (!resolution->result) return Fail(resolution->result.error());
  return ResolvedPtr(resolution, &*resolution->result);
}

}  // namespace

Resolver::Resolver(ConfigStore& store, const Clock& clock, ResolverOptions options)
    : store_(store),
      clock_(clock),
      options_(options),
      caches_(std::make_unique<Caches>(options.capacity)) {}

Resolver::~Resolver() = default;

// The epoch is read before the cache. If the pair is dropped in between, the copy that the
// ThreadCache gets belongs to a past epoch.
ResolvedPtr Resolver::Find(std::string_view entity, std::string_view resource) {
  const PairKey pair(entity, resource);
  const Instant now = clock_.Now();
  const std::uint64_t epoch = caches_->cache.epoch();
  ResolvedPtr resolved = caches_->thread_cache.Find(pair, now, epoch);
  if (resolved == nullptr) {
    auto [found, expires] = caches_->cache.Find(pair, now);
    if (found == nullptr || !found->result) return nullptr;
    resolved = ResolvedPtr(found, &*found->result);
    caches_->thread_cache.Offer(pair, resolved, expires, epoch);
  }
  hits_.Add();
  return resolved;
}

void Resolver::Resolve(std::string_view entity, std::string_view resource, Deadline deadline,
                       Done<ResolvedPtr> done) {
  const auto found = caches_->cache.Find(PairKey(entity, resource), clock_.Now());
  if (found.resolution != nullptr) {
    hits_.Add();
    return done(ResultOf(found.resolution));
  }
  if (const Status valid = CheckPair(entity, resource); !valid) return done(Fail(valid.error()));
  misses_.Add();
  JoinOrFetch(entity, resource, {deadline, std::move(done)});
}

void Resolver::Renew(std::string_view entity, std::string_view resource, Deadline deadline,
                     Done<ResolvedPtr> done) {
  JoinOrFetch(entity, resource,
              {deadline, std::move(done), fetches_.load(std::memory_order_acquire)});
}

void Resolver::JoinOrFetch(std::string_view entity, std::string_view resource, Waiter waiter) {
  auto fetch = std::make_shared<Fetch>(entity, resource, waiter.deadline);
  fetch->number = fetches_.fetch_add(1, std::memory_order_acq_rel) + 1;
  fetch->started = clock_.Now();
  fetch->epoch = caches_->cache.epoch();
  if (options_.ttl == milliseconds(0)) {
    fetch->waiters.push_back(std::move(waiter));
    return ReadMember(std::move(fetch));
  }
  ResolutionPtr found;
  if (JoinFetch(fetch, waiter, found)) return;
  if (found != nullptr) return waiter.done(ResultOf(found));
  ReadMember(std::move(fetch));
}

bool Resolver::JoinFetch(const FetchPtr& fetch, Waiter& waiter, ResolutionPtr& found) {
  const PairKey pair = fetch->pair();
  const MutexLock lock(caches_->mutex);
  auto at = caches_->fetches.find(pair);
  if (at != caches_->fetches.end()) {
    Fetch& other = *at->second;
    // A fetch of an earlier epoch may return data from before a change. A fetch with a later
    // deadline may outlast this caller.
    if (other.epoch == fetch->epoch && other.deadline <= waiter.deadline) {
      joined_.Add();
      (waiter.Accepts(other) ? other.waiters : other.next_fetch_waiters)
          .push_back(std::move(waiter));
      return true;
    }
    caches_->fetches.erase(at);  // its callers still get its result
  } else if (!waiter.after) {
    // A fetch may have ended between the caller's miss and the lock.
    found = caches_->cache.Find(pair, fetch->started).resolution;
    if (found != nullptr) return false;
  }
  fetch->waiters.push_back(std::move(waiter));
  caches_->fetches.emplace(pair, fetch);
  return false;
}

// The limits of a member do not depend on its record, so both are read at the same time.
void Resolver::ReadMember(FetchPtr fetch) {
  store_reads_.Add(2);
  const std::vector<std::string> member{std::string(fetch->walk.member())};
  const std::vector<Level> levels = fetch->walk.levels();
  const Deadline deadline = fetch->deadline;
  const auto reading = std::make_shared<MemberReads>(std::move(fetch));
  store_.GetEntities(member, deadline, [this, reading](auto records) {
    reading->records = std::move(records);
    if (reading->IsLast()) TakeMember(*reading);
  });
  store_.GetLimits(levels, deadline, [this, reading](auto limits) {
    reading->limits = std::move(limits);
    if (reading->IsLast()) TakeMember(*reading);
  });
}

void Resolver::TakeMember(MemberReads& reading) {
  FetchPtr fetch = std::move(reading.fetch);
  if (!reading.records) return EndFetch(fetch, Fail(std::move(reading.records.error())));
  if (!reading.limits) return EndFetch(fetch, Fail(std::move(reading.limits.error())));
  const auto next = fetch->walk.Take(reading.records->front(), std::move(*reading.limits));
  if (!next) return FinishFetch(fetch, Fail(next.error()));
  if (*next == CascadeWalk::Next::kComplete) return ChooseFromLevels(fetch);
  ReadMember(std::move(fetch));
}

void Resolver::ChooseFromLevels(const FetchPtr& fetch) {
  const CascadeWalk& walk = fetch->walk;
  const auto& system = walk.found().back();
  const auto policy = system ? system->on_unavailable : std::nullopt;
  last_on_unavailable_.store(policy ? static_cast<int>(*policy) : kNoPolicy,
                             std::memory_order_relaxed);
  auto result = ChooseLimits(walk.chain(), walk.resource(), walk.found());
  if (result) {
    result->began = fetch->started;
    for (TargetPtr& ancestor : std::span(result->targets).subspan(1)) {
      ancestor = caches_->interner.Share(std::move(ancestor));
    }
  }
  FinishFetch(fetch, std::move(result));
}

void Resolver::FinishFetch(const FetchPtr& fetch, Result<Resolved> result) {
  auto resolution =
      std::make_shared<const Resolution>(Resolution{fetch->walk.chain(), std::move(result)});
  if (options_.ttl > milliseconds(0)) CacheResult(*fetch, resolution);
  EndFetch(fetch, std::move(resolution));
}

void Resolver::CacheResult(const Fetch& fetch, const ResolutionPtr& resolution) {
  const PairKey pair = fetch.pair();
  ResolutionCache& cache = caches_->cache;
  std::uint64_t epoch = fetch.epoch;
  if (const auto old = cache.Find(pair, clock_.Now()).resolution) {
    const AffectedPairs affected = PairsAffectedBetween(*old, *resolution);
    if (!affected.nothing()) epoch = cache.DropAffected(affected, epoch);
  }
  // The time to live counts from the start of the fetch: the data may be as old as that.
  cache.Put(pair, resolution, AddSaturated(fetch.started, options_.ttl), epoch);
  // A new result does not change the epoch, so the thread cache would still return the old one.
  caches_->thread_cache.DropPair(pair);
}

void Resolver::EndFetch(const FetchPtr& fetch, const Result<ResolutionPtr>& result) {
  std::vector<Waiter> waiters;
  std::vector<Waiter> next_fetch_waiters;
  {
    const MutexLock lock(caches_->mutex);
    const auto at = caches_->fetches.find(fetch->pair());
    if (at != caches_->fetches.end() && at->second == fetch) caches_->fetches.erase(at);
    waiters.swap(fetch->waiters);
    next_fetch_waiters.swap(fetch->next_fetch_waiters);
  }
  for (Waiter& waiter : waiters) {
    // A caller that has more time than the fetch had fetches again.
    const bool ran_out = !result && result.error().code == Code::kDeadlineExceeded;
    if (ran_out && fetch->deadline < waiter.deadline) {
      JoinOrFetch(fetch->entity(), fetch->walk.resource(), std::move(waiter));
    } else {
      waiter.done(result.and_then(ResultOf));
    }
  }
  // The caller with the earliest deadline begins the fetch, so that the others can join it.
  std::ranges::sort(next_fetch_waiters, {}, &Waiter::deadline);
  for (Waiter& waiter : next_fetch_waiters)
    JoinOrFetch(fetch->entity(), fetch->walk.resource(), std::move(waiter));
}

void Resolver::DropAffected(const AffectedPairs& affected) {
  caches_->cache.DropAffected(affected);
}

void Resolver::ForgetAll() { caches_->cache.Clear(); }

std::optional<OnUnavailable> Resolver::last_on_unavailable() const {
  const int last = last_on_unavailable_.load(std::memory_order_relaxed);
  if (last == kNoPolicy) return std::nullopt;
  return static_cast<OnUnavailable>(last);
}

ResolverStats Resolver::stats() const {
  return {.hits = hits_.Value(),
          .misses = misses_.Value(),
          .joined = joined_.Value(),
          .evicted = caches_->cache.evicted(),
          .size = caches_->cache.size()};
}

}  // namespace weir
