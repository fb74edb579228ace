#include "weir/limiter/resolution/resolver.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/limiter/resolution/resolution.h"
#include "weir/limiter/resolution/resolver_fetch.h"
#include "weir/model/identifier.h"
#include "weir/runtime/later.h"

namespace weir {
namespace {

constexpr int kSaysNothing = -1;
constexpr std::ptrdiff_t kLevelsOfMember = 2;

Status CheckPair(std::string_view entity, std::string_view resource) {
  WEIR_RETURN_IF_ERROR(CheckEntityId(entity));
  return CheckResource(resource);
}

Result<ResolvedPtr> AnswerOf(const ResolutionPtr& resolution) {
  if (!resolution->answer) return Fail(resolution->answer.error());
  return ResolvedPtr(resolution, &*resolution->answer);
}

}  // namespace

Resolver::Resolver(ConfigStore& store, const Clock& clock, ResolverOptions options)
    : store_(store),
      clock_(clock),
      options_(options),
      remembered_(std::make_unique<Remembered>(options.capacity)) {}

Resolver::~Resolver() = default;

// The epoch is read before the cache. If the pair is dropped in between, the copy that the
// ThreadCache gets belongs to a past epoch.
ResolvedPtr Resolver::Find(std::string_view entity, std::string_view resource) {
  const PairKey pair(entity, resource);
  const Instant now = clock_.Now();
  const std::uint64_t epoch = remembered_->cache.epoch();
  ResolvedPtr resolved = remembered_->hot.Find(pair, now, epoch);
  if (resolved == nullptr) {
    auto [found, expires] = remembered_->cache.Find(pair, now);
    if (found == nullptr || !found->answer) return nullptr;
    resolved = ResolvedPtr(found, &*found->answer);
    remembered_->hot.Offer(pair, resolved, expires, epoch);
  }
  hits_.Add();
  return resolved;
}

void Resolver::Resolve(std::string_view entity, std::string_view resource, Deadline deadline,
                       Done<ResolvedPtr> done) {
  const auto found = remembered_->cache.Find(PairKey(entity, resource), clock_.Now());
  if (found.resolution != nullptr) {
    hits_.Add();
    return done(AnswerOf(found.resolution));
  }
  if (const Status valid = CheckPair(entity, resource); !valid) return done(Fail(valid.error()));
  misses_.Add();
  Ask(entity, resource, {deadline, std::move(done)});
}

void Resolver::Renew(std::string_view entity, std::string_view resource, Deadline deadline,
                     Done<ResolvedPtr> done) {
  Ask(entity, resource, {deadline, std::move(done), fetches_.load(std::memory_order_acquire)});
}

void Resolver::Ask(std::string_view entity, std::string_view resource, Asker asker) {
  auto fetch = std::make_shared<Fetch>(entity, resource, asker.deadline);
  fetch->number = fetches_.fetch_add(1, std::memory_order_acq_rel) + 1;
  fetch->started = clock_.Now();
  fetch->epoch = remembered_->cache.epoch();
  if (options_.ttl == milliseconds(0)) {
    fetch->askers.push_back(std::move(asker));
    return ReadMember(std::move(fetch));
  }
  ResolutionPtr found;
  if (Join(fetch, asker, found)) return;
  if (found != nullptr) return asker.done(AnswerOf(found));
  ReadMember(std::move(fetch));
}

bool Resolver::Join(const FetchPtr& fetch, Asker& asker, ResolutionPtr& found) {
  const PairKey pair = fetch->pair();
  const MutexLock lock(remembered_->mutex);
  auto at = remembered_->fetches.find(pair);
  if (at != remembered_->fetches.end()) {
    Fetch& other = *at->second;
    // A fetch of an earlier epoch may return data from before a change. A fetch with a later
    // deadline may outlast this caller.
    if (other.epoch == fetch->epoch && other.deadline <= asker.deadline) {
      joined_.Add();
      (asker.Accepts(other) ? other.askers : other.later).push_back(std::move(asker));
      return true;
    }
    remembered_->fetches.erase(at);  // its callers still get its result
  } else if (!asker.after) {
    // A fetch may have ended between the caller's miss and the lock.
    found = remembered_->cache.Find(pair, fetch->started).resolution;
    if (found != nullptr) return false;
  }
  fetch->askers.push_back(std::move(asker));
  remembered_->fetches.emplace(pair, fetch);
  return false;
}

// The limits of a member do not depend on its record, so both are read at the same time. The levels
// of the resource and of the system are read with the first member only.
void Resolver::ReadMember(FetchPtr fetch) {
  store_reads_.Add(2);
  const std::vector<std::string> member{fetch->chain.back()};
  std::vector<Level> levels = LevelsOf(member, fetch->resource);
  if (fetch->chain.size() > 1) levels.erase(levels.begin() + kLevelsOfMember, levels.end());
  const Deadline deadline = fetch->deadline;
  const auto reading = std::make_shared<Reading>(std::move(fetch));
  store_.GetEntities(member, deadline, [this, reading](auto records) {
    reading->records = std::move(records);
    if (reading->IsLast()) TakeMember(*reading);
  });
  store_.GetLimits(levels, deadline, [this, reading](auto limits) {
    reading->limits = std::move(limits);
    if (reading->IsLast()) TakeMember(*reading);
  });
}

void Resolver::TakeMember(Reading& reading) {
  FetchPtr fetch = std::move(reading.fetch);
  if (!reading.records) return End(fetch, Fail(std::move(reading.records.error())));
  if (!reading.limits) return End(fetch, Fail(std::move(reading.limits.error())));
  // The levels of the resource and of the system, read with the first member, stay at the end.
  const auto place = fetch->found.begin() + kLevelsOfMember * (std::ssize(fetch->chain) - 1);
  fetch->found.insert(place, std::make_move_iterator(reading.limits->begin()),
                      std::make_move_iterator(reading.limits->end()));
  const auto& record = reading.records->front();
  if (!record || !record->entity.cascade || !record->entity.parent) return Conclude(fetch);
  auto& chain = fetch->chain;
  const std::string& parent = *record->entity.parent;
  if (chain.size() == kMaxCascade || std::ranges::find(chain, parent) != chain.end()) {
    return Answer(fetch, Fail(BrokenChain(chain, parent)));
  }
  chain.push_back(parent);
  ReadMember(std::move(fetch));
}

void Resolver::Conclude(const FetchPtr& fetch) {
  const auto& system = fetch->found.back();
  const auto policy = system ? system->on_unavailable : std::nullopt;
  last_on_unavailable_.store(policy ? static_cast<int>(*policy) : kSaysNothing,
                             std::memory_order_relaxed);
  auto answer = Decide(fetch->chain, fetch->resource, fetch->found);
  if (answer) {
    answer->began = fetch->started;
    for (TargetPtr& ancestor : std::span(answer->targets).subspan(1)) {
      ancestor = remembered_->shared.Share(std::move(ancestor));
    }
  }
  Answer(fetch, std::move(answer));
}

void Resolver::Answer(const FetchPtr& fetch, Result<Resolved> answer) {
  auto resolution = std::make_shared<const Resolution>(Resolution{fetch->chain, std::move(answer)});
  if (options_.ttl > milliseconds(0)) Remember(*fetch, resolution);
  End(fetch, std::move(resolution));
}

void Resolver::Remember(const Fetch& fetch, const ResolutionPtr& resolution) {
  const PairKey pair = fetch.pair();
  ResolutionCache& cache = remembered_->cache;
  std::uint64_t epoch = fetch.epoch;
  if (const auto old = cache.Find(pair, clock_.Now()).resolution) {
    const Altered altered = AlteredBetween(*old, *resolution);
    if (!altered.nothing()) epoch = cache.Forget(altered, epoch);
  }
  // The time to live counts from the start of the fetch: the data may be as old as that.
  cache.Put(pair, resolution, Later(fetch.started, options_.ttl), epoch);
  // A new result does not change the epoch, so the copies of the previous one are still valid.
  remembered_->hot.Forget(pair);
}

void Resolver::End(const FetchPtr& fetch, const Result<ResolutionPtr>& result) {
  std::vector<Asker> askers;
  std::vector<Asker> later;
  {
    const MutexLock lock(remembered_->mutex);
    const auto at = remembered_->fetches.find(fetch->pair());
    if (at != remembered_->fetches.end() && at->second == fetch) remembered_->fetches.erase(at);
    askers.swap(fetch->askers);
    later.swap(fetch->later);
  }
  for (Asker& asker : askers) {
    // A caller that has more time than the fetch had fetches again.
    const bool ran_out = !result && result.error().code == Code::kDeadlineExceeded;
    if (ran_out && fetch->deadline < asker.deadline) {
      Ask(fetch->chain.front(), fetch->resource, std::move(asker));
    } else {
      asker.done(result.and_then(AnswerOf));
    }
  }
  // Earliest deadline first, so that the other callers can join its fetch.
  std::ranges::sort(later, {}, &Asker::deadline);
  for (Asker& asker : later) Ask(fetch->chain.front(), fetch->resource, std::move(asker));
}

void Resolver::Forget(const Altered& altered) { remembered_->cache.Forget(altered); }

void Resolver::ForgetAll() { remembered_->cache.Clear(); }

std::optional<OnUnavailable> Resolver::last_on_unavailable() const {
  const int last = last_on_unavailable_.load(std::memory_order_relaxed);
  if (last == kSaysNothing) return std::nullopt;
  return static_cast<OnUnavailable>(last);
}

ResolverStats Resolver::stats() const {
  return {.hits = hits_.Value(),
          .misses = misses_.Value(),
          .joined = joined_.Value(),
          .evicted = remembered_->cache.evicted(),
          .size = remembered_->cache.size()};
}

}  // namespace weir
