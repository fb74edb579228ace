#include "apps/weir/slot_keeper.h"

#include <gtest/gtest.h>

#include "apps/weir/instants_fixture.h"

namespace weir::app {
namespace {

constexpr milliseconds kTtl{30'000};

TEST(SlotKeeper, RenewsAfterAThirdOfTheTime) {
  SlotKeeper keeper(kTtl, kNow + kTtl, kNow);
  EXPECT_EQ(keeper.next(), kNow + milliseconds(10'000));
  const UnixMillis later = kNow + milliseconds(10'007);
  keeper.Renewed(later + kTtl, later);
  EXPECT_EQ(keeper.next(), later + milliseconds(10'000));
  EXPECT_FALSE(keeper.lost(kNow + kTtl)) << "it lives longer now";
}

TEST(SlotKeeper, TriesAgainUntilItsTimeIsOver) {
  SlotKeeper keeper(kTtl, kNow + kTtl, kNow);
  UnixMillis now = keeper.next();
  int tries = 0;
  while (!keeper.lost(now)) {
    ++tries;
    keeper.Failed(now);
    EXPECT_GT(keeper.next(), now);
    now = keeper.next();
  }
  EXPECT_EQ(now, kNow + kTtl) << "the loss is seen at once";
  EXPECT_EQ(tries, 7) << "every three seconds from 10 to 30";
}

TEST(SlotKeeper, IsLostWhenTheStoreSaysSo) {
  SlotKeeper keeper(kTtl, kNow + kTtl, kNow);
  EXPECT_FALSE(keeper.lost(kNow + kTtl - milliseconds(1)));
  keeper.Gone();
  EXPECT_TRUE(keeper.lost(kNow));
}

// A very short time does not make it ask all the time.
TEST(SlotKeeper, PausesATenthOfASecondAtLeast) {
  SlotKeeper keeper(milliseconds(500), kNow + milliseconds(500), kNow);
  keeper.Failed(kNow);
  EXPECT_EQ(keeper.next(), kNow + milliseconds(100));
}

}  // namespace
}  // namespace weir::app
