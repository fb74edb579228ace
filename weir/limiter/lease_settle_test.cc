// Adjusts of a lease whose results are lost: each counts once, and none is dropped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "weir/limiter/adjustment.h"
#include "weir/limiter/testing/lease_fixture.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LeaseSettleTest : public LeaseTest {};

// C7: a second adjust of equal amounts was treated as a repetition of the first.
TEST_F(LeaseSettleTest, C7EveryChunkOfAStreamCountsThoughEveryOtherAnswerIsLost) {
  Lease lease = Take({{"rpm", 1}, {"tpm", 0}});
  for (int chunk = 0; chunk < 7; ++chunk) {
    chunk % 2 == 0 ? Lose() : Heal();
    EXPECT_EQ(lease.Adjust({{"tpm", 10}}).has_value(), chunk % 2 == 1) << chunk;
  }
  Heal();
  EXPECT_TRUE(lease.Commit());
  EXPECT_THAT(Left(), ElementsAre(9, 30, 10));
}

TEST_F(LeaseSettleTest, C7AdjustsThatWereNotSentAreKeptToo) {
  for (const bool happened : {true, false}) {
    Lease lease = Take({{"tpm", 5}});
    happened ? Lose() : Fail();
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(lease.Adjust({{"tpm", 5}}));
    EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 5'000)) << "not known to count";
    Heal();
    EXPECT_TRUE(lease.Settle());
    EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 20'000));
    EXPECT_THAT(Left(), ElementsAre(10, 80, 60));
    EXPECT_TRUE(lease.Cancel());
    EXPECT_THAT(Left(), ElementsAre(10, 100, 80));
  }
}

TEST_F(LeaseSettleTest, SettleSendsAgainUnderTheSameToken) {
  Lease lease = Take({{"tpm", 30}});
  EXPECT_TRUE(lease.Settle()) << "nothing is in doubt";
  EXPECT_TRUE(store_.adjusts.empty());
  Lose();
  EXPECT_EQ(lease.Adjust({{"tpm", 10}}).error().code, Code::kUnavailable);
  EXPECT_EQ(lease.Settle().error().code, Code::kUnavailable);
  Heal();
  EXPECT_TRUE(lease.Settle());
  EXPECT_THAT(Left(), ElementsAre(10, 60, 40));
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 40'000));
  ASSERT_EQ(store_.adjusts.size(), 3U);
  EXPECT_EQ(store_.adjusts[0].terms.id, store_.adjusts[1].terms.id);
  EXPECT_EQ(store_.adjusts[0].terms.id, store_.adjusts[2].terms.id);
  EXPECT_TRUE(lease.Adjust({{"tpm", 10}}));
  EXPECT_NE(store_.adjusts[3].terms.id, store_.adjusts[2].terms.id);
  EXPECT_THAT(Left(), ElementsAre(10, 50, 30));
}

TEST_F(LeaseSettleTest, SettleReturnsTheErrorOfAnAdjustThatWasRefusedAtLast) {
  Lease lease = Take({{"tpm", 30}});
  Fail();
  EXPECT_FALSE(lease.Release({{"tpm", 10}}));
  EXPECT_FALSE(lease.Adjust({{"tpm", 2}}));
  store_.fail = Error{Code::kOutOfRange, "too much debt"};
  EXPECT_EQ(lease.Settle().error().code, Code::kOutOfRange);
  Heal();
  EXPECT_TRUE(lease.Settle()) << "both are settled: they changed nothing";
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 30'000));
}

// Fails if: tokens that one bucket of two has back are returned again, or tokens that only one of
// them gave are returned to both.
TEST_F(LeaseSettleTest, APartialAdjustIsDroppedWithTheFewerTokens) {
  Lease lease = Take({{"tpm", 30}});
  store_.fail = Error{.code = Code::kFailedPrecondition, .message = "disabled", .is_partial = true};
  EXPECT_FALSE(lease.Release({{"tpm", 10}}));
  EXPECT_FALSE(lease.Adjust({{"tpm", 5}})) << "it is sent although the first one never succeeds";
  EXPECT_EQ(store_.adjusts.size(), 2U);
  Heal();
  EXPECT_TRUE(lease.Settle());
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 20'000));
}

// C7: the first request was applied. A repetition that is not permitted does not revert it.
TEST_F(LeaseSettleTest, C7AReturnInDoubtStaysSoWhileTheCallerIsNotAllowedToRepeatIt) {
  for (const Code code : {Code::kPermissionDenied, Code::kUnauthenticated}) {
    Lease lease = Take({{"tpm", 30}});
    Lose();
    EXPECT_FALSE(lease.Release({{"tpm", 20}}));
    Heal();
    store_.fail = Error{code, "the credentials were revoked"};
    const Status settled = lease.Settle();
    ASSERT_FALSE(settled);
    EXPECT_EQ(settled.error().code, Code::kUnavailable) << "a definite code: nothing was changed";
    EXPECT_THAT(settled.error().message, HasSubstr("the credentials were revoked; an earlier"));
    EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 10'000)) << "20 may be back";
    EXPECT_EQ(lease.Cancel().error().code, Code::kUnavailable);
    Heal();
    EXPECT_TRUE(lease.Cancel());
    EXPECT_THAT(Left(), ElementsAre(10, 100, 80)) << "each token came back once";
  }
}

TEST_F(LeaseSettleTest, AnAdjustThatWasNeverAllowedChangedNothing) {
  Lease lease = Take({{"tpm", 30}});
  store_.fail = Error{Code::kPermissionDenied, "not yours"};
  EXPECT_FALSE(lease.Release({{"tpm", 20}}));
  Heal();
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 30'000));
  EXPECT_TRUE(lease.Settle());
}

// C7: a store keeps the id of an adjust for ten minutes. Fails if: Send does not check the time of
// the first request.
TEST_F(LeaseSettleTest, C7AnAdjustIsNotSentAgainAfterTheStoreMayHaveForgottenIt) {
  Lease lease = Take({{"tpm", 30}});
  Lose();
  EXPECT_FALSE(lease.Release({{"tpm", 20}}));
  scheduler_.Advance(kAdjustIdLifetime - milliseconds(1));
  EXPECT_EQ(lease.Settle().error().code, Code::kUnavailable);
  ASSERT_EQ(store_.adjusts.size(), 2U);
  EXPECT_EQ(store_.adjusts[1].deadline, Deadline::After(scheduler_.clock(), milliseconds(1)))
      << "it must arrive before that";
  Heal();
  scheduler_.Advance(milliseconds(1));
  const Status settled = lease.Settle();
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(settled.error().message, HasSubstr("not sent again"));
  EXPECT_EQ(store_.adjusts.size(), 2U);
  EXPECT_EQ(limiter_->stats().adjusts_given_up, 1U);
  EXPECT_TRUE(lease.Settle()) << "nothing is kept";
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 10'000)) << "20 may be back";
  EXPECT_TRUE(lease.Cancel());
}

TEST_F(LeaseSettleTest, C7OneThatIsGivenUpDoesNotHoldUpThoseBehindIt) {
  Lease lease = Take({{"tpm", 30}});
  Fail();
  EXPECT_FALSE(lease.Adjust({{"tpm", 7}}));
  scheduler_.Advance(kAdjustIdLifetime);
  Heal();
  EXPECT_TRUE(lease.Adjust({{"tpm", 5}}));
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 35'000));
  EXPECT_TRUE(lease.Commit());
}

TEST_F(LeaseSettleTest, SettleWithoutBlockingMayOutliveTheLease) {
  int results = 0;
  {
    Lease lease = Take({{"tpm", 30}});
    Fail();
    EXPECT_FALSE(lease.Adjust({{"tpm", 10}}));
    Heal();
    store_.hold = true;
    lease.Settle([&](const Status& settled) { results += settled.has_value(); });
    lease.Settle([&](const Status& settled) { results += settled.has_value(); });
    EXPECT_EQ(results, 1) << "nothing is in doubt while it is sent again";
  }
  store_.Release();
  EXPECT_EQ(results, 2);
  EXPECT_THAT(Left(), ElementsAre(10, 60, 40));
}

TEST_F(LeaseSettleTest, ADifferentAdjustSettlesTheOneInDoubtFirst) {
  for (const bool happened : {true, false}) {
    Lease lease = Take({{"tpm", 30}});
    happened ? Lose() : Fail();
    EXPECT_FALSE(lease.Adjust({{"tpm", 10}}));
    Heal();
    EXPECT_TRUE(lease.Release({{"tpm", 5}}));
    EXPECT_THAT(Left(), ElementsAre(10, 65, 45));
    EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 35'000));
    EXPECT_TRUE(lease.Cancel());
    EXPECT_THAT(Left(), ElementsAre(10, 100, 80));
  }
}

TEST_F(LeaseSettleTest, AReturnInDoubtIsNotGivenBackTwice) {
  Lease lease = Take({{"tpm", 30}});
  Lose();
  EXPECT_FALSE(lease.Release({{"tpm", 20}}));
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 10'000)) << "gone already";
  EXPECT_FALSE(lease.Release({{"tpm", 11}})) << "more than it stands for";
  Heal();
  EXPECT_TRUE(lease.Settle());
  EXPECT_THAT(Left(), ElementsAre(10, 90, 70));
}

TEST_F(LeaseSettleTest, NoMoreThanSoManyAdjustsAreKeptUnsettled) {
  Lease lease = Take({{"tpm", 1}});
  Fail();
  for (std::size_t i = 0; i < Lease::kMaxUnsettled; ++i) {
    EXPECT_EQ(lease.Adjust({{"tpm", Tokens::Milli(10)}}).error().code, Code::kUnavailable);
  }
  const Status more = lease.Adjust({{"tpm", 1}});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(more.error().message, HasSubstr("256 adjusts"));
  Heal();
  EXPECT_TRUE(lease.Settle());
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 3'560));
}

TEST_F(LeaseSettleTest, CancelMayBeRepeatedAfterAnErrorAndCountsOnce) {
  for (const bool happened : {true, false}) {
    Lease lease = Take({{"rpm", 3}, {"tpm", 30}});
    happened ? Lose() : Fail();
    EXPECT_FALSE(lease.Cancel());
    EXPECT_TRUE(lease.active());
    EXPECT_FALSE(lease.Cancel());
    Heal();
    EXPECT_TRUE(lease.Cancel());
    EXPECT_FALSE(lease.active());
    EXPECT_THAT(Left(), ElementsAre(10, 100, 80));
  }
}

TEST_F(LeaseSettleTest, CancelSettlesAnAdjustInDoubtAndGivesBackExactlyWhatWasTaken) {
  for (const bool happened : {true, false}) {
    Lease lease = Take({{"tpm", 30}});
    happened ? Lose() : Fail();
    EXPECT_FALSE(lease.Adjust({{"tpm", 25}}));
    EXPECT_FALSE(lease.Cancel());
    Heal();
    EXPECT_TRUE(lease.Cancel());
    EXPECT_THAT(Left(), ElementsAre(10, 100, 80));
  }
}

TEST_F(LeaseSettleTest, CommitAndDestructorSettleWhatIsInDoubt) {
  {
    Lease lease = Take({{"tpm", 30}});
    Fail();
    EXPECT_FALSE(lease.Adjust({{"tpm", 10}}));
    EXPECT_FALSE(lease.Commit());
    EXPECT_TRUE(lease.active());
    Heal();
    EXPECT_TRUE(lease.Commit());
    EXPECT_THAT(Left(), ElementsAre(10, 60, 40));
  }
  {
    Lease lease = Take({{"tpm", 10}});
    Fail();
    EXPECT_FALSE(lease.Release({{"tpm", 5}}));
    Heal();
  }
  EXPECT_THAT(Left(), ElementsAre(10, 55, 35));
}

TEST_F(LeaseSettleTest, UnwindingWithAnAdjustInDoubtGivesBackNoMoreThanWasSurelyTaken) {
  for (const bool happened : {true, false}) {
    try {
      Lease lease = Take({{"tpm", 30}});
      happened ? Lose() : Fail();
      EXPECT_FALSE(lease.Adjust({{"tpm", 10}}));
      Heal();
      throw std::runtime_error("the work failed");
    } catch (const std::runtime_error&) {
    }
    EXPECT_THAT(Left(), ElementsAre(10, 90, 70)) << "10 stay taken the first time, none the second";
  }
}

}  // namespace
}  // namespace weir
