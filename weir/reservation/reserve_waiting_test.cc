// Tests of requests that wait, in simulated time.
#include <gmock/gmock.h>

#include "weir/reservation/reserve_queue.h"
#include "weir/reservation/testing/reservation_fixture.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class ReserveWaitingTest : public ReservationFixture {
 protected:
  void SetUp() override { held_ = Ask("acme", 1).reservation(); }
  void TearDown() override {
    held_ = Reservation();
    ReservationFixture::TearDown();
  }
  /// Replaces the limiter. The account is full again.
  void RestartFull(ReservationOptions options) {
    held_ = Reservation();
    Restart(options);
    held_ = Ask("acme", 1).reservation();
  }
  std::size_t claims() const { return store_.claims.size(); }
  /// Releases the slot for which all requests wait.
  void GiveBack() {
    held_ = Reservation();
    scheduler_.RunReady();
  }

  Reservation held_;
};

// R11. Fails if: one error of the store ends a waiting request, or moves it behind others.
TEST_F(ReserveWaitingTest, R11WhoWaitsOutlastsAnOutageInItsPlace) {
  for (const Code code : {Code::kUnavailable, Code::kDeadlineExceeded}) {
    const std::string account = code == Code::kUnavailable ? "one" : "two";
    Reservation held = Ask(account, 1).reservation();
    SlotOutcomeRecorder& first = Wait(account, 1, Within(std::chrono::minutes(10)));
    SlotOutcomeRecorder& second = Wait(account, 1, Within(std::chrono::minutes(10)));
    store_.fail = Error{code, "throttled"};
    scheduler_.Advance(std::chrono::seconds(5));
    EXPECT_EQ(first.times, 0);
    store_.fail.reset();
    ReleaseElsewhere(held);
    scheduler_.Advance(std::chrono::seconds(3));
    EXPECT_TRUE(first.reserved());
    EXPECT_EQ(second.times, 0);
    first.DestroyReservation();
    scheduler_.RunReady();
    EXPECT_TRUE(second.reserved());
    second.DestroyReservation();
  }
}

// R11. Fails if: an error of the lookup ends a waiting request that is not yet in the queue.
TEST_F(ReserveWaitingTest, R11AnOutageAtTheBeginningIsOutlasted) {
  Restart({.limits_ttl = milliseconds(0), .seed = 1});
  store_.fail = Error{Code::kUnavailable, "throttled"};
  SlotOutcomeRecorder& told = Wait("new", 1, Within(std::chrono::minutes(10)));
  scheduler_.Advance(std::chrono::seconds(5));
  EXPECT_EQ(told.times, 0);
  const std::size_t calls = store_.calls;
  EXPECT_LE(calls, 22U) << "it pauses from 250 ms to 2 s";
  store_.fail.reset();
  scheduler_.Advance(std::chrono::seconds(3));
  EXPECT_TRUE(told.reserved());
}

// R11. Fails if: a store that never responded is reported as a full account.
TEST_F(ReserveWaitingTest, R11AnOutageUntilTheEndIsAnError) {
  store_.fail = Error{Code::kUnavailable, "throttled"};
  SlotOutcomeRecorder& told = Wait("new", 1, Within(std::chrono::seconds(10)));
  scheduler_.Advance(std::chrono::seconds(10));
  EXPECT_EQ(told.code(), Code::kUnavailable);
  EXPECT_EQ(Elapsed(told), std::chrono::seconds(10));
}

// Fails if: the failed claim of a request whose time has passed is queued again.
TEST_F(ReserveWaitingTest, ARequestWhoseTimeHasPassedFailsAtOnce) {
  for (const Code code : {Code::kUnavailable, Code::kDeadlineExceeded, Code::kAborted}) {
    store_.fail = Error{code, "throttled"};
    store_.only = store_.calls + 1;  // the claim, after the lookup of the limit
    const std::string account = "late" + std::to_string(store_.calls);
    EXPECT_EQ(Wait(account, 1, Within(nanoseconds(0))).code(), code);
    EXPECT_EQ(limiter_->stats().waiting, 0U);
  }
}

// Fails if: the same, if the time passes while the limit is looked up.
TEST_F(ReserveWaitingTest, ARequestWhoseTimePassesDuringTheLookupFailsAtOnce) {
  store_.hold = true;
  const SlotOutcomeRecorder& told = Wait("late", 1, Within(milliseconds(10)));
  scheduler_.Advance(milliseconds(20));
  store_.hold = false;
  store_.fail = Error{Code::kUnavailable, "throttled"};
  store_.ReleaseHeldResults();
  EXPECT_EQ(told.code(), Code::kUnavailable);
}

TEST_F(ReserveWaitingTest, WhatIsFreeIsGivenAtOnce) {
  EXPECT_TRUE(Wait("umbrella", 1).reserved());
  EXPECT_EQ(limiter_->stats().waiting, 0U);
  EXPECT_EQ(scheduler_.pending(), 0U);
}

TEST_F(ReserveWaitingTest, ASlotThatIsReleasedHereIsGivenAtOnce) {
  const SlotOutcomeRecorder& told = Wait("acme", 1);
  EXPECT_EQ(told.times, 0);
  EXPECT_EQ(limiter_->stats().waiting, 1U);
  scheduler_.Advance(milliseconds(100));
  GiveBack();
  EXPECT_TRUE(told.reserved());
  EXPECT_EQ(Elapsed(told), milliseconds(100));
  EXPECT_EQ(scheduler_.pending(), 0U);
}

TEST_F(ReserveWaitingTest, OneThatAnotherProcessReleasesWithinTwoSeconds) {
  const SlotOutcomeRecorder& told = Wait("acme", 1);
  scheduler_.Advance(10 * kSecond);
  ReleaseElsewhere(held_);
  scheduler_.Advance(ReserveQueue::kLongestWait);
  EXPECT_TRUE(told.reserved());
}

TEST_F(ReserveWaitingTest, OneThatExpiresWithinAMillisecond) {
  const SlotOutcomeRecorder& told = Wait("acme", 1);
  scheduler_.Advance(std::chrono::minutes(5) - milliseconds(1));
  EXPECT_EQ(told.times, 0);
  scheduler_.Advance(milliseconds(2));
  EXPECT_TRUE(told.reserved());
}

TEST_F(ReserveWaitingTest, NoMoreThanFourRequestsASecondHoweverManyWait) {
  for (int i = 0; i < 20; ++i) Wait("acme", 1);
  const std::size_t before = claims();
  scheduler_.Advance(60 * kSecond);
  EXPECT_LE(claims() - before, 240U);
  EXPECT_GE(claims() - before, 30U) << "at least every two seconds";
}

TEST_F(ReserveWaitingTest, FirstComeFirstServed) {
  std::vector<SlotOutcomeRecorder*> line;
  for (int i = 0; i < 5; ++i) line.push_back(&Wait("acme", 1));
  GiveBack();
  for (std::size_t i = 0; i < line.size(); ++i) {
    for (std::size_t j = 0; j < line.size(); ++j) EXPECT_EQ(line[j]->times, j <= i ? 1 : 0);
    line[i]->DestroyReservation();
    scheduler_.RunReady();
  }
}

TEST_F(ReserveWaitingTest, SeveralSlotsAreGivenInTurnWithoutWaiting) {
  const SlotOutcomeRecorder& first = Wait("acme", 1);
  const SlotOutcomeRecorder& second = Wait("acme", 1);
  SetLimit("acme", 3);
  scheduler_.Advance(60 * kSecond + ReserveQueue::kLongestWait);
  EXPECT_TRUE(first.reserved());
  EXPECT_TRUE(second.reserved()) << "the limit is looked up anew at a turn";
  EXPECT_EQ(first.at, second.at);
}

TEST_F(ReserveWaitingTest, WhileOthersWaitOneWhoDoesNotIsRefusedWithoutAsking) {
  const SlotOutcomeRecorder& waits = Wait("acme", 1);
  ReleaseElsewhere(held_);
  const std::size_t before = store_.calls;
  const SlotOutcomeRecorder& hasty = Ask("acme", 1);
  EXPECT_TRUE(hasty.refused());
  EXPECT_GT(hasty.refusal().retry_after, milliseconds(0));
  EXPECT_LE(hasty.refusal().retry_after, ReserveQueue::kLongestWait);
  EXPECT_EQ(store_.calls, before);
  scheduler_.Advance(ReserveQueue::kLongestWait);
  EXPECT_TRUE(waits.reserved());
}

TEST_F(ReserveWaitingTest, WhoseTimeIsOverIsRefusedWithTheLastKnownState) {
  const SlotOutcomeRecorder& told = Wait("acme", 1, Within(3 * kSecond));
  const SlotOutcomeRecorder& behind = Wait("acme", 1, Within(2 * kSecond));
  scheduler_.Advance(3 * kSecond - nanoseconds(1));
  EXPECT_EQ(told.times, 0);
  EXPECT_TRUE(behind.refused());
  EXPECT_EQ(Elapsed(behind), 2 * kSecond);
  scheduler_.Advance(nanoseconds(1));
  const SlotRefusal refusal = told.refusal();
  EXPECT_EQ(Elapsed(told), 3 * kSecond);
  EXPECT_EQ(refusal.limit, 1);
  EXPECT_EQ(refusal.in_use, 1);
  EXPECT_TRUE(refusal.retry_after);
  EXPECT_FALSE(refusal.blocked);
  EXPECT_EQ(limiter_->stats().waiting, 0U);
  EXPECT_EQ(scheduler_.pending(), 0U);
}

TEST_F(ReserveWaitingTest, WhoComesToAKeyThatIsKnownToBeFullDoesNotAskAtOnce) {
  EXPECT_TRUE(Ask("acme", 1).refused());
  const std::size_t before = store_.calls;
  Wait("acme", 1);
  EXPECT_EQ(store_.calls, before);
}

TEST_F(ReserveWaitingTest, AnAccountThatIsBlockedMeanwhileIsToldAtItsTurn) {
  const SlotOutcomeRecorder& told = Wait("acme", 1);
  SetLimit("acme", 0);
  scheduler_.Advance(60 * kSecond + ReserveQueue::kLongestWait);
  EXPECT_TRUE(told.refusal().blocked);
}

TEST_F(ReserveWaitingTest, EveryTryHasTheTimeoutOfTheStore) {
  RestartFull({.store_timeout = milliseconds(100), .seed = 1});
  store_.claims.clear();
  Wait("acme", 1);
  scheduler_.Advance(10 * kSecond);
  EXPECT_GE(claims(), 5U);
  for (const auto& claim : store_.claims) {
    const nanoseconds asked = claim.now - store_.claims[0].now;  // in whole milliseconds
    const nanoseconds time = claim.deadline.at() - begin_ - asked;
    EXPECT_EQ(std::chrono::floor<milliseconds>(time), milliseconds(100));
  }
}

TEST_F(ReserveWaitingTest, NoTryEndsAfterTheDeadlineOfTheRequest) {
  const Deadline deadline = Within(4 * kSecond);
  limiter_->Reserve({.resource = "emr", .account = "acme", .default_limit = 1, .wait = true},
                    deadline, [](const Result<ReserveOutcome>&) {});
  store_.claims.clear();
  scheduler_.Advance(5 * kSecond);
  ASSERT_FALSE(store_.claims.empty());
  for (const auto& claim : store_.claims) EXPECT_LE(claim.deadline, deadline);
}

TEST_F(ReserveWaitingTest, AStoreThatRefusesFailsOneAndTheNextAsks) {
  const SlotOutcomeRecorder& first = Wait("acme", 1);
  const SlotOutcomeRecorder& second = Wait("acme", 1);
  store_.fail = Error{Code::kPermissionDenied, "no"};
  store_.only = store_.calls;
  scheduler_.Advance(ReserveQueue::kLongestWait);
  EXPECT_EQ(first.code(), Code::kPermissionDenied);
  EXPECT_EQ(second.times, 0);
  ReleaseElsewhere(held_);
  scheduler_.Advance(ReserveQueue::kLongestWait);
  EXPECT_TRUE(second.reserved());
}

TEST_F(ReserveWaitingTest, LimitsThatCannotBeReadFailAWaiterToo) {
  RestartFull({.limits_ttl = milliseconds(0), .seed = 1});
  const SlotOutcomeRecorder& told = Wait("acme", 1);
  store_.fail = Error{Code::kPermissionDenied, "no"};
  scheduler_.Advance(ReserveQueue::kLongestWait);
  EXPECT_EQ(told.code(), Code::kPermissionDenied);
  EXPECT_EQ(limiter_->stats().waiting, 0U);
}

TEST_F(ReserveWaitingTest, NoMoreWaitThanMay) {
  RestartFull({.max_waiting = 2, .seed = 1});
  Wait("acme", 1);
  Wait("acme", 1);
  const SlotOutcomeRecorder& third = Wait("acme", 1);
  EXPECT_EQ(third.code(), Code::kResourceExhausted);
  EXPECT_THAT((*third.outcome).error().message, HasSubstr("max_waiting is 2"));
}

TEST_F(ReserveWaitingTest, ClosingAnswersEverybodyOnce) {
  const SlotOutcomeRecorder& first = Wait("acme", 1);
  const SlotOutcomeRecorder& second = Wait("acme", 1);
  held_ = Reservation();
  limiter_.reset();
  EXPECT_EQ(first.code(), Code::kCancelled);
  EXPECT_EQ(second.code(), Code::kCancelled);
  scheduler_.RunAll();
  EXPECT_TRUE(Held("acme").empty());
}

TEST_F(ReserveWaitingTest, ASlotThatIsClaimedWhileTheLimiterClosesIsReleased) {
  const SlotOutcomeRecorder& told = Wait("acme", 1);
  ReleaseElsewhere(held_);
  ASSERT_TRUE(held_.Release());
  store_.hold = true;
  scheduler_.RunReady();
  ASSERT_EQ(store_.held(), 1U);
  EXPECT_EQ(Held("acme").size(), 1U);
  limiter_.reset();
  EXPECT_EQ(told.times, 0);
  store_.hold = false;
  store_.ReleaseHeldResults();
  EXPECT_EQ(told.code(), Code::kCancelled);
  EXPECT_TRUE(Held("acme").empty());
}

TEST_F(ReserveWaitingTest, ARefusalThatComesAfterClosingIsCancelledToo) {
  ASSERT_TRUE(held_.Bind("j-1"));
  held_ = Reservation();
  const SlotOutcomeRecorder& told = Wait("acme", 1);
  store_.hold = true;
  scheduler_.Advance(ReserveQueue::kLongestWait);
  ASSERT_EQ(store_.held(), 1U);
  limiter_.reset();
  EXPECT_EQ(told.times, 0);
  store_.ReleaseHeldResults();
  EXPECT_EQ(told.code(), Code::kCancelled);
}

// Each callback releases its slot, which grants the next request; a thousand callbacks nest one
// deep.
TEST_F(ReserveWaitingTest, AnswersDoNotNest) {
  RestartFull({.seed = 1});
  int depth = 0;
  int deepest = 0;
  int completed = 0;
  for (int i = 0; i < 1'000; ++i) {
    limiter_->Reserve({.resource = "emr", .account = "acme", .default_limit = 1, .wait = true},
                      Deadline::Never(), [&](Result<ReserveOutcome> outcome) {
                        deepest = std::max(deepest, ++depth);
                        ++completed;
                        {
                          const Reservation dropped = std::move(*outcome).reservation();
                        }
                        --depth;
                      });
  }
  GiveBack();
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(completed, 1'000);
  EXPECT_EQ(deepest, 1);
}

// Regardless of which call is lost, every request completes once.
TEST_F(ReserveWaitingTest, WhicheverCallIsLostEverybodyIsAnswered) {
  GiveBack();
  for (const bool asked : {false, true}) {
    for (std::size_t nth = 0; nth < 12; ++nth) {
      auto& how = asked ? store_.lose : store_.fail;
      how = Error{Code::kUnavailable, "away"};
      Restart({.seed = nth + (asked ? 100 : 1)});
      store_.only = store_.calls + nth;
      std::vector<SlotOutcomeRecorder*> line;
      for (int i = 0; i < 4; ++i) line.push_back(&Wait("acme", 1, Within(400 * kSecond)));
      for (SlotOutcomeRecorder* told : line) {
        for (int i = 0; i < 401 && told->times == 0; ++i) scheduler_.Advance(kSecond);
        ASSERT_EQ(told->times, 1) << nth;
        if (told->reserved()) told->DestroyReservation();
      }
      scheduler_.Advance(std::chrono::minutes(5));
      EXPECT_TRUE(Held("acme").empty());
      EXPECT_EQ(limiter_->stats().waiting, 0U);
      how.reset();
      store_.only.reset();
    }
  }
}

}  // namespace
}  // namespace weir
