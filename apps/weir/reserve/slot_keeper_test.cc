#include "apps/weir/reserve/slot_keeper.h"

#include <gtest/gtest.h>

#include "apps/weir/testing/instants_fixture.h"

namespace weir::app {
namespace {

using Step = SlotKeeper::Step;

constexpr milliseconds kTtl{30'000};
constexpr milliseconds kThird{10'000};

SlotKeeper KeeperOf(milliseconds ttl) { return {ttl, kNow + ttl, kNow}; }

/// Starts a renewal at a third of the lifetime.
void BeginRenewal(SlotKeeper& keeper) { ASSERT_EQ(keeper.Advance(kNow + kThird), Step::kRenew); }

TEST(SlotKeeper, RenewsAfterAThirdOfTheTime) {
  SlotKeeper keeper = KeeperOf(kTtl);
  EXPECT_EQ(keeper.next(), kNow + kThird);
  EXPECT_EQ(keeper.Advance(kNow + kThird - milliseconds(1)), Step::kWait);
  EXPECT_EQ(keeper.Advance(kNow + kThird), Step::kRenew);
  EXPECT_EQ(keeper.Advance(kNow + kThird), Step::kWait) << "one at a time";
  const UnixMillis later = kNow + milliseconds(10'007);
  keeper.Renewed(later + kTtl, later);
  EXPECT_EQ(keeper.next(), later + kThird);
  EXPECT_EQ(keeper.Advance(later), Step::kWait);
}

TEST(SlotKeeper, TriesAgainUntilItsTimeIsOver) {
  SlotKeeper keeper = KeeperOf(kTtl);
  int tries = 0;
  UnixMillis now = kNow;
  while (!keeper.is_lost()) {
    now = *keeper.next();
    if (keeper.Advance(now) != Step::kRenew) continue;
    ++tries;
    keeper.Failed(now);
    EXPECT_GT(*keeper.next(), now);
  }
  EXPECT_EQ(now, kNow + kTtl) << "the loss is seen at once";
  EXPECT_EQ(tries, 7) << "every three seconds from 10 to 30";
  EXPECT_EQ(keeper.next(), std::nullopt);
}

// R12. Fails if: a missing result of a renewal delays the loss.
TEST(SlotKeeper, R12GivesUpAtTheExpiryWhileARenewalIsInFlight) {
  SlotKeeper keeper = KeeperOf(kTtl);
  BeginRenewal(keeper);
  EXPECT_EQ(keeper.next(), kNow + kTtl);
  EXPECT_EQ(keeper.Advance(kNow + kTtl - milliseconds(1)), Step::kWait);
  EXPECT_EQ(keeper.Advance(kNow + kTtl), Step::kGiveUp);
  keeper.Renewed(kNow + 2 * kTtl, kNow + kTtl);
  EXPECT_TRUE(keeper.is_lost()) << "the answer came too late: the command was asked to end";
}

void ExpectNoMoreRenewals(SlotKeeper& keeper) {
  EXPECT_EQ(keeper.next(), std::nullopt);
  EXPECT_EQ(keeper.Advance(kNow + 100 * kTtl), Step::kWait);
  EXPECT_FALSE(keeper.is_lost());
}

// R2. Fails if: a bound slot is renewed or lost.
TEST(SlotKeeper, R2BoundItIsNeitherRenewedNorLost) {
  SlotKeeper keeper = KeeperOf(kTtl);
  BeginRenewal(keeper);
  keeper.Bound();
  ExpectNoMoreRenewals(keeper);
}

// R2. Fails if: the end of the bound resource between two renewals counts as a loss.
TEST(SlotKeeper, R2ReleasedBeforeItsExpiryItIsNotLost) {
  SlotKeeper keeper = KeeperOf(kTtl);
  BeginRenewal(keeper);
  keeper.NotHeld(kNow + kTtl / 2);
  ExpectNoMoreRenewals(keeper);
}

// R2. Fails if: a slot that expired while its renewal was in flight, in a pause of the process,
// counts as released on purpose.
TEST(SlotKeeper, R2GoneAfterItsExpiryItIsLostWheneverItsRenewalBegan) {
  SlotKeeper keeper = KeeperOf(kTtl);
  BeginRenewal(keeper);
  const UnixMillis late = kNow + 3 * kTtl;
  keeper.NotHeld(late);
  EXPECT_EQ(keeper.Advance(late), Step::kGiveUp);
  EXPECT_TRUE(keeper.is_lost());
}

// Fails if: a renewal that the store made long ago counts as a recent one.
TEST(SlotKeeper, ARenewalIsDueAtTheExpiryAtTheLatest) {
  SlotKeeper keeper = KeeperOf(kTtl);
  BeginRenewal(keeper);
  const UnixMillis late = kNow + 3 * kTtl;
  keeper.Renewed(kNow + kTtl, late);
  EXPECT_EQ(keeper.Advance(late), Step::kRenew);
}

// A process that was stopped, or whose machine was suspended.
TEST(SlotKeeper, AfterAPauseBeyondTheExpiryOneRenewalDecides) {
  const UnixMillis late = kNow + 3 * kTtl;
  SlotKeeper bound = KeeperOf(kTtl);
  ASSERT_EQ(bound.Advance(late), Step::kRenew);
  bound.Bound();
  EXPECT_EQ(bound.Advance(late + kTtl), Step::kWait);

  SlotKeeper gone = KeeperOf(kTtl);
  ASSERT_EQ(gone.Advance(late), Step::kRenew);
  gone.NotHeld(late);
  EXPECT_EQ(gone.Advance(late), Step::kGiveUp) << "another may have it";

  SlotKeeper silent = KeeperOf(kTtl);
  ASSERT_EQ(silent.Advance(late), Step::kRenew);
  EXPECT_EQ(silent.Advance(late + milliseconds(2'999)), Step::kWait);
  EXPECT_EQ(silent.Advance(late + milliseconds(3'000)), Step::kGiveUp);
}

// A very short lifetime does not cause continuous renewals.
TEST(SlotKeeper, PausesATenthOfASecondAtLeast) {
  SlotKeeper keeper = KeeperOf(milliseconds(500));
  const UnixMillis first = *keeper.next();
  ASSERT_EQ(keeper.Advance(first), Step::kRenew);
  keeper.Failed(first);
  EXPECT_EQ(keeper.next(), first + milliseconds(100));
}

// R16. Fails if: a renewal is due at the time of the one before.
TEST(SlotKeeper, R16TheShortestTimeDoesNotSpin) {
  for (const milliseconds ttl : {milliseconds(1), milliseconds(2)}) {
    SlotKeeper keeper = KeeperOf(ttl);
    EXPECT_GT(*keeper.next(), kNow);
    ASSERT_EQ(keeper.Advance(*keeper.next()), Step::kRenew);
    const UnixMillis now = kNow + milliseconds(1);
    keeper.Renewed(now + ttl, now);
    EXPECT_GT(*keeper.next(), now);
  }
}

}  // namespace
}  // namespace weir::app
