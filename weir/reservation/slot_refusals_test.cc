#include "weir/reservation/slot_refusals.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

const AccountKey kAcme{"emr", "acme"};
const Instant kBegin{1'000'000'000'000};

Instant In(milliseconds wait) { return kBegin + wait; }

ClaimRefusal Full(std::optional<Instant> next_expiry, std::int64_t limit = 3) {
  return {.limit = limit, .in_use = limit, .next_expiry = next_expiry};
}

class SlotRefusalsTest : public ::testing::Test {
 protected:
  bool CacheRefusal(SlotRefusals& refusals, const ClaimRefusal& full) {
    return refusals.CacheRefusal(kAcme, full, refusals.StampOf(kAcme), kBegin);
  }
  std::optional<Instant> Until(SlotRefusals& refusals, std::int64_t limit = 3) {
    const auto cached = refusals.Find(kAcme, limit, kBegin);
    return cached ? std::optional(cached->until) : std::nullopt;
  }

  SlotRefusals refusals_{milliseconds(5'000), 10};
};

TEST_F(SlotRefusalsTest, ARefusalIsBelievedForItsTime) {
  EXPECT_TRUE(CacheRefusal(refusals_, Full(In(milliseconds(60'000)))));
  EXPECT_EQ(Until(refusals_), In(milliseconds(5'000)));
  EXPECT_TRUE(refusals_.Find(kAcme, 3, In(milliseconds(4'999))));
  EXPECT_FALSE(refusals_.Find(kAcme, 3, In(milliseconds(5'000))));
}

TEST_F(SlotRefusalsTest, ButNotBeyondTheFirstExpiry) {
  CacheRefusal(refusals_, Full(In(milliseconds(1'200))));
  EXPECT_EQ(Until(refusals_), In(milliseconds(1'200)));
}

TEST_F(SlotRefusalsTest, ForeverIsUntilTheFirstExpiry) {
  SlotRefusals patient(milliseconds::max(), 10);
  CacheRefusal(patient, Full(In(std::chrono::hours(8))));
  EXPECT_EQ(Until(patient), In(std::chrono::hours(8)));
}

TEST_F(SlotRefusalsTest, WhereNoExpiryIsKnownForeverIsFiveSeconds) {
  SlotRefusals patient(milliseconds::max(), 10);
  CacheRefusal(patient, Full(std::nullopt));
  EXPECT_EQ(Until(patient), In(milliseconds(5'000)));
  SlotRefusals brief(milliseconds(100), 10);
  CacheRefusal(brief, Full(std::nullopt));
  EXPECT_EQ(Until(brief), In(milliseconds(100)));
}

TEST_F(SlotRefusalsTest, WhatHasExpiredAlreadyEndsTheBelief) {
  CacheRefusal(refusals_, Full(In(milliseconds(60'000))));
  EXPECT_TRUE(CacheRefusal(refusals_, Full(In(milliseconds(-1)))));
  EXPECT_FALSE(Until(refusals_));
}

TEST_F(SlotRefusalsTest, NoTimeIsNoBelief) {
  SlotRefusals forgetful(milliseconds(0), 10);
  CacheRefusal(forgetful, Full(In(milliseconds(60'000))));
  EXPECT_FALSE(Until(forgetful));
}

TEST_F(SlotRefusalsTest, AnotherLimitEndsTheBelief) {
  CacheRefusal(refusals_, Full(In(milliseconds(60'000))));
  EXPECT_FALSE(Until(refusals_, 4));
  EXPECT_FALSE(Until(refusals_, 3));
}

TEST_F(SlotRefusalsTest, ASlotThatComesBackEndsTheBelief) {
  CacheRefusal(refusals_, Full(In(milliseconds(60'000))));
  refusals_.OnReleased(kAcme);
  EXPECT_FALSE(Until(refusals_));
}

TEST_F(SlotRefusalsTest, ASlotThatComesBackWhileTheStoreAnswersIsNotMissed) {
  const std::uint64_t stamp = refusals_.StampOf(kAcme);
  refusals_.OnReleased(kAcme);
  EXPECT_FALSE(refusals_.CacheRefusal(kAcme, Full(In(milliseconds(60'000))), stamp, kBegin));
  EXPECT_FALSE(Until(refusals_));
}

TEST_F(SlotRefusalsTest, KeysAreBelievedEachForItself) {
  CacheRefusal(refusals_, Full(In(milliseconds(60'000))));
  refusals_.OnReleased({"emr", "umbrella"});
  EXPECT_TRUE(Until(refusals_));
  EXPECT_FALSE(refusals_.Find({"emr", "umbrella"}, 3, kBegin));
}

}  // namespace
}  // namespace weir
