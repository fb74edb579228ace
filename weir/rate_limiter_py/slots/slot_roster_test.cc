// Slots of rate-limiter-py next to ours, slots that it deletes, and the number of requests of
// calls.
#include "weir/rate_limiter_py/slots/slot_store.h"

#include "weir/rate_limiter_py/testing/slot_store_fixture.h"

namespace weir::rate_limiter_py {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_F(SlotStoreTest, SlotsOfRateLimiterPyCount) {
  table_.PyReserve(kEmr, "1f", now_ + seconds(20));
  table_.PyReserve(kEmr, "2f", now_ + seconds(40));
  table_.PyReserve(kEmr, "3f", now_);
  ASSERT_TRUE(Claim(3, seconds(50)).value().slot);
  const ClaimResult refused = Claim(3).value();
  EXPECT_FALSE(refused.slot);
  EXPECT_EQ(refused.in_use, 3);
  EXPECT_EQ(refused.next_expiry, now_ + seconds(20));
  EXPECT_EQ(Claim(2).value().in_use, 3) << "theirs alone are too many";
  EXPECT_EQ(table_.PyCount(kEmr, now_), 3U) << "and ours count for them";
  now_ = now_ + seconds(20);
  EXPECT_TRUE(Claim(3).value().slot) << "live while now is before their expirationTime";
}

// Only as many of them are read as needed to know that there is no room.
TEST_F(SlotStoreTest, MoreSlotsOfTheirsThanAPageAreCounted) {
  for (int i = 0; i < 1500; ++i) table_.PyReserve(kEmr, std::to_string(i), now_ + minutes(5));
  EXPECT_EQ(CallsOf([&] { EXPECT_TRUE(Claim(1501).value().slot); }), 3U);
  EXPECT_FALSE(Claim(1501).value().slot);
  EXPECT_EQ(Claim(1500).value().next_expiry, now_ + kSlotTtl + seconds(1));
  EXPECT_EQ(CallsOf([&] {
              const ClaimResult refused = Claim(500).value();
              EXPECT_GE(refused.in_use, 500);
              EXPECT_EQ(refused.next_expiry, std::nullopt) << "one that was not read may be first";
            }),
            2U);
}

TEST_F(SlotStoreTest, SlotsOfRateLimiterPyAreBoundRenewedAndReleasedToo) {
  table_.PyReserve(kEmr, "1f", now_ + minutes(5));
  const SlotRef theirs{kEmr, "1f"};
  EXPECT_EQ(client_.Renew(theirs, minutes(10), now_).value().expires,
            now_ + minutes(10) + seconds(8));
  const HeldSlot bound = client_.Bind(theirs, "j-1", hours(8), now_).value();
  EXPECT_EQ(bound.resource_id, "j-1");
  EXPECT_EQ(bound.claimed, UnixMillis{0});
  EXPECT_FALSE(table_.sim.Get(RosterKey(kEmr))) << "theirs have no place in it";
  EXPECT_TRUE(client_.Release(theirs, now_).value());
  EXPECT_FALSE(table_.Row(kEmr, "1f"));
}

TEST_F(SlotStoreTest, WhatTheirEventManagerDeletesIsFreeAfterARecount) {
  const HeldSlot slot = Held(hours(8));
  table_.PyDelete(kEmr, slot.id);
  EXPECT_FALSE(Claim(1).value().slot) << "it may have been claimed a moment ago";
  now_ = now_ + seconds(2);
  EXPECT_FALSE(Claim(1).value().slot) << "R13: its date may be early, by two seconds at most";
  now_ = now_ + seconds(1);
  const auto next = Claim(1, hours(8)).value().slot;
  ASSERT_TRUE(next);
  table_.PyDelete(kEmr, next->id);
  now_ = now_ + seconds(9);
  EXPECT_FALSE(Claim(1).value().slot) << "the roster is believed for ten seconds";
  now_ = now_ + seconds(1);
  EXPECT_TRUE(Claim(1).value().slot);
  ExpectInStep();
}

// R13. A query may miss a row that was written a moment ago, so the roster must have the time of
// the write. Fails if: the write of a slow call has the time at which the call began.
TEST_F(SlotStoreTest, R13WhatASlowClaimWritesIsDatedWhenItIsWritten) {
  table_.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation == "Query") table_.sim.scheduler.Advance(seconds(8));
  };
  const HeldSlot slot = Held(hours(8));
  table_.sim.client.before_each = nullptr;
  EXPECT_EQ(slot.claimed, now_);
  EXPECT_EQ(table_.RosterOf(kEmr).written, now_ + seconds(8));
  table_.PyDelete(kEmr, slot.id);
  now_ = now_ + seconds(9);
  EXPECT_FALSE(Claim(1).value().slot) << "it may have been claimed a moment ago";
  now_ = now_ + seconds(2);
  EXPECT_TRUE(Claim(1).value().slot);
}

TEST_F(SlotStoreTest, R13WhatASlowRenewalWritesIsDatedWhenItIsWritten) {
  const HeldSlot slot = Held();
  table_.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation == "BatchGetItem") table_.sim.scheduler.Advance(seconds(8));
  };
  EXPECT_TRUE(client_.Renew(Ref(slot), hours(1), now_));
  EXPECT_EQ(table_.RosterOf(kEmr).written, now_ + seconds(8));
}

// R13. Fails if: a request that waits for a connection is written with an old date; or a release,
// which has no date, is made twice.
TEST_F(SlotStoreTest, R13AClaimThatWaitsToBeSentIsDatedAgain) {
  bool waits = true;
  table_.sim.client.clock = &table_.sim.scheduler.clock();
  table_.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "TransactWriteItems" || !std::exchange(waits, false)) return;
    table_.sim.scheduler.Advance(seconds(8));
  };
  const HeldSlot slot = Held(hours(8));
  EXPECT_FALSE(waits);
  EXPECT_GE(table_.RosterOf(kEmr).written, now_ + seconds(8));
  waits = true;
  EXPECT_TRUE(client_.Renew(Ref(slot), hours(16), now_ + seconds(8)));
  EXPECT_GE(table_.RosterOf(kEmr).written, now_ + seconds(16));
  waits = true;
  EXPECT_EQ(CallsOf([&] { EXPECT_TRUE(client_.Release(Ref(slot), now_).value()); }), 2U);
}

// R13. Fails if: a slow call computes the age of others' writes from the time at which it began.
TEST_F(SlotStoreTest, R13ASlowClaimDoesNotRecountWhatWasWrittenMeanwhile) {
  bool is_first = true;
  table_.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "Query" || !std::exchange(is_first, false)) return;
    table_.sim.scheduler.Advance(seconds(8));
    const SlotClaim other{.slot = {kEmr, IdOf(99)}, .limit = 1, .ttl = hours(8)};
    EXPECT_TRUE(client_.Claim(other, now_ + seconds(8)).value().slot);
    table_.PyDelete(kEmr, IdOf(99));
  };
  EXPECT_FALSE(Claim(1).value().slot) << "it may have been claimed a moment ago";
  EXPECT_FALSE(is_first);
}

// Otherwise each refusal would cost a query of all slots.
TEST_F(SlotStoreTest, AFullRosterIsRecountedOnceInAWhile) {
  Held(hours(8));
  now_ = now_ + minutes(1);
  EXPECT_EQ(CallsOf([&] { EXPECT_FALSE(Claim(1).value().slot); }), 4U);
  now_ = now_ + seconds(9);
  EXPECT_EQ(CallsOf([&] { EXPECT_FALSE(Claim(1).value().slot); }), 2U);
  now_ = now_ + seconds(1);
  EXPECT_EQ(CallsOf([&] { EXPECT_FALSE(Claim(1).value().slot); }), 4U);
}

// Another program deletes a slot of ours, which we then release.
TEST_F(SlotStoreTest, ARecountIsNotMisledByWhatComesInBetween) {
  const HeldSlot gone = Held(hours(8));
  Held(hours(8));
  table_.PyDelete(kEmr, gone.id);
  now_ = now_ + minutes(1);
  bool is_first = true;
  table_.sim.client.before_each = [&](const JsonCall& call) {
    if (call.body.find("begins_with") == std::string::npos || !std::exchange(is_first, false))
      return;
    EXPECT_TRUE(Claim(3, hours(8)).value().slot);
  };
  EXPECT_FALSE(Claim(2).value().slot);
  table_.sim.client.before_each = nullptr;
  EXPECT_FALSE(is_first);
  EXPECT_EQ(table_.OurRows(kEmr).begin()->second, 2);
  EXPECT_FALSE(Claim(2).value().slot);
}

// With 10,000 held slots, a claim that is admitted and a release take at most three requests.
TEST_F(SlotStoreTest, CostsAsMuchWithTenThousandHeld) {
  Roster full;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const HeldSlot slot{.key = kEmr,
                        .id = IdOf(1000 + i),
                        .resource_id = IdOf(1000 + i),
                        .claimed = now_,
                        .expires = now_ + seconds(3600 + 16 * static_cast<int>(i % 60))};
    table_.sim.Put(SlotItem(slot));
    full.AddSlot(SecondOf(slot), now_);
  }
  table_.sim.Put(ReplaceWrite(kEmr, {}, full).item);
  EXPECT_EQ(CallsOf([&] { EXPECT_TRUE(Claim(10'001).value().slot); }), 2U);
  EXPECT_EQ(CallsOf([&] { EXPECT_FALSE(Claim(10'001).value().slot); }), 2U);
  EXPECT_EQ(CallsOf([&] { EXPECT_TRUE(client_.Release({kEmr, IdOf(1000)}, now_).value()); }), 2U);
  EXPECT_EQ(CallsOf([&] { EXPECT_TRUE(client_.Renew({kEmr, IdOf(1001)}, hours(2), now_)); }), 2U);
  now_ = now_ + seconds(3601);
  EXPECT_EQ(CallsOf([&] { EXPECT_TRUE(Claim(5000, hours(1)).value().in_use > 9000); }), 5U)
      << "a refusal recounts once in a while: a page for each megabyte";
  EXPECT_EQ(CallsOf([&] { EXPECT_TRUE(Claim(10'001, hours(1)).value().slot); }), 2U);
  now_ = now_ + hours(4);
  EXPECT_EQ(CallsOf([&] { EXPECT_TRUE(Claim(1, hours(1)).value().slot); }), 3U)
      << "all of them expired";
  EXPECT_EQ(table_.RosterOf(kEmr).held, 1);
}

// Otherwise the item would grow by a second with each slot.
TEST_F(SlotStoreTest, ARosterStaysSmallWhileSlotsComeAndGo) {
  const SlotRef kept = Ref(Held(seconds(20)));
  for (int i = 0; i < 300; ++i) {
    now_ = now_ + seconds(1);
    ASSERT_TRUE(client_.Renew(kept, seconds(20), now_));
    ASSERT_LE(CallsOf([&] { ASSERT_TRUE(client_.Release(Ref(Held(seconds(10))), now_).value()); }),
              5U);
    ASSERT_LE(table_.RosterOf(kEmr).expiring.size(), 100U);
  }
  for (int i = 0; i < 300; ++i) {
    now_ = now_ + seconds(1);
    ASSERT_TRUE(client_.Renew(kept, seconds(20), now_));
    ASSERT_LE(table_.RosterOf(kEmr).expiring.size(), 100U);
  }
  ExpectInStep();
}

// Otherwise another slot that expires at the former second would be removed from the count.
TEST_F(SlotStoreTest, AReleaseGivesBackThePlaceThatARenewalMoved) {
  const HeldSlot slot = Held();
  Held();
  bool is_first = true;
  table_.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "TransactWriteItems" || !std::exchange(is_first, false)) return;
    EXPECT_TRUE(client_.Renew(Ref(slot), hours(1), now_));
  };
  EXPECT_TRUE(client_.Release(Ref(slot), now_).value());
  table_.sim.client.before_each = nullptr;
  EXPECT_EQ(table_.RosterOf(kEmr).held, 1);
  ExpectInStep();
}

TEST_F(SlotStoreTest, EachWriteHasATokenOfItsOwn) {
  const HeldSlot slot = Held();
  ASSERT_TRUE(client_.Release(Ref(slot), now_).value());
  const SlotClaim again{.slot = Ref(slot), .limit = kPlenty, .ttl = kSlotTtl};
  ASSERT_TRUE(client_.Claim(again, now_).value().slot);
  EXPECT_TRUE(table_.Row(kEmr, slot.id)) << "the same writes again, and they were made again";
}

}  // namespace
}  // namespace weir::rate_limiter_py
