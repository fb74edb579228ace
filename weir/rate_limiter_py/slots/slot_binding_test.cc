// Bindings, renewals and ends from the point of view of a user of SlotStore.
#include "weir/rate_limiter_py/slots/slot_store.h"

#include "weir/rate_limiter_py/testing/slot_store_fixture.h"

namespace weir::rate_limiter_py {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(SlotStoreTest, ASlotIsBoundOnce) {
  const HeldSlot slot = Held(minutes(5));
  const HeldSlot bound = client_.Bind(Ref(slot), "j-1", hours(8), now_).value();
  EXPECT_EQ(bound.resource_id, "j-1");
  EXPECT_GE(bound.expires, now_ + hours(8));
  EXPECT_EQ(bound.claimed, slot.claimed);
  EXPECT_EQ(table_.Row(kEmr, slot.id), SlotItem(bound));
  ExpectInStep();
  EXPECT_EQ(client_.Bind(Ref(slot), "j-1", hours(8), now_).value(), bound);
  const auto other = client_.Bind(Ref(slot), "j-2", hours(8), now_);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(other.error().message, HasSubstr("j-1"));
  EXPECT_EQ(table_.Row(kEmr, slot.id), SlotItem(bound));
}

TEST_F(SlotStoreTest, ABindingMayShortenARenewalNever) {
  const HeldSlot slot = Held(minutes(5));
  const HeldSlot bound = client_.Bind(Ref(slot), "j-1", seconds(10), now_).value();
  EXPECT_EQ(bound.expires, now_ + seconds(10));
  EXPECT_EQ(client_.Renew(Ref(slot), seconds(5), now_).value(), bound);
  const HeldSlot renewed = client_.Renew(Ref(slot), seconds(20), now_).value();
  EXPECT_EQ(renewed.expires, now_ + seconds(20));
  EXPECT_EQ(renewed.resource_id, "j-1");
  ExpectInStep();
}

TEST_F(SlotStoreTest, WhatIsNotHeldIsNeitherBoundNorRenewed) {
  const HeldSlot slot = Held();
  for (const auto& [ref, now] :
       {std::pair(Ref(slot), slot.expires), std::pair(SlotRef{kEmr, IdOf(99)}, now_),
        std::pair(SlotRef{{"emr", "other"}, slot.id}, now_)}) {
    const auto bound = client_.Bind(ref, "j-1", kSlotTtl, now);
    ASSERT_FALSE(bound);
    EXPECT_EQ(bound.error().code, Code::kNotFound);
    EXPECT_EQ(client_.Renew(ref, kSlotTtl, now).error().code, Code::kNotFound);
    EXPECT_FALSE(client_.Release(ref, now).value() && ref.id != slot.id);
  }
}

// A call may be in flight until its slot has expired by the time of the call; the roster shows it.
TEST_F(SlotStoreTest, ARenewalThatComesTooLateIsToldSo) {
  const HeldSlot slot = Held(seconds(10));
  const UnixMillis asked = slot.expires - milliseconds(1);
  now_ = slot.expires + seconds(1);
  ASSERT_TRUE(Claim(1).value().slot);
  const auto renewed = client_.Renew(Ref(slot), seconds(60), asked);
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code, Code::kNotFound);
  EXPECT_EQ(client_.Bind(Ref(slot), "j-1", seconds(60), asked).error().code, Code::kNotFound);
  EXPECT_EQ(table_.RosterOf(kEmr).held, 1);
}

// A roster that another program deleted is made again by clients that still hold their slots.
TEST_F(SlotStoreTest, ARenewalRegainsALostPlace) {
  const HeldSlot slot = Held();
  table_.PyDelete(kEmr, RosterKey(kEmr).sk);
  ASSERT_TRUE(client_.Renew(Ref(slot), seconds(60), now_));
  EXPECT_FALSE(Claim(1).value().slot);
  ExpectInStep();
}

TEST_F(SlotStoreTest, AThingThatEndsReleasesItsSlotsOfWhateverKey) {
  const AccountKey other{"spark", "umbrella"};
  ASSERT_TRUE(client_.Bind(Ref(Held()), "j-1", hours(8), now_));
  ASSERT_TRUE(client_.Bind(Ref(Held()), "j-2", hours(8), now_));
  const HeldSlot far =
      *client_.Claim({.slot = {other, IdOf(50)}, .limit = 1, .ttl = kSlotTtl}, now_).value().slot;
  ASSERT_TRUE(client_.Bind(Ref(far), "j-1", hours(8), now_));
  now_ = now_ + minutes(1);
  EXPECT_EQ(client_.ReleaseResource({"j-1", now_, now_ + hours(1)}, now_).value(), 2U);
  EXPECT_THAT(Ids(), ElementsAre(IdOf(2)));
  EXPECT_EQ(table_.RosterOf(other).held, 0);
  ExpectInStep();
  const auto tombstone = table_.sim.Get(EndedKey("j-1"));
  ASSERT_TRUE(tombstone);
  EXPECT_EQ(dynamo::GetNumber(*tombstone, kEndedAt), now_.value);
  EXPECT_EQ(client_.ReleaseResource({"j-1", now_}, now_).value(), 0U);
}

TEST_F(SlotStoreTest, ALaterThingOfTheSameNameStays) {
  const HeldSlot slot = Held();
  ASSERT_TRUE(client_.Bind(Ref(slot), "j-1", hours(8), now_));
  EXPECT_EQ(client_.ReleaseResource({"j-1", now_ - milliseconds(1)}, now_).value(), 0U);
  EXPECT_EQ(client_.ReleaseResource({"j-1", now_}, now_).value(), 1U);
}

TEST_F(SlotStoreTest, AnIndexThatIsBehindReleasesNoStranger) {
  const HeldSlot slot = Held();
  ASSERT_TRUE(client_.Bind(Ref(slot), "j-1", hours(8), now_));
  int calls = 0;
  table_.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "BatchGetItem" || calls++ > 0) return;
    table_.PyCreateToken(kEmr, slot.id, "j-2", now_ + hours(8));
  };
  EXPECT_EQ(client_.ReleaseResource({"j-1", now_}, now_).value(), 0U);
  table_.sim.client.before_each = nullptr;
  EXPECT_THAT(Ids(), ElementsAre(slot.id));
}

TEST_F(SlotStoreTest, AThingThatEndedBeforeItsBindingIsRemembered) {
  const HeldSlot slot = Held();
  now_ = now_ + seconds(5);
  EXPECT_EQ(client_.ReleaseResource({"j-1", now_, now_ + hours(1)}, now_).value(), 0U);
  const auto bound = client_.Bind(Ref(slot), "j-1", hours(8), now_);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(bound.error().message, HasSubstr("free again"));
  EXPECT_FALSE(table_.Row(kEmr, slot.id));
  ExpectInStep();
  now_ = now_ + milliseconds(1);
  const HeldSlot later = Held(hours(2));
  EXPECT_TRUE(client_.Bind(Ref(later), "j-1", hours(8), now_)) << "a later thing of that name";
}

TEST_F(SlotStoreTest, WhatWasBoundToSomethingElseMeanwhileIsNotReleasedForAnEnd) {
  const HeldSlot slot = Held();
  now_ = now_ + seconds(5);
  ASSERT_TRUE(client_.ReleaseResource({"j-1", now_, now_ + hours(1)}, now_));
  int reads = 0;
  table_.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "BatchGetItem" || ++reads != 2) return;
    EXPECT_TRUE(client_.Bind(Ref(slot), "j-2", hours(8), now_));
  };
  EXPECT_EQ(client_.Bind(Ref(slot), "j-1", hours(8), now_).error().code, Code::kNotFound);
  table_.sim.client.before_each = nullptr;
  EXPECT_EQ(reads, 2);
  EXPECT_THAT(Ids(), ElementsAre(slot.id));
}

TEST_F(SlotStoreTest, OfTwoEndsTheLaterIsRememberedForTheLongerTime) {
  const HeldSlot slot = Held(hours(2));
  const UnixMillis end = now_ + seconds(5);
  const auto remembered = [&] {
    const auto item = table_.sim.Get(EndedKey("j-1"));
    return std::pair(*dynamo::GetNumber(*item, kEndedAt),
                     *dynamo::GetNumber(*item, kExpirationTime) - end.value / 1000);
  };
  EXPECT_TRUE(client_.ReleaseResource({"j-1", end, end + seconds(60)}, end));
  EXPECT_EQ(remembered(), std::pair(end.value, std::int64_t{61}));
  EXPECT_TRUE(client_.ReleaseResource({"j-1", end - seconds(1), end + seconds(90)}, end));
  EXPECT_EQ(remembered(), std::pair(end.value, std::int64_t{91}));
  EXPECT_TRUE(client_.ReleaseResource({"j-1", end - seconds(2), end + seconds(30)}, end));
  EXPECT_EQ(remembered(), std::pair(end.value, std::int64_t{91}));
  const UnixMillis later = end + seconds(91);
  EXPECT_TRUE(client_.ReleaseResource({"j-1", end - seconds(1), later + seconds(9)}, later));
  EXPECT_EQ(remembered(), std::pair(end.value - 1000, std::int64_t{101}))
      << "what is forgotten counts no more";
  EXPECT_EQ(client_.Bind(Ref(slot), "j-1", hours(8), later).error().code,
            Code::kFailedPrecondition);
}

TEST_F(SlotStoreTest, AnEndIsForgottenInTheEndAndAnEarlierOneDoesNotReplaceIt) {
  const HeldSlot slot = Held(hours(2));
  const UnixMillis end = now_ + seconds(5);
  EXPECT_EQ(client_.ReleaseResource({"j-1", end, end + minutes(1)}, end).value(), 0U);
  EXPECT_EQ(client_.ReleaseResource({"j-1", now_ - hours(1), end + minutes(1)}, end).value(), 0U);
  EXPECT_EQ(dynamo::GetNumber(*table_.sim.Get(EndedKey("j-1")), kEndedAt), end.value);
  EXPECT_TRUE(client_.Bind(Ref(slot), "j-1", hours(8), end + minutes(1) + seconds(1)));
  EXPECT_EQ(client_.ReleaseResource({"j-3", end, end}, end).value(), 0U);
  EXPECT_FALSE(table_.sim.Get(EndedKey("j-3"))) << "not after now: nothing is remembered";
}

}  // namespace
}  // namespace weir::rate_limiter_py
