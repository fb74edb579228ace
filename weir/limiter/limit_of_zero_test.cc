// Limits that block: a rate of 0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/limiter/testing/waiting_fixture.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Quota kNothing{0, 0, 60'000};

class LimitOfZeroTest : public WaitingTest {
 protected:
  void Block(const Level& level) {
    Apply({Put(level, {{"rpm", kNothing}, {"tpm", PerMinute(9)}})});
  }
  Result<Outcome> AskFor(Amounts amounts, std::string_view entity = "a") {
    return limiter_->Acquire({.entity = entity, .resource = "gpt-4", .amounts = std::move(amounts)},
                             kLong);
  }

  static constexpr Deadline kLong = Deadline::Never();
};

// Fails if: a request for a limit of 0 reaches the store, or has a wait that ends.
TEST_F(LimitOfZeroTest, RefusesEveryPositiveAmountAndNeverAdmitsIt) {
  Block(Level::Resource("gpt-4"));
  const auto asked = store_.acquires.size();
  for (const std::int64_t amount : {1, 1'000'000}) {
    const Told& told = Ask("a", amount);
    ASSERT_TRUE(told.refused());
    const Decision& decision = (*told.outcome)->decision();
    EXPECT_EQ(decision.retry_after, kNeverAdmitted);
    ASSERT_EQ(decision.limits.size(), 1U);
    EXPECT_EQ(decision.limits[0].limit, "rpm");
    EXPECT_EQ(decision.limits[0].capacity, 0);
    EXPECT_EQ(decision.limits[0].requested, amount * kMillitokens);
    EXPECT_TRUE(decision.limits[0].exceeded);
  }
  EXPECT_EQ(store_.acquires.size(), asked);
  EXPECT_EQ(limiter_->stats().refused, 2U);
}

TEST_F(LimitOfZeroTest, OtherLimitsOfTheBucketAreCharged) {
  Block(Level::Resource("gpt-4"));
  EXPECT_TRUE(AskFor({{"tpm", 4}})->admitted());
  EXPECT_TRUE(AskFor({{"rpm", 0}, {"tpm", 5}})->admitted());
  EXPECT_FALSE(AskFor({{"tpm", 1}})->admitted());
  EXPECT_FALSE(AskFor({{"rpm", 1}, {"tpm", 0}})->admitted());
}

TEST_F(LimitOfZeroTest, ARequestForNothingIsAdmitted) {
  Apply({Put(Level::Resource("gpt-4"), {{"rpm", kNothing}})});
  auto outcome = AskFor({{"rpm", 0}});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->admitted());
  EXPECT_FALSE(outcome->unprotected());
  EXPECT_FALSE(AskFor({{"rpm", 1}})->admitted());
}

// Fails if: the correction of one limit is lost because another one blocks.
TEST_F(LimitOfZeroTest, AnAdjustIgnoresTheLimitThatBlocks) {
  Block(Level::Resource("gpt-4"));
  Lease lease = AskFor({{"rpm", 0}, {"tpm", 2}}).value().lease();
  const Status adjusted = lease.Adjust({{"rpm", 1}, {"tpm", 3}});
  ASSERT_TRUE(adjusted) << adjusted.error().message;
  EXPECT_TRUE(lease.Adjust({{"rpm", -1}}));
  EXPECT_FALSE(lease.Adjust({{"x", 1}}));
  EXPECT_TRUE(lease.Commit());
  EXPECT_FALSE(AskFor({{"tpm", 5}})->admitted());
  EXPECT_TRUE(AskFor({{"tpm", 4}})->admitted());
}

// Fails if: a caller that adjusts and commits each lease gets an error because the limits block.
TEST_F(LimitOfZeroTest, ALeaseOfNothingCanBeAdjustedAndEnded) {
  Apply({Put(Level::Resource("gpt-4"), {{"rpm", kNothing}})});
  Lease lease = AskFor({{"rpm", 0}}).value().lease();
  const auto asked = store_.acquires.size();
  const Status adjusted = lease.Adjust({{"rpm", 5}});
  EXPECT_TRUE(adjusted) << adjusted.error().message;
  EXPECT_EQ(lease.Adjust({{"x", 5}}).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(lease.Commit());
  EXPECT_EQ(store_.acquires.size(), asked);
  EXPECT_TRUE(AskFor({{"rpm", 0}}).value().lease().Cancel());
}

// Fails if: the limits of the bucket that do not block cannot be adjusted then.
TEST_F(LimitOfZeroTest, ALeaseOfNothingAdjustsTheOtherLimits) {
  Block(Level::Resource("gpt-4"));
  Lease lease = AskFor({{"rpm", 0}}).value().lease();
  EXPECT_TRUE(lease.Adjust({{"rpm", 1}, {"tpm", 5}}));
  EXPECT_TRUE(lease.Commit());
  EXPECT_FALSE(AskFor({{"tpm", 5}})->admitted());
  EXPECT_TRUE(AskFor({{"tpm", 4}})->admitted());
}

TEST_F(LimitOfZeroTest, ALimitThatBlocksInOneBucketIsAdjustedInTheOther) {
  Apply({PutChild("a", "p"), Put(Level::EntityDefault("p"), {{"rpm", PerMinute(9)}}),
         Put(Level::EntityDefault("a"), {{"rpm", kNothing}, {"tpm", kNothing}})});
  Lease lease = AskFor({{"rpm", 0}, {"tpm", 0}}).value().lease();
  const Status adjusted = lease.Adjust({{"rpm", 4}, {"tpm", 7}});
  EXPECT_TRUE(adjusted) << adjusted.error().message;
  EXPECT_TRUE(lease.Commit());
  EXPECT_TRUE(Ask("p", 6).refused());
  EXPECT_TRUE(Ask("p", 5).admitted());
}

TEST_F(LimitOfZeroTest, UnknownLimitsAndNegativeAmountsStayErrors) {
  Block(Level::Resource("gpt-4"));
  const auto unknown = AskFor({{"rpm", 1}, {"x", 1}});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("known are rpm, tpm"));
  EXPECT_EQ(AskFor({{"rpm", Tokens::Milli(-1)}}).error().code, Code::kInvalidArgument);
}

TEST_F(LimitOfZeroTest, TheFirstLevelWithLimitsApplies) {
  Block(Level::EntityDefault("a"));
  EXPECT_TRUE(Ask("a", 1).refused());
  EXPECT_TRUE(Ask("b", 1).admitted());
  Apply({Put(Level::Entity("a", "gpt-4"), {{"rpm", PerMinute(3)}})});
  EXPECT_TRUE(Ask("a", 3).admitted());
}

TEST_F(LimitOfZeroTest, AParentThatBlocksRefusesItsChildren) {
  Apply({PutChild("a", "p"), Put(Level::EntityDefault("p"), {{"rpm", kNothing}})});
  const Told& told = Ask("a", 1);
  ASSERT_TRUE(told.refused());
  EXPECT_EQ((*told.outcome)->decision().limits[0].entity, "p");
  EXPECT_TRUE(Ask("b", 1).admitted());
}

// Fails if: a request that waits for tokens is not refused when its limit is set to 0.
TEST_F(LimitOfZeroTest, ARequestThatWaitsIsRefusedAtOnce) {
  Drain("a");
  Told& waiting = Wait("a", 5);
  EXPECT_EQ(waiting.times, 0);
  Block(Level::System());
  scheduler_.RunReady();
  EXPECT_TRUE(waiting.refused());
  EXPECT_TRUE(Wait("a", 1).refused());
}

TEST_F(LimitOfZeroTest, UsedTokensStayUsedWhileALimitBlocks) {
  Use("a", 7);
  Block(Level::System());
  EXPECT_TRUE(AskFor({{"tpm", 1}})->admitted());
  Apply({Put(Level::System(), {{"rpm", PerMinute(10)}})});
  EXPECT_TRUE(Ask("a", 4).refused());
  EXPECT_TRUE(Ask("a", 3).admitted());
}

TEST_F(LimitOfZeroTest, AnOverrideMayBlock) {
  const auto blocked = limiter_->Acquire({.entity = "a",
                                          .resource = "gpt-4",
                                          .amounts = {{"rpm", 1}},
                                          .limits = std::vector<Limit>{{"rpm", kNothing}}},
                                         kLong);
  ASSERT_TRUE(blocked) << blocked.error().message;
  EXPECT_EQ(blocked->decision().retry_after, kNeverAdmitted);
}

TEST_F(LimitOfZeroTest, APeekShowsIt) {
  Block(Level::Resource("gpt-4"));
  const auto look = [&](Amounts amounts) {
    return *limiter_->Peek({.entity = "a", .resource = "gpt-4", .amounts = std::move(amounts)},
                           kLong);
  };
  const Peeked shown = look({});
  EXPECT_TRUE(shown.decision.admitted);
  ASSERT_EQ(shown.decision.limits.size(), 2U);
  EXPECT_EQ(shown.decision.limits[1].limit, "rpm");
  EXPECT_EQ(shown.decision.limits[1].capacity, 0);
  EXPECT_THAT(shown.levels, ElementsAre(Level::Kind::kResource, Level::Kind::kResource));
  const Peeked refused = look({{"rpm", 1}});
  EXPECT_FALSE(refused.decision.admitted);
  EXPECT_EQ(refused.decision.retry_after, kNeverAdmitted);
}

}  // namespace
}  // namespace weir
