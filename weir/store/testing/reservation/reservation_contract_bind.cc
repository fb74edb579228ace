// Bindings: a slot is bound to a resource.
#include "weir/store/testing/reservation/reservation_contract.h"

namespace weir {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST_P(ReservationContract, ABindingNamesTheThingAndItsLife) {
  const AccountKey key = FreshKey();
  const HeldSlot slot = Hold(key, 1, start_);
  const std::string cluster = Fresh("j");
  const HeldSlot bound = Bind(slot, cluster, start_ + 1s, 10 * kSlotLife);
  EXPECT_TRUE(bound.bound());
  const auto page = store_.List(key, {}, bound.expires - 1ms);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items, std::vector{bound});
  EXPECT_FALSE(HasRoom(key, 1, bound.expires - 1ms));
  EXPECT_TRUE(HasRoom(key, 1, FreeAt(bound)));
}

// Fails if: the long life of a reservation outlasts the shorter one of its resource.
TEST_P(ReservationContract, ABindingMayEndALife) {
  const AccountKey key = FreshKey();
  const HeldSlot bound =
      Bind(Hold(key, 1, start_, 10 * kSlotLife), Fresh("j"), start_ + 1s, kSlotLife);
  EXPECT_TRUE(HasRoom(key, 1, FreeAt(bound)));
}

// rate-limiter-py writes a row without a name for a reservation that has expired or was deleted.
TEST_P(ReservationContract, WhatIsNotHeldIsNotBound) {
  const AccountKey key = FreshKey();
  const std::string cluster = Fresh("j");
  const HeldSlot expired = Hold(key, 1, start_);
  EXPECT_EQ(ErrorOf(store_.Bind(RefOf(expired), cluster, kSlotLife, expired.expires)).code,
            Code::kNotFound);
  const HeldSlot released = Hold(key, 1, FreeAt(expired));
  const UnixMillis now = released.claimed;
  EXPECT_EQ(store_.Release(RefOf(released), now), true);
  EXPECT_EQ(ErrorOf(store_.Bind(RefOf(released), cluster, kSlotLife, now)).code, Code::kNotFound);
  EXPECT_EQ(ErrorOf(store_.Bind(FreshSlot(key), cluster, kSlotLife, now)).code, Code::kNotFound);
  EXPECT_EQ(CountHeld(key, now), 0U);
  EXPECT_TRUE(HasRoom(key, 1, now));
}

TEST_P(ReservationContract, ABoundSlotIsNotBoundToSomethingElse) {
  const AccountKey key = FreshKey();
  const HeldSlot bound = Bind(Hold(key, 2, start_), Fresh("j"), start_);
  EXPECT_EQ(ErrorOf(store_.Bind(RefOf(bound), Fresh("j"), kSlotLife, start_ + 1s)).code,
            Code::kFailedPrecondition);
  const auto page = store_.List(key, {}, start_ + 1s);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items, std::vector{bound});
}

// Fails if: a binding that is repeated after its response was lost fails.
TEST_P(ReservationContract, TheSameBindingAgainIsTheSame) {
  const AccountKey key = FreshKey();
  const std::string cluster = Fresh("j");
  const HeldSlot bound = Bind(Hold(key, 1, start_), cluster, start_ + 1s);
  EXPECT_EQ(Bind(bound, cluster, start_ + 1s), bound);
  EXPECT_EQ(CountHeld(key, start_ + 1s), 1U);
}

TEST_P(ReservationContract, ARenewedSlotStaysBound) {
  const AccountKey key = FreshKey();
  const HeldSlot bound = Bind(Hold(key, 1, start_), Fresh("j"), start_);
  const Result<HeldSlot> renewed = store_.Renew(RefOf(bound), 2 * kSlotLife, start_ + 1s);
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->resource_id, bound.resource_id);
  EXPECT_GE(renewed->expires, bound.expires);
}

// Fails if: an id alone identifies a slot, whatever the key is.
TEST_P(ReservationContract, ASlotIsReachedByItsKeyAndId) {
  const AccountKey key = FreshKey();
  const HeldSlot slot = Hold(key, 1, start_);
  const SlotRef astray{.key = FreshKey(), .id = slot.id};
  EXPECT_EQ(ErrorOf(store_.Bind(astray, Fresh("j"), kSlotLife, start_)).code, Code::kNotFound);
  EXPECT_EQ(ErrorOf(store_.Renew(astray, kSlotLife, start_)).code, Code::kNotFound);
  EXPECT_EQ(store_.Release(astray, start_), false);
  const auto page = store_.List(key, {}, start_);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items, std::vector{slot});
}

TEST_P(ReservationContract, BadBindingsAreRefusedAndChangeNothing) {
  const AccountKey key = FreshKey();
  const HeldSlot slot = Hold(key, 1, start_);
  const SlotRef good = RefOf(slot);
  const std::string cluster = Fresh("j");
  const auto code = [&](const SlotRef& ref, const std::string& resource_id) {
    return ErrorOf(store_.Bind(ref, resource_id, kSlotLife, start_ + 1s)).code;
  };
  EXPECT_EQ(code(good, ""), Code::kInvalidArgument);
  EXPECT_EQ(code(good, slot.id), Code::kInvalidArgument) << "this would mark the slot as unbound";
  EXPECT_EQ(code({.key = key, .id = ""}, cluster), Code::kInvalidArgument);
  EXPECT_EQ(code({.key = {.resource = "", .account = "a"}, .id = slot.id}, cluster),
            Code::kInvalidArgument);
  const auto page = store_.List(key, {}, start_ + 1s);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items, std::vector{slot});
}

}  // namespace
}  // namespace weir
