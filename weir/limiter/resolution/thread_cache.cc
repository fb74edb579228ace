#include "weir/limiter/resolution/thread_cache.h"

#include <utility>

namespace weir {
namespace {

// Returns a pointer to the same object with a reference count of its own.
template <class T>
std::shared_ptr<T> OwnCount(const std::shared_ptr<T>& shared) {
  return std::shared_ptr<T>(std::make_shared<std::shared_ptr<T>>(shared), shared.get());
}

ResolvedPtr OwnCopy(const Resolved& resolved) {
  Resolved copy = resolved;
  for (TargetPtr& target : copy.targets) target = OwnCount(target);
  return std::make_shared<const Resolved>(std::move(copy));
}

bool IsOf(const Resolved& resolved, const PairKey& pair) {
  const BucketKey& own = resolved.targets.front()->key;
  return own.entity == pair.entity && own.resource == pair.resource;
}

}  // namespace

ResolvedPtr ThreadCache::Find(const PairKey& pair, Instant now, std::uint64_t epoch) {
  Lane& lane = lanes_[ThreadNumber() % kLanes];
  const MutexLock lock(lane.mutex);
  if (lane.entries.empty()) return nullptr;
  const Entry& entry = lane.entries[pair.hash % kEntries];
  const bool is_valid = entry.resolved != nullptr && entry.epoch == epoch && now < entry.expires;
  if (!is_valid || !IsOf(*entry.resolved, pair)) return nullptr;
  return entry.resolved;
}

void ThreadCache::Offer(const PairKey& pair, const ResolvedPtr& resolved, Instant expires,
                        std::uint64_t epoch) {
  Lane& lane = lanes_[ThreadNumber() % kLanes];
  ResolvedPtr old;  // destroyed after the lock is released
  const MutexLock lock(lane.mutex);
  if (lane.entries.empty()) lane.entries.resize(kEntries);
  Entry& entry = lane.entries[pair.hash % kEntries];
  if (std::exchange(entry.offered, pair.hash) != pair.hash) return;
  old = std::exchange(entry.resolved, OwnCopy(*resolved));
  entry.expires = expires;
  entry.epoch = epoch;
}

void ThreadCache::DropPair(const PairKey& pair) {
  for (Lane& lane : lanes_) {
    ResolvedPtr old;  // destroyed after the lock is released
    const MutexLock lock(lane.mutex);
    if (lane.entries.empty()) continue;
    Entry& entry = lane.entries[pair.hash % kEntries];
    if (entry.resolved != nullptr && IsOf(*entry.resolved, pair)) old.swap(entry.resolved);
  }
}

}  // namespace weir
