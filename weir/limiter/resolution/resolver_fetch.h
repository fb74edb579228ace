// The private types of Resolver.
//
//   JoinOrFetch --+--> JoinFetch, a fetch in flight: waiters, or next_fetch_waiters if it began
//                 |      too early
//                 +--> ReadMember --> TakeMember --+--> ReadMember (the parent)
//                        (two reads)               +--> ChooseFromLevels --> FinishFetch
//                                                  |      --> CacheResult --> EndFetch
//                                                  +--> FinishFetch (the chain is broken)
//                                                  +--> EndFetch (an error of the store)
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/limiter/resolution/cascade_walk.h"
#include "weir/limiter/resolution/resolution_cache.h"
#include "weir/limiter/resolution/target_interner.h"
#include "weir/limiter/resolution/thread_cache.h"

namespace weir {

/// A caller that waits for a fetch.
struct Resolver::Waiter {
  Deadline deadline;
  Done<ResolvedPtr> done;
  /// The number of the last fetch that began too early; nullopt if any fetch and the cache may be
  /// used.
  std::optional<std::uint64_t> after{};

  bool Accepts(const Fetch& fetch) const;
};

/// A fetch in flight and the callers that wait for it.
struct Resolver::Fetch {
  Fetch(std::string_view entity, std::string_view resource_name, Deadline until)
      : walk(entity, resource_name), deadline(until) {}
  const std::string& entity() const { return walk.chain().front(); }
  PairKey pair() const { return PairKey(entity(), walk.resource()); }

  CascadeWalk walk;
  const Deadline deadline;
  Instant started;
  std::uint64_t number = 0;     ///< ascends in the order of the fetches' starts
  std::uint64_t epoch = 0;      ///< the epoch of the cache when the fetch began
  std::vector<Waiter> waiters;  ///< guarded by Caches::mutex, like `next_fetch_waiters`
  std::vector<Waiter>
      next_fetch_waiters;  ///< callers for which this fetch began too early; they share the next
};

inline bool Resolver::Waiter::Accepts(const Fetch& fetch) const {
  return !after || fetch.number > *after;
}

/// The two reads of one member of a chain. The second one to complete continues the fetch.
struct Resolver::MemberReads {
  explicit MemberReads(FetchPtr of_fetch) : fetch(std::move(of_fetch)) {}
  bool IsLast() { return results.fetch_add(1, std::memory_order_acq_rel) == 1; }

  FetchPtr fetch;
  Result<std::vector<std::optional<EntityRecord>>> records;
  Result<LimitsByLevel> limits;
  std::atomic<int> results = 0;
};

struct Resolver::Caches {
  explicit Caches(std::size_t capacity) : cache(capacity) {}

  ResolutionCache cache;
  ThreadCache thread_cache;
  TargetInterner interner;
  Mutex mutex;  ///< acquired before the lock of a stripe of the cache
  std::unordered_map<PairKey, FetchPtr, PairHash> fetches WEIR_GUARDED_BY(mutex);
};

}  // namespace weir
