// The base of the tests of SlotStore.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weir/rate_limiter_py/testing/slot_fixture.h"

namespace weir::rate_limiter_py {

inline constexpr std::int64_t kPlenty = 100'000;
inline constexpr milliseconds kSlotTtl = std::chrono::seconds(30);

/// One client with the true time, and slots of one key.
class SlotStoreTest : public testing::Test {
 protected:
  // Claims with a new id.
  Result<ClaimResult> Claim(std::int64_t limit, milliseconds ttl = kSlotTtl) {
    return client_.Claim({.slot = {kEmr, IdOf(++ids_)}, .limit = limit, .ttl = ttl}, now_);
  }
  HeldSlot Held(milliseconds ttl = kSlotTtl) { return *Claim(kPlenty, ttl).value().slot; }
  static SlotRef Ref(const HeldSlot& slot) { return {slot.key, slot.id}; }
  std::vector<std::string> Ids() {
    const Page<HeldSlot> page = client_.List(kEmr, now_).value();
    std::vector<std::string> ids;
    for (const HeldSlot& slot : page.items) ids.push_back(slot.id);
    return ids;
  }
  std::uint64_t CallsOf(auto&& verb) {
    const std::uint64_t before = table_.sim.client.calls();
    verb();
    return table_.sim.client.calls() - before;
  }
  // Checks that the roster agrees with the rows, except for rows of dropped slots.
  void ExpectInStep() {
    Roster roster = table_.RosterOf(kEmr);
    std::erase_if(roster.expiring, [](const auto& entry) { return entry.second == 0; });
    std::map<std::int64_t, std::int64_t> rows = table_.OurRows(kEmr);
    rows.erase(rows.begin(), rows.upper_bound(roster.dropped_until));
    EXPECT_EQ(roster.expiring, rows);
  }

  SlotTable table_;
  SlotClient client_{table_};
  UnixMillis now_ = kNewYear;
  std::uint64_t ids_ = 0;
};

}  // namespace weir::rate_limiter_py
