#include "weir/reservation/slot_refusals.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

const AccountKey kAcme{"emr", "acme"};
const Instant kBegin{1'000'000'000'000};

Instant In(milliseconds wait) { return kBegin + wait; }

SlotsFull Full(std::optional<Instant> next_expiry, std::int64_t limit = 3) {
  return {.limit = limit, .in_use = limit, .next_expiry = next_expiry};
}

class SlotRefusalsTest : public ::testing::Test {
 protected:
  bool Remember(SlotRefusals& refusals, const SlotsFull& full) {
    return refusals.Remember(kAcme, full, refusals.Stamp(kAcme), kBegin);
  }
  std::optional<Instant> Until(SlotRefusals& refusals, std::int64_t limit = 3) {
    const auto belief = refusals.Find(kAcme, limit, kBegin);
    return belief ? std::optional(belief->until) : std::nullopt;
  }

  SlotRefusals refusals_{milliseconds(5'000), 10};
};

TEST_F(SlotRefusalsTest, ARefusalIsBelievedForItsTime) {
  EXPECT_TRUE(Remember(refusals_, Full(In(milliseconds(60'000)))));
  EXPECT_EQ(Until(refusals_), In(milliseconds(5'000)));
  EXPECT_TRUE(refusals_.Find(kAcme, 3, In(milliseconds(4'999))));
  EXPECT_FALSE(refusals_.Find(kAcme, 3, In(milliseconds(5'000))));
}

TEST_F(SlotRefusalsTest, ButNotBeyondTheFirstExpiry) {
  Remember(refusals_, Full(In(milliseconds(1'200))));
  EXPECT_EQ(Until(refusals_), In(milliseconds(1'200)));
}

TEST_F(SlotRefusalsTest, ForeverIsUntilTheFirstExpiry) {
  SlotRefusals patient(milliseconds::max(), 10);
  Remember(patient, Full(In(std::chrono::hours(8))));
  EXPECT_EQ(Until(patient), In(std::chrono::hours(8)));
}

TEST_F(SlotRefusalsTest, WhereNoExpiryIsKnownForeverIsFiveSeconds) {
  SlotRefusals patient(milliseconds::max(), 10);
  Remember(patient, Full(std::nullopt));
  EXPECT_EQ(Until(patient), In(milliseconds(5'000)));
  SlotRefusals brief(milliseconds(100), 10);
  Remember(brief, Full(std::nullopt));
  EXPECT_EQ(Until(brief), In(milliseconds(100)));
}

TEST_F(SlotRefusalsTest, WhatHasExpiredAlreadyEndsTheBelief) {
  Remember(refusals_, Full(In(milliseconds(60'000))));
  EXPECT_TRUE(Remember(refusals_, Full(In(milliseconds(-1)))));
  EXPECT_FALSE(Until(refusals_));
}

TEST_F(SlotRefusalsTest, NoTimeIsNoBelief) {
  SlotRefusals forgetful(milliseconds(0), 10);
  Remember(forgetful, Full(In(milliseconds(60'000))));
  EXPECT_FALSE(Until(forgetful));
}

TEST_F(SlotRefusalsTest, AnotherLimitEndsTheBelief) {
  Remember(refusals_, Full(In(milliseconds(60'000))));
  EXPECT_FALSE(Until(refusals_, 4));
  EXPECT_FALSE(Until(refusals_, 3));
}

TEST_F(SlotRefusalsTest, ASlotThatComesBackEndsTheBelief) {
  Remember(refusals_, Full(In(milliseconds(60'000))));
  refusals_.Released(kAcme);
  EXPECT_FALSE(Until(refusals_));
}

TEST_F(SlotRefusalsTest, ASlotThatComesBackWhileTheStoreAnswersIsNotMissed) {
  const std::uint64_t stamp = refusals_.Stamp(kAcme);
  refusals_.Released(kAcme);
  EXPECT_FALSE(refusals_.Remember(kAcme, Full(In(milliseconds(60'000))), stamp, kBegin));
  EXPECT_FALSE(Until(refusals_));
}

TEST_F(SlotRefusalsTest, KeysAreBelievedEachForItself) {
  Remember(refusals_, Full(In(milliseconds(60'000))));
  refusals_.Released({"emr", "umbrella"});
  EXPECT_TRUE(Until(refusals_));
  EXPECT_FALSE(refusals_.Find({"emr", "umbrella"}, 3, kBegin));
}

}  // namespace
}  // namespace weir
