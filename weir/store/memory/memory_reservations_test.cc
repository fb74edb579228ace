#include "weir/store/memory/memory_reservations.h"

#include <gtest/gtest.h>

#include "weir/store/memory/memory_rows.h"
#include "weir/store/reservation/account_rules.h"
#include "weir/store/reservation/slot_rules.h"
#include "weir/store/testing/reservation/reservation_contract.h"

namespace weir {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

const auto kPlaces = ReservationsOn(
    {{"memory", [] { return std::make_unique<PlainReservations>(MakeMemoryReservations()); }}});

INSTANTIATE_TEST_SUITE_P(Memory, ReservationContract, kPlaces, ReservationsName);
INSTANTIATE_TEST_SUITE_P(Memory, AccountLimitContract, kPlaces, ReservationsName);
INSTANTIATE_TEST_SUITE_P(Memory, TokenContract, kPlaces, ReservationsName);
INSTANTIATE_TEST_SUITE_P(Memory, ReservationContractThreads, kPlaces, ReservationsName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReservationContractClients);  // it has one client

// Makes a claim, a binding, an end and a take with new names, all short-lived.
void UseOnce(MemoryRows& rows, int i, UnixMillis now) {
  const AccountKey key{.resource = "emr", .account = std::to_string(i)};
  const SlotRef slot{.key = key, .id = "w-" + std::to_string(i)};
  ASSERT_TRUE(ClaimSlot(rows, {.slot = slot, .limit = 1, .ttl = 1000ms}, now)->slot);
  ASSERT_TRUE(BindSlot(rows, {.slot = slot, .resource_id = "j" + key.account, .ttl = 1000ms}, now));
  const EndedResource end{
      .resource_id = "never" + key.account, .ended_at = now, .remember_until = now + 1s};
  ASSERT_TRUE(ReleaseBound(rows, end, now));
  ASSERT_TRUE(
      TakeTokens(rows, {.key = key, .limit = {.limit = 1, .window = 1s}, .count = 1}, now)->taken);
}

// Fails if: rows without effect are kept forever.
TEST(MemoryRows, WhatMeansNothingAnyMoreIsForgotten) {
  MemoryRows rows;
  UnixMillis now = kStart;
  for (int i = 0; i < 10'000; ++i) {
    now = now + 100ms;
    UseOnce(rows, i, now);
    // Two rows live for ten steps, and a bucket for kMaxAhead more; a sweep visits them soon after.
    ASSERT_LT(rows.CountRows(), 1000U) << i;
  }
}

// Fails if: a sweep removes rows that are in use.
TEST(MemoryRows, WhatIsInUseIsKept) {
  MemoryRows rows;
  const AccountKey key{.resource = "emr", .account = "0"};
  const SlotRef slot{.key = key, .id = "w"};
  const AccountLimit slow{.limit = 1, .window = 86'400s};
  ASSERT_TRUE(ClaimSlot(rows, {.slot = slot, .limit = 1, .ttl = kLongestWindow}, kStart)->slot);
  ASSERT_TRUE(TakeTokens(rows, {.key = key, .limit = slow, .count = 1}, kStart)->taken);
  const EndedResource end{
      .resource_id = "j", .ended_at = kStart, .remember_until = kStart + 86'400s};
  ASSERT_TRUE(ReleaseBound(rows, end, kStart));
  for (int i = 1; i < 1000; ++i) UseOnce(rows, i, kStart + 10s * i);

  const UnixMillis now = kStart + 10'000s;
  EXPECT_EQ(rows.CountHeld(key, now)->slots, 1);
  EXPECT_FALSE(TakeTokens(rows, {.key = key, .limit = slow, .count = 1}, now)->taken);
  EXPECT_FALSE(BindSlot(rows, {.slot = slot, .resource_id = "j", .ttl = 1s}, now))
      << "it has ended";
}

// Fails if: for a clock that is behind, an expired slot is held again together with the one that
// replaced it.
TEST(ClaimSlot, WhatWasTakenOverDoesNotComeBack) {
  MemoryRows rows;
  for (int i = 0; i < 10; ++i) UseOnce(rows, i, kStart);
  const AccountKey key{.resource = "emr", .account = "x"};
  const SlotRef old{.key = key, .id = "w-old"};
  ASSERT_TRUE(ClaimSlot(rows, {.slot = old, .limit = 1, .ttl = 10s}, kStart)->slot);
  const SlotRef next{.key = key, .id = "w-new"};
  ASSERT_TRUE(ClaimSlot(rows, {.slot = next, .limit = 1, .ttl = 10s}, kStart + 10s)->slot);
  EXPECT_EQ(rows.CountHeld(key, kStart + 9s)->slots, 1);
  EXPECT_FALSE(RenewSlot(rows, old, 10s, kStart + 9s));
}

constexpr milliseconds kWrongBoot = std::chrono::days(74 * 365);

// Fails if: slots of a boot under a wrong clock are held until that clock's time.
TEST(ClaimSlot, C4SlotsOfAWrongBootAreHeldForTheirTimeOnly) {
  MemoryRows rows;
  const AccountKey key{.resource = "emr", .account = "x"};
  const auto claim = [&](const std::string& id, UnixMillis now) {
    return *ClaimSlot(rows, {.slot = {key, id}, .limit = 2, .ttl = 3600s}, now);
  };
  ASSERT_TRUE(claim("w-1", kStart + kWrongBoot).slot);
  ASSERT_TRUE(claim("w-2", kStart + kWrongBoot).slot);
  EXPECT_EQ(claim("w-3", kStart).next_expiry, kStart + 3600s);
  EXPECT_FALSE(claim("w-3", kStart + 3600s - 1ms).slot) << "held for their time";
  EXPECT_TRUE(claim("w-3", kStart + 3600s).slot);
}

// Fails if: the life that a binding gave to a slot of a wrong boot is counted from its claim.
TEST(BindSlot, C4ASlotOfAWrongBootIsHeldAsLongAsItsBindingSays) {
  MemoryRows rows;
  const AccountKey key{.resource = "emr", .account = "x"};
  const SlotRef slot{key, "w-1"};
  const SlotClaim other{.slot = {key, "w-2"}, .limit = 1, .ttl = 60s};
  ASSERT_TRUE(ClaimSlot(rows, {.slot = slot, .limit = 1, .ttl = 60s}, kStart + kWrongBoot)->slot);
  EXPECT_EQ(RenewSlot(rows, slot, 10s, kStart)->expires, kStart + 60s) << "no shorter than it was";
  ASSERT_TRUE(BindSlot(rows, {.slot = slot, .resource_id = "j", .ttl = 600s}, kStart));
  EXPECT_FALSE(ClaimSlot(rows, other, kStart + 600s - 1ms)->slot);
  EXPECT_TRUE(ClaimSlot(rows, other, kStart + 600s)->slot);
}

// Fails if: a late event of an earlier resource releases a slot whose time of claiming is unknown,
// or an end that was remembered under a wrong clock applies to slots that are claimed later.
TEST(ReleaseBound, C4NeitherAnEndNorASlotOfAWrongBootIsTakenAtItsWord) {
  MemoryRows rows;
  const SlotRef slot{{.resource = "emr", .account = "x"}, "w-1"};
  ASSERT_TRUE(ClaimSlot(rows, {.slot = slot, .limit = 1, .ttl = 60s}, kStart + kWrongBoot)->slot);
  ASSERT_TRUE(BindSlot(rows, {.slot = slot, .resource_id = "j", .ttl = 60s}, kStart + kWrongBoot));
  EXPECT_EQ(ReleaseBound(rows, {"j", kStart - 10s, kStart + 60s}, kStart), 0U);
  EXPECT_EQ(ReleaseBound(rows, {"j", kStart + 10s, kStart + 60s}, kStart + 10s), 1U);

  const UnixMillis wrong = kStart + kWrongBoot;
  ASSERT_EQ(ReleaseBound(rows, {"k", wrong, wrong + 3600s}, wrong), 0U);
  const SlotRef later{slot.key, "w-2"};
  ASSERT_TRUE(ClaimSlot(rows, {.slot = later, .limit = 1, .ttl = 60s}, kStart)->slot);
  EXPECT_TRUE(BindSlot(rows, {.slot = later, .resource_id = "k", .ttl = 60s}, kStart));
}

// A caller whose clock is behind waits until the bucket's time, and only then do tokens come back.
TEST(TakeTokens, TheWaitOfAClockThatIsBehindIsExact) {
  MemoryRows rows;
  const AccountTake one{
      .key = {.resource = "r", .account = "a"}, .limit = {.limit = 1, .window = 2s}, .count = 1};
  ASSERT_TRUE(TakeTokens(rows, one, kStart)->taken);
  const UnixMillis behind = kStart - 300ms;
  EXPECT_EQ(TakeTokens(rows, one, behind)->retry_after, 2300ms);
  EXPECT_FALSE(TakeTokens(rows, one, behind + 2299ms)->taken);
  EXPECT_TRUE(TakeTokens(rows, one, behind + 2300ms)->taken);
}

// C4. Fails if: a bucket that was written under a wrong clock refuses until that clock's time, or
// is refilled by it.
TEST(TakeTokens, C4ABucketThatIsFarAheadIsSetBackAndKeepsItsTokens) {
  MemoryRows rows;
  const AccountTake one{
      .key = {.resource = "r", .account = "a"}, .limit = {.limit = 1, .window = 2s}, .count = 1};
  ASSERT_TRUE(TakeTokens(rows, one, kStart + std::chrono::days(74 * 365))->taken);
  EXPECT_EQ(TakeTokens(rows, one, kStart)->retry_after, 2000ms);
  EXPECT_FALSE(TakeTokens(rows, one, kStart + 1999ms)->taken);
  EXPECT_TRUE(TakeTokens(rows, one, kStart + 2000ms)->taken) << "the refusal set it back";
}

// Fails if: the time between a refusal under a lowered limit and the next take counts at the old
// rate.
TEST(TakeTokens, TheWaitUnderALoweredLimitIsExact) {
  MemoryRows rows;
  AccountTake request{.key = {.resource = "r", .account = "a"},
                      .limit = {.limit = 100, .window = 10s},
                      .count = 100};
  ASSERT_TRUE(TakeTokens(rows, request, kStart)->taken);
  request.limit.limit = 10;
  request.count = 1;
  EXPECT_EQ(TakeTokens(rows, request, kStart)->retry_after, 91'000ms);
  EXPECT_FALSE(TakeTokens(rows, request, kStart + 90'999ms)->taken);
  EXPECT_TRUE(TakeTokens(rows, request, kStart + 91'000ms)->taken);
}

TEST(TakeTokens, DebtIsRoundedDownToWholeTokens) {
  MemoryRows rows;
  AccountTake request{.key = {.resource = "r", .account = "a"},
                      .limit = {.limit = 100, .window = 60s},
                      .count = 100};
  ASSERT_TRUE(TakeTokens(rows, request, kStart)->taken);
  request.limit.limit = 10;
  request.count = 1;
  EXPECT_EQ(TakeTokens(rows, request, kStart)->available, -90);
  EXPECT_EQ(TakeTokens(rows, request, kStart + 1s)->available, -90) << "a sixth has come back";
}

}  // namespace
}  // namespace weir
