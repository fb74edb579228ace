#include "weir/limiter/resolution/resolution_cache.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "weir/bucket/key_hash.h"

namespace weir {
namespace {

// A small cache has one stripe: several would divide its capacity unevenly.
constexpr std::size_t kStripes = 64;
constexpr std::size_t kMinStripedCapacity = 64 * kStripes;

std::uint64_t BitOf(std::string_view entity) {
  return std::uint64_t{1} << (std::hash<std::string_view>{}(entity) % 64);
}

}  // namespace

PairKey::PairKey(std::string_view entity_id, std::string_view resource_name)
    : entity(entity_id), resource(resource_name), hash(HashNames(entity_id, resource_name)) {}

ResolutionCache::ResolutionCache(std::size_t capacity) {
  const std::size_t stripes = capacity >= kMinStripedCapacity ? kStripes : 1;
  for (std::size_t i = 0; i < stripes; ++i) stripes_.emplace_back();
  capacity_ = capacity / stripes;
}

ResolutionCache::Slot& ResolutionCache::Stripe::FreeSlot(std::size_t capacity) {
  if (!vacant.empty()) {
    Slot& slot = *vacant.back();
    vacant.pop_back();
    return slot;
  }
  if (slots.size() < capacity) return slots.emplace_back();
  while (slots[hand].used) {
    slots[hand].used = false;
    hand = (hand + 1) % slots.size();
  }
  Slot& oldest = slots[hand];
  hand = (hand + 1) % slots.size();
  Remove(oldest);
  ++evicted;
  return oldest;
}

void ResolutionCache::Stripe::Remove(Slot& slot) {
  index.erase(&slot);
  slot.resolution = nullptr;
}

ResolutionCache::Found ResolutionCache::Find(const PairKey& pair, Instant now) {
  Stripe& stripe = StripeOf(pair);
  const MutexLock lock(stripe.mutex);
  const auto found = stripe.index.find(pair);
  if (found == stripe.index.end()) return {};
  Slot& slot = **found;
  if (slot.expires <= now || slot.epoch < floor_.load(std::memory_order_acquire)) return {};
  if (!slot.used) slot.used = true;
  return {slot.resolution, slot.expires};
}

void ResolutionCache::Put(const PairKey& pair, ResolutionPtr resolution, Instant expires,
                          std::uint64_t epoch) {
  if (capacity_ == 0) return;
  Stripe& stripe = StripeOf(pair);
  const MutexLock lock(stripe.mutex);
  // The epoch is compared under the stripe's lock: DropEntity increases the epoch before it locks
  // the stripe, so either DropEntity sees this pair or the epochs differ.
  if (epoch != this->epoch()) return;
  const auto found = stripe.index.find(pair);
  const bool is_known = found != stripe.index.end();
  if (is_known && (*found)->epoch == epoch && (*found)->expires > expires) return;
  Slot& slot = is_known ? **found : stripe.FreeSlot(capacity_);
  if (!is_known) {
    slot.hash = pair.hash;
    slot.entity = pair.entity;
    slot.resource = pair.resource;
    stripe.index.insert(&slot);
  }
  slot.members = 0;
  for (const std::string& member : resolution->chain) slot.members |= BitOf(member);
  std::swap(slot.resolution, resolution);  // the old one is destroyed after the lock is released
  slot.expires = expires;
  slot.epoch = epoch;
  slot.used = false;
}

void ResolutionCache::Clear() {
  const MutexLock lock(changing_);
  DropAll();
}

void ResolutionCache::EvictEntity(std::string_view entity) {
  const MutexLock lock(changing_);
  DropEntity(entity);
}

// `changing_` serializes drops, so no other drop can come between the comparison and the new epoch.
std::uint64_t ResolutionCache::DropAffected(const AffectedPairs& affected, std::uint64_t since) {
  const MutexLock lock(changing_);
  const bool is_current = epoch() == since;
  if (affected.all) {
    DropAll();
  } else {
    for (const std::string& entity : affected.entities) DropEntity(entity);
  }
  return is_current ? epoch() : since;
}

void ResolutionCache::DropAll() {
  const std::uint64_t next = epoch() + 1;
  // The floor is stored first: a thread that sees the new epoch finds no pair of an earlier one.
  floor_.store(next, std::memory_order_release);
  epoch_.store(next, std::memory_order_release);
}

// Increases the epoch before and after the scan. The first increment keeps a fetch that began
// earlier from putting its result into a stripe that was already scanned. After the second
// increment, a copy that a ThreadCache took from a stripe before the scan belongs to a past epoch.
void ResolutionCache::DropEntity(std::string_view entity) {
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  for (Stripe& stripe : stripes_) stripe.Evict(entity);
  epoch_.fetch_add(1, std::memory_order_acq_rel);
}

void ResolutionCache::Stripe::Evict(std::string_view entity) {
  const std::uint64_t bit = BitOf(entity);
  const MutexLock lock(mutex);
  for (Slot& slot : slots) {
    if (slot.resolution == nullptr || (slot.members & bit) == 0) continue;
    const std::vector<std::string>& chain = slot.resolution->chain;
    if (std::ranges::find(chain, entity) == chain.end()) continue;
    Remove(slot);
    vacant.push_back(&slot);
  }
}

std::size_t ResolutionCache::size() const {
  std::size_t size = 0;
  for (const Stripe& stripe : stripes_) {
    const MutexLock lock(stripe.mutex);
    size += stripe.index.size();
  }
  return size;
}

std::uint64_t ResolutionCache::evicted() const {
  std::uint64_t evicted = 0;
  for (const Stripe& stripe : stripes_) {
    const MutexLock lock(stripe.mutex);
    evicted += stripe.evicted;
  }
  return evicted;
}

}  // namespace weir
