// A slow and obvious store of slots. For tests of the contract only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weir/store/reservation/reservation_store.h"

namespace weir {

/// Lists all slots that ever existed and all ends that were reported. Expiries are copied from the
/// store under test, after a check that they are as requested. Between a slot's expiry and the end
/// of the allowance for skewed clocks, the slot may count or not.
class ObviousSlots {
 public:
  struct Counts {
    std::int64_t least = 0;
    std::int64_t most = 0;
  };

  explicit ObviousSlots(milliseconds skew) : skew_(skew) {}

  std::vector<HeldSlot>& ever(const AccountKey& key) { return ever_[key]; }
  static bool IsHeld(const HeldSlot& slot, UnixMillis now) { return now < slot.expires; }
  bool MayCount(const HeldSlot& slot, UnixMillis now) const { return now < slot.expires + skew_; }
  // Makes the slot as if it had never existed.
  static void End(HeldSlot& slot) { slot.expires = {0}; }

  Counts Count(const AccountKey& key, UnixMillis now) {
    Counts counts;
    for (const HeldSlot& slot : ever(key)) {
      counts.least += IsHeld(slot, now) ? 1 : 0;
      counts.most += MayCount(slot, now) ? 1 : 0;
    }
    return counts;
  }

  // Returns all slots that are bound to the resource and were not claimed after its end.
  std::vector<HeldSlot*> Bound(const EndedResource& ended) {
    std::vector<HeldSlot*> bound;
    for (auto& [key, slots] : ever_) {
      for (HeldSlot& slot : slots) {
        const bool of_it = slot.bound() && slot.resource_id == ended.resource_id;
        if (of_it && slot.claimed <= ended.ended_at) bound.push_back(&slot);
      }
    }
    return bound;
  }

  // Returns a time of an end, not after `at`, from which it is clear for each slot whether it was
  // claimed before: a store may decide either way within a second.
  UnixMillis ClearEnd(UnixMillis at) const {
    bool clear = false;
    while (!clear) {
      clear = true;
      for (const auto& [key, slots] : ever_) {
        for (const HeldSlot& slot : slots) {
          if (slot.claimed < at || slot.claimed > at + milliseconds(1000)) continue;
          at = slot.claimed - milliseconds(1001);
          clear = false;
        }
      }
    }
    return at;
  }

  void Remember(const EndedResource& ended) { ended_.push_back(ended); }
  // Returns true if the latest end that was reported must prevent the binding.
  bool MustHaveEnded(const HeldSlot& slot, const std::string& resource_id, UnixMillis now) const {
    for (auto it = ended_.rbegin(); it != ended_.rend(); ++it) {
      if (it->resource_id != resource_id) continue;
      return slot.claimed < it->ended_at && now < it->remember_until;
    }
    return false;
  }
  // Returns true if an end may prevent the binding. Of several ends, a store may remember the
  // latest for the longest of their times.
  bool MayHaveEnded(const HeldSlot& slot, const std::string& resource_id, UnixMillis now) const {
    const milliseconds second(1000);
    bool before_one = false;
    bool remembered = false;
    for (const EndedResource& ended : ended_) {
      if (ended.resource_id != resource_id) continue;
      before_one |= slot.claimed <= ended.ended_at + second;
      remembered |= now < ended.remember_until + second;
    }
    return before_one && remembered;
  }

 private:
  milliseconds skew_;
  std::map<AccountKey, std::vector<HeldSlot>> ever_;
  std::vector<EndedResource> ended_;
};

}  // namespace weir
