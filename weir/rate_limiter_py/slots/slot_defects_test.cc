// Defects of rate-limiter-py 0.3.0 in its non-fungible tokens. The comments describe its behaviour;
// the tests show that ours differs. The numbers are those of the reference's list of defects.
#include <gtest/gtest.h>

#include <set>

#include "weir/rate_limiter_py/testing/slot_store_fixture.h"

namespace weir::rate_limiter_py {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class RateLimiterPyDefects : public SlotStoreTest {};

// It counts, then puts: 20 clients at a time took 20 of 5 slots.
TEST_F(RateLimiterPyDefects, L7_CountAndPutAreOne) {
  int granted = 0;
  const auto claim = [&] { granted += Claim(5).value().slot ? 1 : 0; };
  bool is_first = true;
  table_.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "TransactWriteItems" || !std::exchange(is_first, false)) return;
    for (int i = 1; i < 20; ++i) claim();
  };
  claim();
  EXPECT_EQ(granted, 5);
  EXPECT_EQ(table_.PyCount(kEmr, now_), 5U);
}

// Its create_token has no condition: it makes a token of a reservation that was deleted or has
// expired, without resourceName and accountId, and over the limit.
TEST_F(RateLimiterPyDefects, L8_WhatIsGoneIsNotBroughtBack) {
  const HeldSlot slot = Held();
  ASSERT_TRUE(client_.Release(Ref(slot), now_).value());
  EXPECT_EQ(client_.Bind(Ref(slot), "j-1", hours(8), now_).error().code, Code::kNotFound);
  EXPECT_FALSE(table_.Row(kEmr, slot.id));
  table_.PyReserve(kEmr, "1f", now_ + minutes(5));
  const UnixMillis late = now_ + minutes(5);
  EXPECT_EQ(client_.Bind({kEmr, "1f"}, "j-1", hours(8), late).error().code, Code::kNotFound);
  EXPECT_EQ(table_.PyCount(kEmr, late), 0U);
}

// Such rows are live for its readers. Our clients count them for every key of their coordinate, and
// can release them.
TEST_F(RateLimiterPyDefects, L8_ARowWithoutItsNamesCounts) {
  table_.PyCreateToken(kEmr, "1f", "j-1", now_ + hours(8));
  EXPECT_EQ(Claim(1).value().in_use, 1);
  EXPECT_EQ(client_.List(kEmr, now_).value().items.at(0).key, kEmr);
  EXPECT_TRUE(client_.Renew({kEmr, "1f"}, hours(9), now_));
  EXPECT_EQ(client_.ReleaseResource({"j-1", now_}, now_).value(), 1U);
  EXPECT_TRUE(Claim(1).value().slot);
}

// Its delete() has no condition: it also removes a token that another holder of the same
// reservation has made of it meanwhile.
TEST_F(RateLimiterPyDefects, L9_AReservationThatBecameATokenStays) {
  table_.PyReserve(kEmr, "1f", now_ + minutes(5));
  bool is_first = true;
  table_.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "TransactWriteItems" || !std::exchange(is_first, false)) return;
    table_.PyCreateToken(kEmr, "1f", "j-1", now_ + hours(8));
  };
  const auto released = client_.Release({kEmr, "1f"}, now_);
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code, Code::kAborted);
  EXPECT_TRUE(table_.Row(kEmr, "1f"));
  table_.sim.client.before_each = nullptr;
  EXPECT_TRUE(client_.Release({kEmr, "1f"}, now_).value()) << "who means the token says so";
}

// Two keys whose names join to the same coordinate share one count.
TEST_F(RateLimiterPyDefects, L10_KeysThatShareACoordinateDoNotShareTheirSlots) {
  const AccountKey one{"a:b", "c"};
  const AccountKey other{"a", "b:c"};
  const auto claim = [&](const AccountKey& key, std::uint64_t id) {
    return client_.Claim({.slot = {key, IdOf(id)}, .limit = 1, .ttl = kSlotTtl}, now_).value();
  };
  ASSERT_TRUE(claim(one, 1).slot);
  EXPECT_TRUE(claim(other, 2).slot);
  EXPECT_FALSE(claim(one, 3).slot);
  EXPECT_EQ(client_.List(other, now_).value().items.size(), 1U);
  EXPECT_EQ(client_.Renew({other, IdOf(1)}, hours(1), now_).error().code, Code::kNotFound);
  EXPECT_FALSE(client_.Release({other, IdOf(1)}, now_).value());
  now_ = now_ + seconds(20);
  EXPECT_FALSE(claim(one, 4).slot) << "a recount keeps them apart too";
  table_.PyReserve(one, "1f", now_ + minutes(5));
  EXPECT_EQ(claim(other, 5).in_use, 1) << "a row of theirs belongs to the key that it names";
}

// Its event manager deletes only the first row that the index returns.
TEST_F(RateLimiterPyDefects, L14_EverySlotOfAThingIsReleased) {
  constexpr std::size_t kMoreThanAPage = 105;
  for (std::size_t i = 0; i < kMoreThanAPage; ++i) {
    const std::string id = std::to_string(i);
    table_.PyReserve(kEmr, id, now_ + minutes(5));
    table_.PyCreateToken(kEmr, id, "j-1", now_ + hours(8));
  }
  ASSERT_TRUE(client_.Bind(Ref(Held()), "j-2", hours(8), now_));
  EXPECT_EQ(client_.ReleaseResource({"j-1", now_}, now_).value(), kMoreThanAPage);
  EXPECT_EQ(table_.PyCount(kEmr, now_), 1U);
}

}  // namespace
}  // namespace weir::rate_limiter_py
