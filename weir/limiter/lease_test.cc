#include "weir/limiter/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <utility>

#include "weir/limiter/testing/lease_fixture.h"
#include "weir/runtime/callback_scope.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(LeaseTest, LeavingTheScopeCommitsWithoutACall) {
  {
    const Lease lease = Take({{"rpm", 1}, {"tpm", 30}});
    EXPECT_TRUE(lease.active());
  }
  EXPECT_THAT(Left(), ElementsAre(9, 70, 50));
  EXPECT_TRUE(store_.adjusts.empty());
}

// W10: zae-limiter returned all tokens to shard 0.
TEST_F(LeaseTest, RegressionW10EverythingGoesToTheShardThatPaid) {
  store_.shards = {3, 7};
  Lease lease = Take({{"rpm", 1}, {"tpm", 30}});
  ASSERT_TRUE(lease.Adjust({{"tpm", 5}}));
  ASSERT_TRUE(lease.Release({{"tpm", 1}}));
  ASSERT_TRUE(lease.Cancel());
  ASSERT_EQ(store_.adjusts.size(), 3U);
  for (const auto& adjust : store_.adjusts) {
    ASSERT_EQ(adjust.charges.size(), 2U);
    EXPECT_EQ(adjust.charges[0].shard, 3U);
    EXPECT_EQ(adjust.charges[1].shard, 7U);
  }
}

TEST_F(LeaseTest, AnExceptionThatUnwindsCancels) {
  try {
    const Lease lease = Take({{"rpm", 1}, {"tpm", 30}});
    throw std::runtime_error("the work failed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_THAT(Left(), ElementsAre(10, 100, 80));
  EXPECT_EQ(store_.adjusts.size(), 1U);
}

// Fails if: MarkSpent has no effect, and the tokens of a paid call are returned.
TEST_F(LeaseTest, AnExceptionAfterTheTokensWereSpentCommits) {
  try {
    Lease lease = Take({{"rpm", 1}, {"tpm", 30}});
    lease.MarkSpent();
    throw std::runtime_error("the result could not be parsed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_THAT(Left(), ElementsAre(9, 70, 50));
  EXPECT_TRUE(store_.adjusts.empty());
}

TEST_F(LeaseTest, ASpentLeaseStaysSpentWhenItIsMoved) {
  try {
    Lease first = Take({{"tpm", 30}});
    first.MarkSpent();
    const Lease second = std::move(first);
    throw std::runtime_error("the result could not be parsed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_THAT(Left(), ElementsAre(10, 70, 50));
}

// Fails if: a lease uses the state of a destroyed Limiter, or the backend after it.
TEST_F(LeaseTest, ALeaseMayOutliveItsLimiterAndTheBackend) {
  Lease lease = Take({{"tpm", 30}});
  Lease unwound = Take({{"tpm", 10}});
  store_.lose = Error{Code::kUnavailable, "lost"};
  EXPECT_FALSE(lease.Adjust({{"tpm", 5}}));
  limiter_.reset();
  memory_.reset();
  const Status adjusted = lease.Adjust({{"tpm", 5}});
  ASSERT_FALSE(adjusted);
  EXPECT_EQ(adjusted.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(adjusted.error().message, HasSubstr("the Limiter of the lease was destroyed"));
  EXPECT_FALSE(lease.Commit());
  EXPECT_FALSE(lease.Cancel());
  EXPECT_EQ(lease.charges().size(), 2U);
  try {
    const Lease dying = std::move(unwound);
    throw std::runtime_error("the work failed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(store_.adjusts.size(), 1U) << "nothing was sent after the Limiter";
}

// Fails if: a return that is not sent is kept as in flight, and the tokens are lost.
TEST_F(LeaseTest, ABlockingCallWithinACallbackFailsAndChangesNothing) {
  Lease lease = Take({{"tpm", 30}});
  {
    const CallbackScope scope;
    EXPECT_EQ(lease.Cancel().error().code, Code::kFailedPrecondition);
    EXPECT_EQ(lease.Adjust({{"tpm", 5}}).error().code, Code::kFailedPrecondition);
    const auto outcome = limiter_->Acquire(
        {.entity = "a", .resource = "gpt-4", .amounts = {{"tpm", 1}}}, Deadline::Never());
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Code::kFailedPrecondition);
  }
  EXPECT_THAT(Left(), ElementsAre(10, 70, 50));
  EXPECT_TRUE(lease.Cancel());
  EXPECT_THAT(Left(), ElementsAre(10, 100, 80));
}

TEST_F(LeaseTest, AnOutcomeRemembersThatItWasCharged) {
  auto outcome = limiter_->Acquire({.entity = "a", .resource = "gpt-4", .amounts = {{"tpm", 1}}},
                                   Deadline::Never());
  ASSERT_TRUE(outcome);
  const Lease lease = std::move(*outcome).lease();
  // NOLINTNEXTLINE(bugprone-use-after-move): only the lease was moved
  EXPECT_FALSE(outcome->unprotected());
}

TEST_F(LeaseTest, UnwindingDoesNotWaitForTheStore) {
  store_.hold = false;
  try {
    const Lease lease = Take({{"tpm", 30}});
    store_.hold = true;
    throw std::runtime_error("the work failed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(store_.held(), 1U);
  store_.Release();
  EXPECT_THAT(Left(), ElementsAre(10, 100, 80));
}

TEST_F(LeaseTest, OneThatIsMadeAndEndsWithinAnUnwindingCommits) {
  struct InDestructor {
    std::function<Lease()> take;
    ~InDestructor() { const Lease lease = take(); }
  };
  try {
    const InDestructor object{[this] { return Take({{"tpm", 30}}); }};
    throw std::runtime_error("another failure");
  } catch (const std::runtime_error&) {
  }
  EXPECT_THAT(Left(), ElementsAre(10, 70, 50));
}

// C13: an assigned lease kept the exception count of the default lease, which is 0, and so treated
// the end of its scope as an unwinding.
TEST_F(LeaseTest, C13OneThatIsAssignedWithinAnUnwindingCommits) {
  struct InDestructor {
    std::function<Lease()> take;
    ~InDestructor() {
      Lease lease;
      lease = take();
    }
  };
  try {
    const InDestructor object{[this] { return Take({{"tpm", 30}}); }};
    throw std::runtime_error("another failure");
  } catch (const std::runtime_error&) {
  }
  EXPECT_THAT(Left(), ElementsAre(10, 70, 50));
}

TEST_F(LeaseTest, CommitAndCancelEndIt) {
  Lease kept = Take({{"tpm", 30}});
  EXPECT_TRUE(kept.Commit());
  EXPECT_FALSE(kept.active());
  EXPECT_TRUE(kept.charges().empty());
  Lease returned = Take({{"rpm", 2}, {"tpm", 20}});
  EXPECT_TRUE(returned.Cancel());
  EXPECT_FALSE(returned.active());
  EXPECT_THAT(Left(), ElementsAre(10, 70, 50));
}

TEST_F(LeaseTest, WhatHasEndedOrWasMovedFromRefuses) {
  Lease lease = Take({{"tpm", 30}});
  Lease other = std::move(lease);
  Lease ended = Take({{"tpm", 1}});
  ASSERT_TRUE(ended.Commit());
  Lease empty;
  for (Lease* one : {&lease, &ended, &empty}) {
    EXPECT_FALSE(one->active());
    EXPECT_EQ(one->Adjust({{"tpm", 1}}).error().code, Code::kFailedPrecondition);
    EXPECT_EQ(one->Release({{"tpm", 1}}).error().code, Code::kFailedPrecondition);
    EXPECT_EQ(one->Commit().error().code, Code::kFailedPrecondition);
    EXPECT_EQ(one->Cancel().error().code, Code::kFailedPrecondition);
  }
  EXPECT_TRUE(other.active());
  EXPECT_TRUE(other.Cancel());
  EXPECT_THAT(Left(), ElementsAre(10, 99, 79));
}

TEST_F(LeaseTest, MoveAssignmentEndsWhatWasHeldAsTheDestructorDoes) {
  Lease lease = Take({{"tpm", 30}});
  lease = Take({{"tpm", 5}});
  EXPECT_TRUE(store_.adjusts.empty()) << "the first was committed";
  Lease& itself = lease;
  lease = std::move(itself);
  EXPECT_TRUE(lease.Cancel());
  EXPECT_THAT(Left(), ElementsAre(10, 70, 50));
}

TEST_F(LeaseTest, AdjustTakesMoreAndMayLeaveDebt) {
  Lease lease = Take({{"rpm", 1}, {"tpm", 30}});
  EXPECT_TRUE(lease.Adjust({{"tpm", 90}}));
  EXPECT_THAT(Left(), ElementsAre(9, -20, -40));
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(1000, 120'000));
  EXPECT_THAT(lease.charges()[1].amounts, ElementsAre(120'000));
  EXPECT_TRUE(lease.Cancel());
  EXPECT_THAT(Left(), ElementsAre(10, 100, 80)) << "each bucket exactly what it was charged";
}

TEST_F(LeaseTest, ReleaseGivesBack) {
  Lease lease = Take({{"rpm", 1}, {"tpm", 30}});
  EXPECT_TRUE(lease.Release({{"tpm", 10}}));
  EXPECT_THAT(Left(), ElementsAre(9, 80, 60));
  EXPECT_TRUE(lease.Adjust({{"tpm", -5}}));
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(1000, 15'000));
  EXPECT_EQ(lease.Release({{"tpm", -1}}).error().code, Code::kInvalidArgument);
  EXPECT_THAT(Left(), ElementsAre(9, 85, 65));
}

// W6: in zae-limiter an adjust of a limit that the acquire did not name was lost.
TEST_F(LeaseTest, RegressionW6ALimitThatWasNotNamedMayBeAdjusted) {
  Lease lease = Take({{"rpm", 1}});
  EXPECT_EQ(lease.charges().size(), 1U) << "the parent has no rpm";
  EXPECT_TRUE(lease.Adjust({{"tpm", 40}}));
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(1000, 40'000));
  EXPECT_TRUE(lease.Release({{"tpm", 15}}));
  EXPECT_TRUE(lease.Commit());
  std::optional<BucketRecord> record;
  const BucketKey key{"a", "gpt-4"};
  memory_->buckets().Read({&key, 1}, Deadline::Never(),
                          [&](auto records) { record = records->front(); });
  EXPECT_EQ(record->bucket.meters[1].tokens, 75'000);
}

// W9: in zae-limiter a lease from a second shard refused every adjust, and its cancel did nothing.
// W22: a consume within the lease used a local copy. Weir calls the store each time.
TEST_F(LeaseTest, RegressionW9W22EveryAdjustReachesTheStoreAtOnce) {
  Lease lease = Take({{"tpm", 10}});
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(lease.Adjust({{"tpm", 10}}));
    EXPECT_EQ(store_.adjusts.size(), static_cast<std::size_t>(i));
  }
  EXPECT_THAT(Left(), ElementsAre(10, 60, 40));
  EXPECT_TRUE(lease.Cancel());
  EXPECT_THAT(Left(), ElementsAre(10, 100, 80));
}

// W24: in zae-limiter the consumption of a lease was the sum over child and parent.
TEST_F(LeaseTest, RegressionW24EachBucketTellsItsOwnCharge) {
  const Lease lease = Take({{"tpm", 7}});
  ASSERT_EQ(lease.charges().size(), 2U);
  EXPECT_EQ(lease.charges()[0].target->key.entity, "a");
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 7000));
  EXPECT_EQ(lease.charges()[1].target->key.entity, "p");
  EXPECT_THAT(lease.charges()[1].amounts, ElementsAre(7000));
}

// W16: in zae-limiter a late release pushed the bucket above its capacity.
TEST_F(LeaseTest, RegressionW16ALateReturnStopsAtTheCapacity) {
  Lease lease = Take({{"tpm", 30}});
  scheduler_.Advance(std::chrono::minutes(10));
  EXPECT_TRUE(lease.Cancel());
  EXPECT_THAT(Left(), ElementsAre(10, 100, 80));
}

TEST_F(LeaseTest, BadAmountsAreRefusedAndChangeNothing) {
  Lease lease = Take({{"tpm", 30}});
  EXPECT_THAT(lease.Adjust({{"tmp", 1}}).error().message, HasSubstr("known are rpm, tpm"));
  EXPECT_EQ(lease.Adjust({{"tpm", 1}, {"tpm", 1}}).error().code, Code::kInvalidArgument);
  EXPECT_THAT(lease.Release({{"tpm", 31}}).error().message, HasSubstr("holds 30"));
  EXPECT_THAT(lease.Adjust({{"rpm", -1}}).error().message, HasSubstr("holds 0"));
  EXPECT_TRUE(lease.Adjust({{"tpm", 0}}));
  EXPECT_TRUE(store_.adjusts.empty());
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 30'000));
}

TEST_F(LeaseTest, DebtBeyondWhatIsKeptIsAnErrorThatLeavesTheLeaseAsItWas) {
  Lease lease = Take({{"tpm", 30}});
  Status adjusted;
  int done = 0;
  for (; done < 1000 && adjusted; ++done) {
    adjusted = lease.Adjust({{"tpm", Tokens::Milli(kMaxMillitokens)}, {"rpm", 1}});
  }
  ASSERT_FALSE(adjusted);
  EXPECT_EQ(adjusted.error().code, Code::kOutOfRange);
  EXPECT_EQ(lease.charges()[0].amounts[0], (done - 1) * 1000);
  EXPECT_TRUE(lease.Commit());
}

TEST_F(LeaseTest, AnAdjustWithoutBlockingMayOutliveTheLease) {
  int results = 0;
  {
    Lease lease = Take({{"tpm", 30}});
    store_.hold = true;
    lease.Adjust({{"tpm", -10}}, [&](Status status) { results += status.has_value(); });
    lease.Adjust({{"tpm", 4}}, [&](Status status) { results += status.has_value(); });
    EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 20'000));
    const Lease moved = std::move(lease);
  }
  EXPECT_EQ(results, 0);
  store_.Release();
  EXPECT_EQ(results, 2);
  EXPECT_THAT(Left(), ElementsAre(10, 76, 56));
}

TEST_F(LeaseTest, TheAnswerOfAnAdjustUnderWayIsTakenIn) {
  Lease lease = Take({{"tpm", 30}});
  store_.hold = true;
  lease.Adjust({{"tpm", 4}}, [](Status) {});
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 30'000));
  store_.Release();
  store_.hold = false;
  EXPECT_THAT(lease.charges()[0].amounts, ElementsAre(0, 34'000));
  EXPECT_TRUE(lease.Cancel());
  EXPECT_THAT(Left(), ElementsAre(10, 100, 80));
}

TEST_F(LeaseTest, AdjustsHaveATimeLimitOfTheirOwn) {
  limiter_ = std::make_unique<Limiter>(store_, scheduler_,
                                       LimiterOptions{.store_timeout = milliseconds(70)});
  Lease lease = Take({{"tpm", 30}});
  EXPECT_TRUE(lease.Adjust({{"tpm", 4}}));
  EXPECT_EQ(store_.adjusts[0].deadline, Deadline::After(scheduler_.clock(), milliseconds(70)));
}

// C14: the addition overflowed an Instant, so the deadline of each adjust had passed when it was
// sent.
TEST_F(LeaseTest, C14AnUnlimitedLeaseTimeoutIsNoDeadline) {
  limiter_ = std::make_unique<Limiter>(store_, scheduler_,
                                       LimiterOptions{.store_timeout = milliseconds::max()});
  Lease lease = Take({{"tpm", 30}});
  EXPECT_TRUE(lease.Adjust({{"tpm", 4}}));
  EXPECT_EQ(store_.adjusts[0].deadline, Deadline::Never());
}

TEST_F(LeaseTest, TokensAreFixedByTheSeedAndNeverRepeat) {
  const auto tokens = [&](std::uint64_t seed) {
    limiter_ = std::make_unique<Limiter>(store_, scheduler_, LimiterOptions{.seed = seed});
    store_.adjusts.clear();
    Lease lease = Take({{"tpm", 1}});
    EXPECT_TRUE(lease.Adjust({{"tpm", 1}}));
    EXPECT_TRUE(lease.Adjust({{"tpm", 1}}));
    return std::pair(store_.adjusts[0].terms.id, store_.adjusts[1].terms.id);
  };
  const auto first = tokens(7);
  EXPECT_NE(first.first, first.second);
  EXPECT_NE(tokens(8).first, first.first);
}

}  // namespace
}  // namespace weir
