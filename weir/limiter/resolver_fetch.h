// What a Resolver is made of.
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
#include "weir/limiter/resolution_cache.h"
#include "weir/limiter/target_interner.h"
#include "weir/limiter/thread_cache.h"

namespace weir {

struct Resolver::Asker {
  Deadline deadline;
  Done<ResolvedPtr> done;
  /// The number of the last fetch that began too early; nothing: any fetch and the cache will do.
  std::optional<std::uint64_t> after{};

  bool Accepts(const Fetch& fetch) const;
};

/// One resolution that is under way, and those who wait for it.
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
  std::uint64_t number = 0;  ///< in the order of their beginning
  std::uint64_t epoch = 0;
  LevelAnswers found;         ///< at LevelsOf(chain, resource), as far as the chain is read
  std::vector<Asker> askers;  ///< guarded by Remembered::mutex, as the next
  std::vector<Asker> later;   ///< those for whom it began too early; they share the next fetch
};

inline bool Resolver::Asker::Accepts(const Fetch& fetch) const {
  return !after || fetch.number > *after;
}

/// What is asked about one member of a chain. The second of the two answers goes on.
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
  Mutex mutex;  ///< taken before a stripe's of the cache
  std::unordered_map<PairKey, FetchPtr, PairHash> fetches WEIR_GUARDED_BY(mutex);
};

}  // namespace weir
