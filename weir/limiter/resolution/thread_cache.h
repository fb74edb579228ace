// A per-thread cache of the pairs that a thread uses repeatedly.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/limiter/resolution/resolution_cache.h"
#include "weir/telemetry/thread_number.h"

namespace weir {

/// A small table for each thread in front of ResolutionCache. Its entries have reference counts of
/// their own, also for the targets, so that two threads that use one pair share no cache line that
/// either of them writes. Thread-safe: threads beyond kLanes share tables.
class ThreadCache {
 public:
  /// Returns the pair's limits if they were stored in this epoch and are valid at `now`, or null.
  ResolvedPtr Find(const PairKey& pair, Instant now, std::uint64_t epoch);
  /// Offers a pair that Find did not return. It is stored if it is offered twice in a row, so that
  /// pairs that are used once do not evict others.
  void Offer(const PairKey& pair, const ResolvedPtr& resolved, Instant expires,
             std::uint64_t epoch);
  /// Drops the pair from the tables of all threads.
  void DropPair(const PairKey& pair);

 private:
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kEntries = 1024;

  struct Entry {
    std::uint64_t epoch = 0;
    Instant expires;
    std::size_t offered = 0;  ///< hash of the last offer
    ResolvedPtr resolved;     ///< the key of its first target names the pair
  };
  struct alignas(kCacheLine) Lane {
    Mutex mutex;
    std::vector<Entry> entries WEIR_GUARDED_BY(mutex);  ///< empty until the first offer
  };

  std::array<Lane, kLanes> lanes_;
};

}  // namespace weir
