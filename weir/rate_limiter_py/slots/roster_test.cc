#include "weir/rate_limiter_py/slots/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/rate_limiter_py/testing/slot_fixture.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::Write;
using testing::HasSubstr;

constexpr std::int64_t kSecond = kNewYear.value / 1000;

// Removes the seconds without slots, which an item may or may not have.
Roster Significant(Roster roster) {
  std::erase_if(roster.expiring, [](const auto& entry) { return entry.second == 0; });
  return roster;
}

// A roster in the table, and a Roster with the same changes.
struct Both {
  SlotTable table;
  Roster model;

  bool Apply(const Write& write) {
    bool applied = false;
    table.sim.table.Apply(write, false, Deadline::Never(),
                          [&](const auto& result) { applied = result.has_value(); });
    return applied;
  }
  Roster Stored() { return Significant(table.RosterOf(kEmr)); }
  bool Accepts(std::int64_t second) const {
    return !model.IsSweepDue() && second > model.dropped_until;
  }

  void Take(const TakeArgs& taking) {
    const bool fits = model.held < taking.room && Accepts(taking.second);
    RC_ASSERT(Apply(TakeWrite(kEmr, taking)) == fits);
    if (!fits) return;
    model.AddSlot(taking.second, taking.now);
    ++model.version;
  }
  void Move(const MoveArgs& moving) {
    const bool fits = model.Counts(moving.from) && Accepts(moving.to);
    RC_ASSERT(Apply(MoveWrite(kEmr, moving)) == fits);
    if (!fits) return;
    model.Move(moving.from, moving.to, moving.now);
    ++model.version;
  }
  void GiveBack(std::int64_t second) {
    const bool fits = model.Counts(second);
    RC_ASSERT(Apply(GiveBackWrite(kEmr, second)) == fits);
    if (!fits) return;
    --model.held;
    --model.expiring[second];
    ++model.version;
  }
  void DropExpired(std::int64_t second, bool is_stale) {
    Roster after = model;
    after.DropExpired(second);
    Roster seen = model;
    seen.version += is_stale ? 1 : 0;
    RC_ASSERT(Apply(ReplaceWrite(kEmr, seen, after)) == !is_stale);
    if (is_stale) return;
    model = after;
    ++model.version;
    model.sweep = model.version + kSweepEvery;
  }
};

// Fails if: a write makes another change than the Roster, or fails although the Roster allows it.
RC_GTEST_PROP(Roster, TheTableDoesWhatTheValueDoes, ()) {
  Both both;
  const auto steps = *rc::gen::inRange(1, 150);
  for (int i = 0; i < steps; ++i) {
    const std::int64_t second = kSecond + *rc::gen::inRange(0, 5);
    const std::int64_t other = kSecond + *rc::gen::inRange(0, 5);
    const UnixMillis now = kNewYear + milliseconds(i);
    switch (*rc::gen::weightedElement<int>({{6, 0}, {4, 1}, {3, 2}, {1, 3}})) {
      case 0:
        both.Take({.second = second, .room = *rc::gen::inRange(1, 12), .now = now});
        break;
      case 1:
        both.Move({.from = second, .to = other, .now = now});
        break;
      case 2:
        both.GiveBack(second);
        break;
      default:
        both.DropExpired(kSecond - 3 + *rc::gen::inRange(0, 5), *rc::gen::arbitrary<bool>());
    }
    RC_ASSERT(both.Stored() == Significant(both.model));
    std::int64_t sum = 0;
    for (const auto& [at, slots] : both.model.expiring) sum += slots;
    RC_ASSERT(both.model.held == sum);
  }
}

// Without the sweep the item would grow by a second for each slot, and reach 400 KB in the end.
TEST(Roster, IsSweptBeforeItGrows) {
  Both both;
  for (std::int64_t i = 0; i < kSweepEvery; ++i) {
    ASSERT_TRUE(both.Apply(TakeWrite(kEmr, {kSecond + i, 1, kNewYear}))) << i;
    ASSERT_TRUE(both.Apply(GiveBackWrite(kEmr, kSecond + i)));
    if (2 * (i + 1) == kSweepEvery) break;
  }
  const TakeArgs next{kSecond + kSweepEvery, 1, kNewYear};
  EXPECT_FALSE(both.Apply(TakeWrite(kEmr, next)));
  EXPECT_EQ(both.table.RosterOf(kEmr).expiring.size(), kSweepEvery / 2);
  const Roster seen = both.table.RosterOf(kEmr);
  EXPECT_TRUE(both.Apply(ReplaceWrite(kEmr, seen, seen)));
  EXPECT_TRUE(both.table.RosterOf(kEmr).expiring.empty());
  EXPECT_TRUE(both.Apply(TakeWrite(kEmr, next)));
}

TEST(Roster, WhatIsGivenAwayIsGoneForGood) {
  Roster roster;
  roster.AddSlot(kSecond, kNewYear);
  roster.AddSlot(kSecond + 1, kNewYear);
  roster.AddSlot(kSecond + 1, kNewYear);
  roster.AddSlot(kSecond + 5, kNewYear);
  roster.DropExpired(kSecond + 3);
  EXPECT_EQ(roster.held, 1);
  EXPECT_EQ(roster.dropped_until, kSecond + 1) << "no later than the last slot that is gone";
  EXPECT_FALSE(roster.Counts(kSecond));
  EXPECT_EQ(roster.Earliest(), kSecond + 5);
  roster.Recount({{kSecond + 1, 7}, {kSecond + 5, 2}}, kNewYear);
  EXPECT_EQ(roster.held, 2) << "rows of those that are gone stay for a while";
  EXPECT_EQ(roster.counted, kNewYear);
}

TEST(Roster, TwoKeysOfOneCoordinateHaveTwo) {
  const AccountKey one{"a:b", "c"};
  const AccountKey other{"a", "b:c"};
  EXPECT_EQ(RosterKey(one).pk, RosterKey(other).pk);
  EXPECT_NE(RosterKey(one).sk, RosterKey(other).sk);
}

TEST(Roster, ANumberThatIsNoneIsToldByName) {
  for (const char* const name : {"w_held", "w_v", "w_e12", "w_etwelve"}) {
    dynamo::Item item =
        ToItem(RosterKey(kEmr), {std::string(kCoordinate), std::string(kReservationId), ""});
    item.emplace(name, dynamo::Of("many"));
    const auto roster = ReadRoster(item);
    ASSERT_FALSE(roster) << name;
    EXPECT_EQ(roster.error().code, Code::kDataLoss);
    EXPECT_THAT(roster.error().message, HasSubstr(name));
    EXPECT_THAT(roster.error().message, HasSubstr("emr:acme"));
  }
}

}  // namespace
}  // namespace weir::rate_limiter_py
