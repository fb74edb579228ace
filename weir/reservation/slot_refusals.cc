#include "weir/reservation/slot_refusals.h"

#include <algorithm>

#include "weir/runtime/later.h"

namespace weir {

std::optional<SlotRefusals::Belief> SlotRefusals::Find(const AccountKey& key, std::int64_t limit,
                                                       Instant now) {
  const Belief* found = believed_.Find(key, now);
  if (found == nullptr) return std::nullopt;
  if (found->full.limit == limit) return *found;
  believed_.Forget(key);
  return std::nullopt;
}

bool SlotRefusals::Remember(const AccountKey& key, const SlotsFull& full, std::uint64_t stamp,
                            Instant now) {
  believed_.Forget(key);
  if (stamp != Stamp(key)) return false;
  const Instant until = BelievedUntil(full, now);
  if (until > now) believed_.Put(key, {full, until}, until);
  return true;
}

void SlotRefusals::Released(const AccountKey& key) {
  ++stamps_[PlaceOf(key)];
  believed_.Forget(key);
}

Instant SlotRefusals::BelievedUntil(const SlotsFull& full, Instant now) const {
  if (!full.next_expiry) return Later(now, std::min(full_for_, kFullForUnknown));
  return std::min(*full.next_expiry, Later(now, full_for_));
}

}  // namespace weir
