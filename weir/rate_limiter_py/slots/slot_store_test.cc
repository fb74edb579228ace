// Claims and releases from the point of view of a user of SlotStore.
#include "weir/rate_limiter_py/slots/slot_store.h"

#include "weir/rate_limiter_py/testing/slot_store_fixture.h"

namespace weir::rate_limiter_py {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(SlotStoreTest, ASlotIsHeldUntilTheSecondThatTheRecordNames) {
  now_ = kNewYear + milliseconds(1);
  const HeldSlot slot = Held(seconds(100));
  EXPECT_EQ(slot, (HeldSlot{.key = kEmr,
                            .id = IdOf(1),
                            .resource_id = IdOf(1),
                            .claimed = now_,
                            .expires = kNewYear + seconds(102)}));
  EXPECT_EQ(table_.Row(kEmr, IdOf(1)), SlotItem(slot));
  EXPECT_THAT(Ids(), ElementsAre(IdOf(1)));
  now_ = slot.expires;
  EXPECT_THAT(Ids(), SizeIs(0));
}

TEST_F(SlotStoreTest, ARefusalTellsHowManyAndUntilWhen) {
  ASSERT_TRUE(Claim(2, seconds(20)).value().slot);
  ASSERT_TRUE(Claim(2, seconds(10)).value().slot);
  const ClaimResult refused = Claim(2).value();
  EXPECT_FALSE(refused.slot);
  EXPECT_EQ(refused.in_use, 2);
  EXPECT_EQ(refused.next_expiry, now_ + seconds(11)) << "a second for clocks that differ";
  const ClaimResult lowered = Claim(1).value();
  EXPECT_EQ(lowered.in_use, 2);
  EXPECT_TRUE(Claim(3).value().slot) << "a limit may be raised";
}

// A holder's clock may be a second behind.
TEST_F(SlotStoreTest, APlaceIsGivenAwayASkewAfterItsExpiry) {
  const HeldSlot slot = Held(seconds(10));
  now_ = slot.expires + milliseconds(999);
  EXPECT_FALSE(Claim(1).value().slot);
  now_ = slot.expires + milliseconds(1000);
  EXPECT_TRUE(Claim(1).value().slot);
  EXPECT_EQ(table_.RosterOf(kEmr).held, 1);
}

TEST_F(SlotStoreTest, ABlockedKeyIsToldWithoutAWrite) {
  Held();
  const Roster before = table_.RosterOf(kEmr);
  const std::uint64_t calls = CallsOf([&] {
    const ClaimResult refused = Claim(0).value();
    EXPECT_EQ(refused.in_use, 1);
    EXPECT_EQ(refused.next_expiry, now_ + kSlotTtl + seconds(1));
  });
  EXPECT_EQ(calls, 1U);
  EXPECT_EQ(table_.RosterOf(kEmr), before);
}

TEST_F(SlotStoreTest, TheSameClaimAgainIsTheSameSlot) {
  const HeldSlot slot = Held();
  const SlotClaim again{.slot = Ref(slot), .limit = 1, .ttl = kSlotTtl};
  EXPECT_EQ(client_.Claim(again, now_ + seconds(1)).value().slot, slot);
  EXPECT_EQ(table_.RosterOf(kEmr).held, 1);
  table_.PyReserve(kEmr, "7f3c", now_ + kSlotTtl);
  EXPECT_EQ(client_.Claim(again, now_ + seconds(1)).value().slot, slot)
      << "even where there is no room any more";
  const auto late = client_.Claim(again, slot.expires);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kAlreadyExists);
}

TEST_F(SlotStoreTest, AReleasedSlotIsFreeAtOnce) {
  const HeldSlot slot = Held();
  EXPECT_FALSE(Claim(1).value().slot);
  EXPECT_TRUE(client_.Release(Ref(slot), now_).value());
  EXPECT_FALSE(client_.Release(Ref(slot), now_).value());
  EXPECT_FALSE(table_.Row(kEmr, slot.id));
  EXPECT_TRUE(Claim(1).value().slot);
  ExpectInStep();
}

TEST_F(SlotStoreTest, AnExpiredSlotThatIsReleasedGivesItsPlaceBackBeforeTheSkewIsOver) {
  const HeldSlot slot = Held();
  now_ = slot.expires;
  EXPECT_FALSE(client_.Release(Ref(slot), now_).value()) << "it was not held any more";
  EXPECT_TRUE(Claim(1).value().slot);
}

// Another client got the capacity when the slot had expired: it is not given back twice.
TEST_F(SlotStoreTest, ALateReleaseTakesNothingFromTheNextHolder) {
  const HeldSlot slot = Held(seconds(10));
  now_ = slot.expires + seconds(1);
  ASSERT_TRUE(Claim(1).value().slot);
  EXPECT_LE(CallsOf([&] { EXPECT_FALSE(client_.Release(Ref(slot), now_).value()); }), 3U);
  EXPECT_FALSE(table_.Row(kEmr, slot.id));
  EXPECT_EQ(table_.RosterOf(kEmr).held, 1);
  EXPECT_FALSE(Claim(1).value().slot);
}

TEST_F(SlotStoreTest, AClaimThatComesTooLateExpiresLater) {
  const HeldSlot first = Held(seconds(10));
  now_ = first.expires + seconds(1);
  ASSERT_TRUE(Claim(1).value().slot);
  const SlotClaim late{.slot = {kEmr, IdOf(77)}, .limit = 2, .ttl = seconds(5)};
  const HeldSlot slot = *client_.Claim(late, kNewYear).value().slot;
  EXPECT_EQ(slot.expires, first.expires + seconds(1)) << "what expires before is gone";
  EXPECT_TRUE(client_.Renew(Ref(slot), seconds(60), kNewYear));
  ExpectInStep();
}

TEST_F(SlotStoreTest, AListHasBothKindsInPages) {
  for (int i = 0; i < 3; ++i) Held();
  table_.PyReserve(kEmr, "1f", now_ + kSlotTtl);
  table_.PyReserve(kEmr, "2f", now_);
  const auto first = client_.List(kEmr, now_, {.cursor = {}, .limit = 2}).value();
  EXPECT_THAT(first.items, SizeIs(2));
  EXPECT_EQ(first.items[0].id, "1f");
  const auto second = client_.List(kEmr, now_, {.cursor = first.next, .limit = 2}).value();
  EXPECT_THAT(second.items, SizeIs(2));
  EXPECT_EQ(second.items[1].id, IdOf(3));
  EXPECT_EQ(second.next, "");
  EXPECT_FALSE(client_.List(kEmr, now_, {.cursor = {}, .limit = 0}));
  for (const auto& [key, cursor] :
       {std::pair(kEmr, std::string("no cursor")), std::pair(kEmr, IdOf(1)),
        std::pair(AccountKey{"emr", "other"}, first.next)}) {
    const auto page = client_.List(key, now_, {.cursor = cursor, .limit = 1});
    ASSERT_FALSE(page) << cursor;
    EXPECT_EQ(page.error().code, Code::kInvalidArgument);
  }
}

TEST_F(SlotStoreTest, BadInputIsRefusedAndChangesNothing) {
  const HeldSlot slot = Held();
  const std::uint64_t calls = CallsOf([&] {
    const SlotRef own{kEmr, IdOf(9)};
    EXPECT_EQ(Claim(-1).error().code, Code::kInvalidArgument);
    EXPECT_FALSE(client_.Claim({.slot = {kEmr, "7f3c"}, .limit = 1, .ttl = kSlotTtl}, now_));
    EXPECT_FALSE(client_.Claim({.slot = own, .limit = 1, .ttl = milliseconds(0)}, now_));
    EXPECT_FALSE(client_.Claim({.slot = {{"", "a"}, own.id}, .limit = 1, .ttl = kSlotTtl}, now_));
    EXPECT_FALSE(client_.Bind(Ref(slot), "", kSlotTtl, now_));
    EXPECT_FALSE(client_.Bind(Ref(slot), slot.id, kSlotTtl, now_));
    EXPECT_FALSE(client_.Renew(Ref(slot), milliseconds(-1), now_));
    EXPECT_FALSE(client_.Release({kEmr, ""}, now_));
    EXPECT_FALSE(client_.ReleaseResource({"", now_}, now_));
  });
  EXPECT_EQ(calls, 0U);
  // Other items next to the slots are no slots.
  EXPECT_FALSE(client_.Release({kEmr, RosterKey(kEmr).sk}, now_).value());
  EXPECT_EQ(client_.Renew({kEmr, RosterKey(kEmr).sk}, kSlotTtl, now_).error().code,
            Code::kNotFound);
  EXPECT_EQ(table_.RosterOf(kEmr).held, 1);
}

TEST_F(SlotStoreTest, ADamagedRowIsNamed) {
  dynamo::Item item = SlotItem(Held());
  item.insert_or_assign(std::string(kReservationId), dynamo::Of("1f"));
  item.insert_or_assign(std::string(kExpirationTime), dynamo::Of("soon"));
  table_.sim.Put(item);
  const auto claimed = Claim(5);
  ASSERT_FALSE(claimed);
  EXPECT_EQ(claimed.error().code, Code::kDataLoss);
  EXPECT_THAT(claimed.error().message, HasSubstr("1f"));
}

}  // namespace
}  // namespace weir::rate_limiter_py
