// Claims, expiries and renewals.
#include <algorithm>

#include "weir/store/testing/reservation/reservation_contract.h"

namespace weir {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// Fails if: a slot beyond the limit is given, or a refusal does not report the number of held slots
// and their next expiry.
TEST_P(ReservationContract, SlotsAreClaimedUpToTheLimitAndNoFurther) {
  const AccountKey key = FreshKey();
  const HeldSlot first = Hold(key, 3, start_);
  Hold(key, 3, start_ + 5s);
  Hold(key, 3, start_ + 10s);
  const SlotClaim fourth{.slot = FreshSlot(key), .limit = 3, .ttl = kSlotLife};
  const ClaimResult refused = Claim(fourth, start_ + 11s);
  EXPECT_FALSE(refused.slot);
  EXPECT_EQ(refused.in_use, 3);
  ASSERT_TRUE(refused.next_expiry);
  EXPECT_GE(*refused.next_expiry, first.expires);
  EXPECT_LE(*refused.next_expiry, FreeAt(first));
  EXPECT_FALSE(Claim(fourth, *refused.next_expiry - 1ms).slot) << "nothing expires before";
  EXPECT_TRUE(Claim(fourth, FreeAt(first)).slot);
}

TEST_P(ReservationContract, ALimitOfZeroAdmitsNothing) {
  const AccountKey key = FreshKey();
  const ClaimResult refused = Claim({.slot = FreshSlot(key), .limit = 0, .ttl = kSlotLife}, start_);
  EXPECT_FALSE(refused.slot);
  EXPECT_EQ(refused.in_use, 0);
}

// Fails if: a claim that is repeated after its response was lost takes a second slot, or is refused
// because of its own slot.
TEST_P(ReservationContract, TheSameIdAgainIsTheSlotAsItIs) {
  const AccountKey key = FreshKey();
  const HeldSlot slot = Hold(key, 1, start_);
  EXPECT_EQ(Claim({.slot = RefOf(slot), .limit = 1, .ttl = kSlotLife}, start_ + 1s).slot, slot);
  EXPECT_EQ(Claim({.slot = RefOf(slot), .limit = 0, .ttl = 90s}, start_ + 2s).slot, slot);
  const HeldSlot bound = Bind(slot, Fresh("j"), start_ + 3s);
  EXPECT_EQ(Claim({.slot = RefOf(slot), .limit = 1, .ttl = kSlotLife}, start_ + 4s).slot, bound);
  EXPECT_EQ(CountHeld(key, start_ + 4s), 1U);
}

// R17. Fails if: a repeated claim is refused because other claims took the remaining slots, or
// counts twice.
TEST_P(ReservationContract, R17TheSameIdAgainAmongOthersIsItsSlot) {
  const AccountKey key = FreshKey();
  const HeldSlot slot = Hold(key, 3, start_);
  for (int i = 0; i < 2; ++i) Hold(key, 3, start_ + 1s);
  for (int i = 0; i < 3; ++i) {
    const SlotClaim again{.slot = RefOf(slot), .limit = 3, .ttl = 2 * kSlotLife};
    EXPECT_EQ(Claim(again, start_ + 2s).slot, slot);
  }
  EXPECT_EQ(CountHeld(key, start_ + 2s), 3U);
  EXPECT_FALSE(HasRoom(key, 3, start_ + 2s));
  EXPECT_TRUE(HasRoom(key, 4, start_ + 2s));
  EXPECT_EQ(store_.Release(RefOf(slot), start_ + 3s), true);
  EXPECT_TRUE(HasRoom(key, 3, start_ + 3s));
}

// R17. Fails if: a claim with the id of an expired slot returns that slot.
TEST_P(ReservationContract, R17AnIdWhoseSlotHasExpiredIsANewSlotOrRefused) {
  const AccountKey key = FreshKey();
  const HeldSlot expired = Hold(key, 2, start_);
  const UnixMillis now = FreeAt(expired);
  const auto again = store_.Claim({.slot = RefOf(expired), .limit = 2, .ttl = kSlotLife}, now);
  if (again) {
    ASSERT_TRUE(again->slot);
    EXPECT_EQ(again->slot->claimed, now);
    EXPECT_TRUE(MayExpire(again->slot->expires, now, kSlotLife));
  } else {
    EXPECT_EQ(again.error().code, Code::kAlreadyExists) << again.error().message;
  }
  EXPECT_EQ(CountHeld(key, now), again ? 1U : 0U);
}

// Fails if: slots are numbered up to the limit, so that a lowered limit admits although slots with
// higher numbers are held.
TEST_P(ReservationContract, ALoweredLimitAdmitsNothingUntilFewerAreHeld) {
  const AccountKey key = FreshKey();
  std::vector<HeldSlot> held;
  for (int i = 0; i < 4; ++i) held.push_back(Hold(key, 4, start_));
  for (int left = 4; left >= 2; --left) {
    const ClaimResult refused =
        Claim({.slot = FreshSlot(key), .limit = 2, .ttl = kSlotLife}, start_ + 1s);
    EXPECT_FALSE(refused.slot) << left << " are held";
    EXPECT_EQ(refused.in_use, left);
    EXPECT_EQ(store_.Release(RefOf(held.back()), start_ + 1s), true);
    held.pop_back();
  }
  Hold(key, 2, start_ + 1s);
  EXPECT_FALSE(HasRoom(key, 2, start_ + 1s));
}

TEST_P(ReservationContract, ARaisedLimitAdmitsTheDifference) {
  const AccountKey key = FreshKey();
  Hold(key, 1, start_);
  EXPECT_FALSE(HasRoom(key, 1, start_));
  Hold(key, 3, start_);
  Hold(key, 3, start_);
  EXPECT_FALSE(HasRoom(key, 3, start_));
}

// Fails if: a slot is given to another claim before the expiry that its holder knows, or is not
// given when it has certainly expired.
TEST_P(ReservationContract, ASlotIsHeldUntilItsExpiryAndThenFree) {
  const AccountKey key = FreshKey();
  const HeldSlot slot = Hold(key, 1, start_);
  EXPECT_EQ(HeldIds(key, slot.expires - 1ms), std::vector{slot.id});
  EXPECT_FALSE(HasRoom(key, 1, slot.expires - 1ms));
  EXPECT_FALSE(HasRoom(key, 1, FreeAt(slot) - 1ms)) << "its holder's clock may be behind";
  EXPECT_EQ(CountHeld(key, slot.expires), 0U);
  Hold(key, 1, FreeAt(slot));
  EXPECT_EQ(CountHeld(key, FreeAt(slot)), 1U);
}

TEST_P(ReservationContract, SlotsExpireOneByOne) {
  const AccountKey key = FreshKey();
  const HeldSlot early = Hold(key, 2, start_);
  const HeldSlot late = Hold(key, 2, start_, 10 * kSlotLife);
  Hold(key, 2, FreeAt(early), 20 * kSlotLife);
  EXPECT_FALSE(HasRoom(key, 2, FreeAt(early)));
  EXPECT_TRUE(HasRoom(key, 2, FreeAt(late)));
}

// Fails if: for a clock that is behind, a slot is held again after it was given to another claim.
TEST_P(ReservationContract, WhatWasGivenToAnotherStaysGivenForAClockThatIsBehind) {
  const AccountKey key = FreshKey();
  const HeldSlot old = Hold(key, 1, start_);
  const HeldSlot next = Hold(key, 1, FreeAt(old));
  const UnixMillis behind = old.expires - 1ms;
  EXPECT_FALSE(HasRoom(key, 1, behind));
  EXPECT_EQ(store_.Release(RefOf(old), FreeAt(old)), false);
  EXPECT_EQ(HeldIds(key, FreeAt(old)), std::vector{next.id});
}

TEST_P(ReservationContract, ARenewalLetsASlotLiveLonger) {
  const AccountKey key = FreshKey();
  const HeldSlot slot = Hold(key, 1, start_);
  const Result<HeldSlot> renewed = store_.Renew(RefOf(slot), 2 * kSlotLife, start_ + 1s);
  ASSERT_TRUE(renewed) << renewed.error().message;
  EXPECT_TRUE(MayExpire(renewed->expires, start_ + 1s, 2 * kSlotLife));
  EXPECT_EQ(renewed->claimed, slot.claimed);
  EXPECT_FALSE(HasRoom(key, 1, renewed->expires - 1ms));
  EXPECT_TRUE(HasRoom(key, 1, FreeAt(*renewed)));
}

TEST_P(ReservationContract, ARenewalNeverShortens) {
  const AccountKey key = FreshKey();
  const HeldSlot slot = Hold(key, 1, start_, 10 * kSlotLife);
  EXPECT_EQ(store_.Renew(RefOf(slot), kSlotLife, start_ + 1s), slot);
  EXPECT_EQ(HeldIds(key, slot.expires - 1ms), std::vector{slot.id});
}

TEST_P(ReservationContract, WhatIsNotHeldIsNotRenewed) {
  const AccountKey key = FreshKey();
  const HeldSlot expired = Hold(key, 1, start_);
  EXPECT_EQ(ErrorOf(store_.Renew(RefOf(expired), kSlotLife, expired.expires)).code,
            Code::kNotFound);
  const HeldSlot released = Hold(key, 1, FreeAt(expired));
  EXPECT_EQ(store_.Release(RefOf(released), released.claimed), true);
  EXPECT_EQ(ErrorOf(store_.Renew(RefOf(released), kSlotLife, released.claimed)).code,
            Code::kNotFound);
  EXPECT_EQ(ErrorOf(store_.Renew(FreshSlot(key), kSlotLife, start_)).code, Code::kNotFound);
  EXPECT_TRUE(HasRoom(key, 1, released.claimed));
}

// Fails if: keys are joined with a ':' (rate-limiter-py counts these two as one).
TEST_P(ReservationContract, KeysThatLookAlikeWhenJoinedAreApart) {
  const std::string a = Fresh("a");
  const std::string c = Fresh("c");
  const AccountKey left{.resource = a + ":b", .account = c};
  const AccountKey right{.resource = a, .account = "b:" + c};
  const HeldSlot on_left = Hold(left, 1, start_);
  const HeldSlot on_right = Hold(right, 1, start_);
  EXPECT_FALSE(HasRoom(left, 1, start_));
  EXPECT_EQ(HeldIds(left, start_), std::vector{on_left.id});
  EXPECT_EQ(HeldIds(right, start_), std::vector{on_right.id});
  EXPECT_EQ(store_.Release(RefOf(on_left), start_), true);
  EXPECT_FALSE(HasRoom(right, 1, start_));
  EXPECT_TRUE(HasRoom(left, 1, start_));
}

TEST_P(ReservationContract, NamesAreAnyText) {
  std::string longest = Fresh("long-");
  longest.resize(255, 'x');
  for (const AccountKey& key :
       {AccountKey{longest, longest},
        AccountKey{Fresh("a:#'\"%\\ \xC3\xBC"), Fresh("/ \xF0\x9F\xA7\xAE")}}) {
    const HeldSlot slot = Bind(Hold(key, 1, start_), Fresh("j '\"\xC3\xBC"), start_);
    EXPECT_EQ(slot.key, key);
    EXPECT_FALSE(HasRoom(key, 1, start_));
    const auto page = store_.List(key, {}, start_);
    ASSERT_TRUE(page);
    EXPECT_EQ(page->items, std::vector{slot});
  }
}

// Fails if: a check is left to the caller, or comes after a change.
TEST_P(ReservationContract, BadClaimsAreRefusedAndChangeNothing) {
  const AccountKey key = FreshKey();
  const SlotClaim good{.slot = FreshSlot(key), .limit = 1, .ttl = kSlotLife};
  std::vector<SlotClaim> bad(7, good);
  bad[0].slot.key.resource = "";
  bad[1].slot.key.account = "";
  bad[2].slot.key.account = std::string(256, 'a');
  bad[3].slot.id = "";
  bad[4].limit = -1;
  bad[5].ttl = 0ms;
  bad[6].ttl = -1ms;
  for (const SlotClaim& claim : bad) {
    EXPECT_EQ(ErrorOf(store_.Claim(claim, start_)).code, Code::kInvalidArgument);
  }
  EXPECT_EQ(CountHeld(key, start_), 0U);
  const HeldSlot slot = Hold(key, 1, start_);
  for (const milliseconds ttl : {0ms, -1ms}) {
    EXPECT_EQ(ErrorOf(store_.Renew(RefOf(slot), ttl, start_)).code, Code::kInvalidArgument);
    EXPECT_EQ(ErrorOf(store_.Bind(RefOf(slot), Fresh("j"), ttl, start_)).code,
              Code::kInvalidArgument);
  }
  const auto page = store_.List(key, {}, start_);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items, std::vector{slot});
}

// Fails if: a page loses, repeats or reorders a slot, or includes those of another key.
TEST_P(ReservationContract, SlotsAreListedByIdInPagesOfAnySize) {
  const AccountKey key = FreshKey();
  const AccountKey other{.resource = key.resource, .account = key.account + "2"};
  Hold(other, 1, start_);
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(Hold(key, 6, start_).id);
  const HeldSlot expired = Hold(key, 6, start_ - 2 * kSlotLife - 10s);
  EXPECT_LE(expired.expires, start_);
  std::ranges::sort(ids);
  for (const std::size_t limit : {1U, 2U, 3U, 5U, 6U, 1000U}) {
    EXPECT_EQ(HeldIds(key, start_, limit), ids) << limit;
  }
  EXPECT_EQ(CountHeld(FreshKey(), start_), 0U);
}

TEST_P(ReservationContract, BadPagesAreRefused) {
  const AccountKey key = FreshKey();
  const AccountKey other = FreshKey();
  for (int i = 0; i < 2; ++i) Hold(other, 2, start_);
  const auto of_other = store_.List(other, {.cursor = {}, .limit = 1}, start_);
  ASSERT_TRUE(of_other);
  ASSERT_FALSE(of_other->next.empty());
  for (const PageRequest& page :
       {PageRequest{.cursor = {}, .limit = 0}, PageRequest{.cursor = "no cursor", .limit = 1},
        PageRequest{.cursor = "\n", .limit = 1},
        PageRequest{.cursor = of_other->next, .limit = 1}}) {
    EXPECT_EQ(ErrorOf(store_.List(key, page, start_)).code, Code::kInvalidArgument) << page.cursor;
  }
  EXPECT_EQ(ErrorOf(store_.List({.resource = "", .account = "a"}, {}, start_)).code,
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace weir
