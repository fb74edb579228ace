#include "weir/kinesis/pipeline/budget_pace.h"

#include <gtest/gtest.h>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;

constexpr BudgetAmount kCapacity{.records = 800, .bytes = 800'000};
constexpr Instant kNever{INT64_MAX};

class BudgetPaceTest : public testing::Test {
 protected:
  static BudgetBalance Left(std::size_t records, std::size_t bytes = kCapacity.bytes) {
    return {.left = {records, bytes}, .capacity = kCapacity};
  }
  /// Requests this number of records; the bucket has `balance` before the decision.
  void Ask(std::size_t records, const std::optional<BudgetBalance>& balance, bool granted = true,
           bool more = true) {
    pace_.OnRequest(now_);
    pace_.OnDecision({.records = records, .bytes = records * 100},
                     {.granted = granted, .retry_after = milliseconds(1), .balance = balance}, more,
                     now_);
  }
  void MakeShort() {
    Ask(1, Left(100));
    ASSERT_TRUE(pace_.is_paced());
    now_ = pace_.NextDue(kNever);
  }
  nanoseconds Wait(Instant expires = kNever) const { return pace_.NextDue(expires) - now_; }

  BudgetPace pace_{1};
  Instant now_ = kStart;
};

TEST_F(BudgetPaceTest, NothingIsPacedWhileTheBucketIsFullEnough) {
  for (int i = 0; i < 10; ++i) Ask(50, Left(700));
  EXPECT_FALSE(pace_.is_paced());
  Ask(50, std::nullopt, false);
  EXPECT_FALSE(pace_.is_paced()) << "no answer tells that it is short";
  Ask(200, Left(700));
  EXPECT_TRUE(pace_.is_paced()) << "this left less";
}

TEST_F(BudgetPaceTest, TheScarcerLimitCounts) {
  Ask(1, Left(800, 100'000));
  ASSERT_TRUE(pace_.is_paced());
  now_ = pace_.NextDue(kNever);
  Ask(1, Left(800, 400'000));
  EXPECT_EQ(pace_.portion().bytes, 50'000U - 100);
}

TEST_F(BudgetPaceTest, ATurnLooksWithOneRecordAndTakesItsPartOfTheBalance) {
  MakeShort();
  EXPECT_EQ(pace_.portion().records, 1U);
  Ask(1, Left(400));
  EXPECT_TRUE(pace_.is_second());
  EXPECT_EQ(pace_.portion().records, 49U) << "an eighth, less the first";
  EXPECT_LE(pace_.NextDue(kNever), now_) << "at once";
  Ask(49, Left(399));
  EXPECT_FALSE(pace_.is_second());
  EXPECT_GE(Wait(), BudgetPace::kLongest * 6 / 10);
  EXPECT_LE(Wait(), BudgetPace::kLongest * 14 / 10);
}

// Fails if: a producer that needs little waits as long as one that takes its whole share, or a
// record expires only because of the pace.
TEST_F(BudgetPaceTest, WhoTakesLessMayAskSooner) {
  MakeShort();
  Ask(1, Left(400), true, false);
  EXPECT_FALSE(pace_.is_second()) << "nothing else waits";
  EXPECT_LE(Wait(), BudgetPace::kLongest * 4 / 10);
  EXPECT_EQ(Wait(now_ + milliseconds(300)), milliseconds(100)) << "before it expires";
  EXPECT_EQ(Wait(now_), BudgetPace::kLongest / 50) << "a fiftieth of a turn's part was taken";
  now_ = pace_.NextDue(now_);
  Ask(1, Left(400));
  EXPECT_TRUE(pace_.is_second());
  EXPECT_LE(pace_.NextDue(kNever), now_) << "the rest of a turn that began early is due at once";
}

TEST_F(BudgetPaceTest, WhoTookItsShareWaitsForTheNextAlsoIfRecordsExpire) {
  MakeShort();
  Ask(1, Left(400));
  Ask(49, Left(399));
  EXPECT_GE(Wait(now_), BudgetPace::kLongest * 6 / 10);
}

TEST_F(BudgetPaceTest, AFullBucketEndsThePace) {
  MakeShort();
  Ask(1, Left(790));
  EXPECT_FALSE(pace_.is_paced());
}

TEST_F(BudgetPaceTest, TheFullerTheBucketTheShorterTheTurns) {
  MakeShort();
  for (int i = 0; i < 8; ++i) {
    now_ = pace_.NextDue(kNever);
    Ask(1, Left(700));
    Ask(86, Left(699));
  }
  EXPECT_GT(Wait(), milliseconds(100));
  EXPECT_LE(Wait(), milliseconds(400));
}

// Fails if: producers forget their shares while the store is unavailable.
TEST_F(BudgetPaceTest, WithoutAStoreTheShareStays) {
  MakeShort();
  Ask(1, Left(400));
  Ask(49, Left(399));
  for (int i = 0; i < 3; ++i) {
    now_ = pace_.NextDue(kNever);
    Ask(1, std::nullopt);
    EXPECT_EQ(pace_.portion().records, 49U);
    Ask(49, std::nullopt);
    EXPECT_GE(Wait(), BudgetPace::kLongest * 6 / 10);
  }
}

TEST_F(BudgetPaceTest, ALargeRecordIsPaidForByALongerWait) {
  MakeShort();
  Ask(1, Left(400, 400'000));
  Ask(1, std::nullopt, false);
  EXPECT_LE(Wait(), BudgetPace::kLongest * 4 / 10) << "it took little";
  now_ = pace_.NextDue(kNever);
  pace_.OnRequest(now_);
  pace_.OnDecision({.records = 1, .bytes = 300'000},
                   {.granted = true, .balance = Left(400, 400'000)}, true, now_);
  EXPECT_GE(Wait(), BudgetPace::kLongest * 12 / 10);
  EXPECT_LE(Wait(), BudgetPace::kLongest * 28 / 10) << "bounded";
}

// Fails if: a lane sends budget requests without a pause while its records expire.
TEST_F(BudgetPaceTest, ARefusalIsNoReasonToAskAgainAtOnce) {
  MakeShort();
  Ask(1, Left(400), false);
  EXPECT_EQ(Wait(now_), BudgetPace::kLongest / 4);
}

TEST_F(BudgetPaceTest, IsForgottenWhenNothingWasAskedForLong) {
  EXPECT_TRUE(pace_.IsForgotten(now_));
  MakeShort();
  EXPECT_FALSE(pace_.IsForgotten(now_ + seconds(1)));
  EXPECT_TRUE(pace_.IsForgotten(now_ + seconds(15)));
}

}  // namespace
}  // namespace weir::kinesis
