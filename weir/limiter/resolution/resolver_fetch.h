// The private types of Resolver.
//
//   Ask --+--> Join a fetch in flight: askers, or `later` if it began too early
//         +--> ReadMember --> TakeMember --+--> ReadMember (the parent)
//                (two reads)               +--> Conclude --> Answer --> Remember --> End
//                                          +--> End (an error of the store)
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
#include "weir/limiter/resolution/resolution_cache.h"
#include "weir/limiter/resolution/target_interner.h"
#include "weir/limiter/resolution/thread_cache.h"

namespace weir {

/// A caller that waits for a fetch.
struct Resolver::Asker {
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
      : chain{std::string(entity)}, resource(resource_name), deadline(until) {
    chain.reserve(kMaxCascade);  // its strings are viewed while it grows
  }
  PairKey pair() const { return PairKey(chain.front(), resource); }

  std::vector<std::string> chain;
  const std::string resource;
  const Deadline deadline;
  Instant started;
  std::uint64_t number = 0;   ///< ascends in the order of the fetches' starts
  std::uint64_t epoch = 0;    ///< of the cache when the fetch began
  LevelAnswers found;         ///< limits at LevelsOf(chain, resource), for the members read so far
  std::vector<Asker> askers;  ///< guarded by Remembered::mutex, like `later`
  std::vector<Asker> later;   ///< callers for which it began too early; they share the next fetch
};

inline bool Resolver::Asker::Accepts(const Fetch& fetch) const {
  return !after || fetch.number > *after;
}

/// The two reads of one member of a chain. The second one to complete continues the fetch.
struct Resolver::Reading {
  explicit Reading(FetchPtr whose) : fetch(std::move(whose)) {}
  bool IsLast() { return answers.fetch_add(1, std::memory_order_acq_rel) == 1; }

  FetchPtr fetch;
  Result<std::vector<std::optional<EntityRecord>>> records;
  Result<LevelAnswers> limits;
  std::atomic<int> answers = 0;
};

struct Resolver::Remembered {
  explicit Remembered(std::size_t capacity) : cache(capacity) {}

  ResolutionCache cache;
  ThreadCache hot;
  TargetInterner shared;
  Mutex mutex;  ///< acquired before the lock of a stripe of the cache
  std::unordered_map<PairKey, FetchPtr, PairHash> fetches WEIR_GUARDED_BY(mutex);
};

}  // namespace weir
