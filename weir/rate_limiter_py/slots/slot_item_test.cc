#include "weir/rate_limiter_py/slots/slot_item.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "weir/rate_limiter_py/testing/slot_fixture.h"
#include "weir/store/reservation/reservation_checks.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::Item;
using testing::HasSubstr;

HeldSlot Bound() {
  return {.key = kEmr,
          .id = IdOf(1),
          .resource_id = "j-1",
          .claimed = kNewYear,
          .expires = kNewYear + std::chrono::minutes(5)};
}

TEST(SlotItem, IsARowOfRateLimiterPyWithTheTimeOfTheClaimBesides) {
  std::string json;
  AppendJson(json, SlotItem(Bound()));
  EXPECT_EQ(json, R"({"accountId":{"S":"acme"},"expirationTime":{"N":"1767225900"},)"
                  R"("reservationId":{"S":"w-00000000-0000-4000-8000-000000000001"},)"
                  R"("resourceCoordinate":{"S":"emr:acme"},"resourceId":{"S":"j-1"},)"
                  R"("resourceName":{"S":"emr"},"w_claimed":{"N":"1767225600000"}})");
}

TEST(SlotItem, ARowOfTheirsIsReadToo) {
  Item item = SlotItem(Bound());
  item.erase(std::string(kClaimed));
  item.insert_or_assign(std::string(kReservationId), dynamo::Of("7f3c"));
  HeldSlot expected = Bound();
  expected.id = "7f3c";
  expected.claimed = {0};
  EXPECT_EQ(ReadSlot(item).value(), expected);
}

TEST(SlotItem, WhatStandsBesideTheSlotsIsNone) {
  Item roster =
      ToItem(RosterKey(kEmr), {std::string(kCoordinate), std::string(kReservationId), ""});
  EXPECT_EQ(ReadSlot(roster).value(), std::nullopt);
  roster.emplace(kExpirationTime, dynamo::Of(1));
  EXPECT_EQ(ReadSlot(roster).value(), std::nullopt);
  EXPECT_EQ(ReadSlot({}).value(), std::nullopt);
  Item without = SlotItem(Bound());
  without.erase(std::string(kExpirationTime));
  EXPECT_EQ(ReadSlot(without).value(), std::nullopt) << "their readers do not count it either";
}

TEST(SlotItem, AnExpiryThatIsNoTimeIsToldWithItsRow) {
  for (const auto& bad : {dynamo::Of("soon"), dynamo::Of(-1), dynamo::Of(kNewYear.value * 1000),
                          dynamo::Value{dynamo::Number{"1.5"}}}) {
    Item item = SlotItem(Bound());
    item.insert_or_assign(std::string(kExpirationTime), bad);
    const auto slot = ReadSlot(item);
    ASSERT_FALSE(slot);
    EXPECT_EQ(slot.error().code, Code::kDataLoss);
    EXPECT_THAT(slot.error().message, HasSubstr("emr:acme"));
    EXPECT_THAT(slot.error().message, HasSubstr(IdOf(1)));
  }
}

TEST(SlotItem, IsHeldByItsOwnKeyUntilItsExpiry) {
  const Item item = SlotItem(Bound());
  const UnixMillis end = Bound().expires;
  EXPECT_EQ(ReadHeld(item, kEmr, end - milliseconds(1)).value(), Bound());
  EXPECT_EQ(ReadHeld(item, kEmr, end).value(), std::nullopt);
  EXPECT_EQ(ReadHeld(item, {"emr", "other"}, kNewYear).value(), std::nullopt);
}

// Fails if: an attribute is written or read as another one.
RC_GTEST_PROP(SlotItem, WhatIsWrittenIsReadAgain, ()) {
  const auto text = rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange(' ', '~')));
  const HeldSlot slot{.key = {*text, *text},
                      .id = NewSlotId(*rc::gen::arbitrary<std::uint64_t>(), 0),
                      .resource_id = *text,
                      .claimed = {*rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000)},
                      .expires = AtSecond(*rc::gen::inRange<std::int64_t>(0, 4'000'000'000))};
  RC_ASSERT(ReadSlot(SlotItem(slot)).value() == slot);
}

milliseconds AnyTtl() {
  const int bits = *rc::gen::inRange(1, 39);
  return std::min(milliseconds(*rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << bits)),
                  kLongestSlotLife);
}

// Fails if: an expiry is rounded down, rounded by more than a 32nd (or a second), or not after the
// dropped seconds.
RC_GTEST_PROP(Expiry, IsNeverEarlierAndLittleLater, ()) {
  const milliseconds ttl = AnyTtl();
  const UnixMillis now{*rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000)};
  const std::int64_t step = ExpiryStep(ttl);
  const std::int64_t second = ExpirySecond(now, ttl, 0);
  RC_ASSERT(step == 1 || milliseconds(step * 32'000) <= ttl);
  RC_ASSERT(second % step == 0);
  RC_ASSERT(AtSecond(second) >= now + ttl);
  RC_ASSERT(AtSecond(second - step) < now + ttl);
  const std::int64_t later = ExpirySecond(now, ttl, second);
  RC_ASSERT(later == second + step);
  RC_ASSERT(ExpirySecond(now, ttl, second - 1) == second);
}

// Fails if: steps are a 64th of the time to live.
RC_GTEST_PROP(Expiry, FewSecondsServeAllThatAreHeldAtATime, ()) {
  const milliseconds ttl = AnyTtl();
  std::set<std::int64_t> expiries;
  const milliseconds apart = std::max(ttl / 500, milliseconds(1));
  for (UnixMillis claimed = kNewYear - ttl; claimed <= kNewYear; claimed = claimed + apart) {
    const std::int64_t second = ExpirySecond(claimed, ttl, 0);
    if (AtSecond(second) > kNewYear) expiries.insert(second);
  }
  RC_ASSERT(expiries.size() <= 66U);
}

}  // namespace
}  // namespace weir::rate_limiter_py
