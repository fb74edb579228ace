#include "weir/limiter/peek.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/limiter/testing/waiting_fixture.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The fixture's `a` and `b` have 10 rpm each.
class PeekTest : public WaitingTest {
 protected:
  Peeked Look(const PeekRequest& request) {
    auto peeked = limiter_->Peek(request, Deadline::Never());
    EXPECT_TRUE(peeked) << peeked.error().message;
    return peeked ? *std::move(peeked) : Peeked{};
  }
};

TEST_F(PeekTest, ShowsEachLimitWithItsLevelAndTakesNothing) {
  Family();
  Use("a", 4);
  const auto tries = store_.acquires.size();
  const Peeked peeked = Look({.entity = "a", .resource = "gpt-4"});
  EXPECT_TRUE(peeked.decision.admitted);
  EXPECT_EQ(peeked.decision.retry_after, milliseconds(0));
  ASSERT_EQ(peeked.decision.limits.size(), 2U);
  EXPECT_EQ(peeked.decision.limits[0].entity, "a");
  EXPECT_EQ(peeked.decision.limits[0].available, 6000);
  EXPECT_EQ(peeked.decision.limits[1].entity, "p");
  EXPECT_EQ(peeked.decision.limits[1].available, 11'000);
  EXPECT_THAT(peeked.levels, ElementsAre(Level::Kind::kSystem, Level::Kind::kEntityDefault));
  EXPECT_EQ(store_.acquires.size(), tries);
  EXPECT_EQ(Look({.entity = "a", .resource = "gpt-4"}).decision, peeked.decision);
}

// The time until N tokens are available, without taking them.
TEST_F(PeekTest, NamesTheTimeUntilTheAmountIsAvailable) {
  Drain("a");
  const PeekRequest request{.entity = "a", .resource = "gpt-4", .amounts = {{"rpm", 3}}};
  const Peeked refused = Look(request);
  EXPECT_FALSE(refused.decision.admitted);
  EXPECT_EQ(refused.decision.retry_after, 18 * kSecond);
  EXPECT_TRUE(refused.decision.limits[0].exceeded);
  scheduler_.Advance(18 * kSecond);
  EXPECT_TRUE(Look(request).decision.admitted);
  EXPECT_TRUE(Ask("a", 3).admitted()) << "the peek took nothing";
}

TEST_F(PeekTest, ABucketThatDoesNotExistIsFull) {
  const Peeked peeked = Look({.entity = "new", .resource = "gpt-4"});
  ASSERT_EQ(peeked.decision.limits.size(), 1U);
  EXPECT_EQ(peeked.decision.limits[0].available, 10'000);
}

TEST_F(PeekTest, AnUnknownLimitIsAnError) {
  const auto peeked = limiter_->Peek({.entity = "a", .resource = "gpt-4", .amounts = {{"rpn", 1}}},
                                     Deadline::Never());
  ASSERT_FALSE(peeked);
  EXPECT_EQ(peeked.error().code, Code::kInvalidArgument);
  EXPECT_THAT(peeked.error().message, HasSubstr("rpn"));
}

TEST_F(PeekTest, AnErrorOfTheStoreIsReported) {
  Use("a", 1);
  store_.fail = Error{Code::kUnavailable, "away"};
  const auto peeked = limiter_->Peek({.entity = "a", .resource = "gpt-4"}, Deadline::Never());
  ASSERT_FALSE(peeked);
  EXPECT_EQ(peeked.error().code, Code::kUnavailable);
}

// Fails if: Credit does not wake the wait queue.
TEST_F(PeekTest, ACreditServesTheWaitingRequestAtOnce) {
  Drain("a");
  const Told& waiter = Wait("a", 5);
  const auto credited = limiter_->Credit({.kind = BucketCredit::Kind::kTopUp,
                                          .entity = "a",
                                          .resource = "gpt-4",
                                          .amounts = {{"rpm", 6000}}},
                                         Deadline::Never());
  ASSERT_TRUE(credited) << credited.error().message;
  EXPECT_THAT(*credited, ElementsAre(CreditedLimit{.limit = "rpm", .added = 6000, .tokens = 6000}));
  scheduler_.RunReady();
  EXPECT_TRUE(waiter.admitted());
  EXPECT_EQ(Elapsed(waiter), nanoseconds(0));
}

TEST_F(PeekTest, ACreditOfAnUnknownLimitChangesNothing) {
  Drain("a");
  const auto credited = limiter_->Credit(
      {.entity = "a", .resource = "gpt-4", .amounts = {{"tpm", 0}}}, Deadline::Never());
  ASSERT_FALSE(credited);
  EXPECT_EQ(credited.error().code, Code::kInvalidArgument);
  EXPECT_EQ(Look({.entity = "a", .resource = "gpt-4"}).decision.limits[0].available, 0);
}

}  // namespace
}  // namespace weir
