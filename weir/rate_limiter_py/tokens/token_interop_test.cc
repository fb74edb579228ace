// Clients of rate-limiter-py and ours on one bucket.
#include <gtest/gtest.h>

#include "weir/rate_limiter_py/testing/token_fixture.h"

namespace weir::rate_limiter_py {
namespace {

using Release = PyClient::Release;

class TokenInteropTest : public testing::Test {
 protected:
  TokenSim t_;
  PyClient theirs_{t_, Release::kRepaired};
};

TEST_F(TokenInteropTest, OursContinuesWhereTheirsEnded) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(theirs_.GetToken(i));
  ASSERT_EQ(t_.Number(kTokens), 6);
  EXPECT_EQ(t_.Take(4)->available, 5);
  EXPECT_FALSE(t_.Take(4, 6)->taken);
  EXPECT_TRUE(t_.Take(4, 5)->taken);
}

TEST_F(TokenInteropTest, TheirsContinuesWhereOursEnded) {
  ASSERT_TRUE(t_.Take(0, 9)->taken);
  EXPECT_TRUE(theirs_.GetToken(1));
  EXPECT_FALSE(theirs_.GetToken(2)) << "ours took nine and theirs the tenth";
  EXPECT_FALSE(t_.Take(3)->taken);
}

// They read the stored tokens, without a refill since: so the refill that is not stored must be
// small.
TEST_F(TokenInteropTest, TheirsSeesWhatOursWasGivenBack) {
  for (std::int64_t later = 0; later <= 100'000; later += 10'000) {
    ASSERT_TRUE(t_.Take(later)->taken);
    EXPECT_GE(t_.Number(kTokens), 8) << later;
  }
}

TEST_F(TokenInteropTest, InTurnsTheyHaveOneBucketTogether) {
  int taken = 0;
  for (std::int64_t later = 0; later < 10; ++later) {
    taken += (later % 2 == 0 ? t_.Take(later)->taken : theirs_.GetToken(later)) ? 1 : 0;
  }
  EXPECT_EQ(taken, 10);
  EXPECT_FALSE(t_.Take(11)->taken);
  EXPECT_FALSE(theirs_.GetToken(11));
}

// Their refill drops the part of a token; ours does not count a part that it cannot know.
TEST_F(TokenInteropTest, AfterTheirRefillTheirTimeCounts) {
  ASSERT_TRUE(t_.Take(0, 10)->taken);
  ASSERT_TRUE(t_.Take(15'000)->taken);
  ASSERT_TRUE(theirs_.GetToken(26'000)) << "by their safety valve: ours left nothing";
  ASSERT_EQ(t_.Number(kLastRefill), kStart.value + 26'000);
  const std::int64_t left = t_.Number(kTokens);
  EXPECT_FALSE(t_.Take(35'999, left + 1)->taken);
  EXPECT_TRUE(t_.Take(36'000, left + 1)->taken);
}

// Ours takes between their two requests, and if the second one is never made.
TEST_F(TokenInteropTest, L4ATakeBetweenTheirStepsIsNotWrittenOver) {
  const auto created = theirs_.TakeStep(0);
  ASSERT_TRUE(created);
  EXPECT_EQ(t_.Take(0)->available, 8);
  theirs_.RefillStep(*created, 0);
  EXPECT_EQ(t_.Number(kTokens), 8) << "theirs fails on its condition";
  EXPECT_EQ(t_.Take(1)->available, 7);
}

TEST_F(TokenInteropTest, L4TheirTakesCountThoughTheyNeverRefilled) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(theirs_.TakeStep(i * 10'001)) << "by their safety valve";
  }
  ASSERT_EQ(t_.Number(kTokens), -3);
  EXPECT_EQ(t_.Take(20'002)->available, 6);
}

TEST_F(TokenInteropTest, TheirFirstStepIsInNobodysWay) {
  ASSERT_TRUE(t_.Take(0)->taken);
  t_.sim.client.before_each = [this](const JsonCall&) { ASSERT_TRUE(theirs_.TakeStep(1)); };
  const std::uint64_t before = t_.writes();
  EXPECT_EQ(t_.Take(1)->available, 7);
  EXPECT_EQ(t_.writes() - before, 2U) << "theirs and ours";
}

TEST_F(TokenInteropTest, L2TheirDebtIsRepaidBeforeOursTakes) {
  ASSERT_TRUE(t_.Take(0, 10)->taken);
  ASSERT_TRUE(theirs_.TakeStep(10'001)) << "by their safety valve; their second step is lost";
  ASSERT_EQ(t_.Number(kTokens), -1);
  TokenTable fresh(t_.sim.table, {.seed = 2});
  EXPECT_FALSE(t_.Take(fresh, 19'999)->taken);
  EXPECT_TRUE(t_.Take(fresh, 20'000)->taken);
}

// Its time is earlier than that of the take: the refill since then exceeds the limit.
TEST_F(TokenInteropTest, L1WhatThePublishedReleaseFilledIsNoMoreThanTheLimit) {
  PyClient published(t_, Release::kPublished);
  ASSERT_TRUE(t_.Take(0, 5)->taken);
  ASSERT_TRUE(published.GetToken(1));
  ASSERT_EQ(t_.Number(kTokens), 9);
  EXPECT_EQ(t_.Take(12'001)->available, 9) << "10.2 are 10";
  EXPECT_FALSE(t_.Take(20'001, 10)->taken);
  EXPECT_TRUE(t_.Take(22'001, 10)->taken);
}

// L1: the published release fills the bucket with each take. Ours accepts the stored tokens.
TEST_F(TokenInteropTest, L1ThePublishedReleaseFillsTheBucketForAll) {
  PyClient published(t_, Release::kPublished);
  ASSERT_TRUE(t_.Take(0, 9)->taken);
  ASSERT_TRUE(published.GetToken(1));
  EXPECT_EQ(t_.Number(kTokens), 9);
  TokenTable fresh(t_.sim.table, {.seed = 2});
  EXPECT_EQ(t_.Take(fresh, 2)->available, 8);
}

}  // namespace
}  // namespace weir::rate_limiter_py
