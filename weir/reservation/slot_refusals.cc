#include "weir/reservation/slot_refusals.h"

#include <algorithm>

#include "weir/runtime/add_saturated.h"

namespace weir {

std::optional<SlotRefusals::CachedRefusal> SlotRefusals::Find(const AccountKey& key,
                                                              std::int64_t limit, Instant now) {
  const CachedRefusal* found = cache_.Find(key, now);
  if (found == nullptr) return std::nullopt;
  if (found->full.limit == limit) return *found;
  cache_.Drop(key);
  return std::nullopt;
}

bool SlotRefusals::CacheRefusal(const AccountKey& key, const ClaimRefusal& full,
                                std::uint64_t stamp, Instant now) {
  cache_.Drop(key);
  if (stamp != StampOf(key)) return false;
  const Instant until = CachedUntil(full, now);
  if (until > now) cache_.Put(key, {full, until}, until);
  return true;
}

void SlotRefusals::OnReleased(const AccountKey& key) {
  ++stamps_[StampIndexOf(key)];
  cache_.Drop(key);
}

Instant SlotRefusals::CachedUntil(const ClaimRefusal& full, Instant now) const {
  if (!full.next_expiry) return AddSaturated(now, std::min(full_for_, kFullForUnknown));
  return std::min(*full.next_expiry, AddSaturated(now, full_for_));
}

}  // namespace weir
