// The pairs that a thread asks for again and again, kept where no other thread writes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/limiter/resolution_cache.h"
#include "weir/telemetry/thread_slot.h"

namespace weir {

/// A small table for each thread in front of the cache. Its entries have reference counts of their
/// own, also for the targets, so that two threads that work on one pair share no line that either
/// of them writes. Thread-safe: threads beyond kLanes share tables.
class ThreadCache {
 public:
  /// Null unless it was put since `epoch` began and is still believed at `now`.
  ResolvedPtr Find(const PairKey& pair, Instant now, std::uint64_t epoch);
  /// To be offered a pair that Find did not have. Takes it when it is offered twice in a row, so
  /// that pairs which are asked for once do not drive out the others.
  void Offer(const PairKey& pair, const ResolvedPtr& resolved, Instant expires,
             std::uint64_t epoch);
  /// Forgets the pair in the tables of all threads.
  void Forget(const PairKey& pair);

 private:
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kEntries = 1024;

  struct Entry {
    std::uint64_t epoch = 0;
    Instant expires;
    std::size_t offered = 0;  ///< hash of the last offer
    ResolvedPtr resolved;     ///< its first target has the names of the pair
  };
  struct alignas(kCacheLine) Lane {
    Mutex mutex;
    std::vector<Entry> entries WEIR_GUARDED_BY(mutex);  ///< empty until the first offer
  };

  std::array<Lane, kLanes> lanes_;
};

}  // namespace weir
