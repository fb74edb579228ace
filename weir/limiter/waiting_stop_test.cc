// Tests of the two ends of a wait that the caller sets: the deadline and a requested stop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stop_token>
#include <utility>

#include "weir/limiter/testing/waiting_fixture.h"
#include "weir/sim/faulty_backend.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class WaitingStopTest : public WaitingTest {
 protected:
  Told& WaitFor(std::int64_t amount, std::stop_token stop, Deadline deadline = Deadline::Never()) {
    Told& told = told_.emplace_back();
    limiter_->Acquire({.entity = "a",
                       .resource = "gpt-4",
                       .amounts = {{"rpm", amount}},
                       .wait = true,
                       .stop = std::move(stop)},
                      deadline, [&](Result<Outcome> outcome) {
                        ++told.times;
                        told.at = Now();
                        told.outcome = std::move(outcome);
                      });
    return told;
  }
  std::stop_source stop_;
};

TEST_F(WaitingStopTest, AStopEndsTheWaitAndTheNextWaiterIsServed) {
  Drain("a");
  const Told& stopped = WaitFor(5, stop_.get_token());
  const Told& next = Wait("a", 1);
  stop_.request_stop();
  EXPECT_EQ(stopped.times, 0) << "only the scheduler's thread completes it";
  scheduler_.RunReady();
  EXPECT_EQ(stopped.code(), Code::kCancelled);
  EXPECT_THAT(stopped.outcome->error().message, HasSubstr("requested a stop"));
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_TRUE(next.admitted());
  EXPECT_EQ(Elapsed(next), 6 * kSecond);
  EXPECT_EQ(limiter_->stats().waiting, 0U);
}

TEST_F(WaitingStopTest, AStopOfAWaiterBehindAnotherLeavesTheHead) {
  Drain("a");
  const Told& head = Wait("a", 1);
  const Told& behind = WaitFor(1, stop_.get_token());
  stop_.request_stop();
  scheduler_.RunReady();
  EXPECT_EQ(behind.code(), Code::kCancelled);
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(Elapsed(head), 6 * kSecond);
  EXPECT_TRUE(head.admitted());
}

TEST_F(WaitingStopTest, AStopBeforeTheRequestTakesNothing) {
  stop_.request_stop();
  const Told& told = WaitFor(1, stop_.get_token());
  EXPECT_EQ(told.code(), Code::kCancelled);
  EXPECT_TRUE(store_.acquires.empty());
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(told.times, 1);
}

TEST_F(WaitingStopTest, ATryInFlightThatIsAdmittedStaysAdmitted) {
  Use("a", 1);  // caches the limits
  store_.hold = true;
  Told& told = WaitFor(1, stop_.get_token());
  stop_.request_stop();
  scheduler_.RunReady();
  EXPECT_EQ(told.times, 0);
  store_.hold = false;
  store_.Release();
  ASSERT_TRUE(told.admitted());
  EXPECT_TRUE(told.lease().Cancel());
}

TEST_F(WaitingStopTest, ATryInFlightThatIsRefusedIsNotQueuedAgain) {
  Drain("a");
  store_.hold = true;
  const Told& told = WaitFor(1, stop_.get_token());
  stop_.request_stop();
  scheduler_.RunReady();
  store_.hold = false;
  store_.Release();
  EXPECT_EQ(told.code(), Code::kCancelled);
  EXPECT_EQ(limiter_->stats().waiting, 0U);
}

TEST_F(WaitingStopTest, AStopAfterTheEndHasNoEffect) {
  const Told& told = WaitFor(1, stop_.get_token());
  EXPECT_TRUE(told.admitted());
  stop_.request_stop();
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(told.times, 1);
}

TEST_F(WaitingStopTest, AStopAfterTheLimiterIsGoneHasNoEffect) {
  Drain("a");
  const Told& told = WaitFor(5, stop_.get_token());
  limiter_.reset();
  EXPECT_EQ(told.code(), Code::kCancelled);
  stop_.request_stop();
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(told.times, 1);
}

// Fails if: each try of a waiting request has the whole `store_timeout` (DeadlineOfTry).
TEST_F(WaitingStopTest, NoTryEndsAfterTheDeadlineOfTheRequest) {
  Drain("a");
  const Deadline deadline = Within(6 * kSecond + milliseconds(30));
  const Told& told = WaitFor(1, {}, deadline);
  scheduler_.Advance(6 * kSecond - milliseconds(1));
  store_.hold = true;
  scheduler_.Advance(milliseconds(1));
  ASSERT_EQ(store_.held(), 1U);
  EXPECT_EQ(store_.acquires.back().deadline, deadline);
  store_.hold = false;
  store_.Release();
  EXPECT_TRUE(told.admitted());
}

// Fails if: a try that the deadline of the request has cut short counts as an unavailable store, so
// that under overload each waiting request is admitted without a charge.
TEST_F(WaitingStopTest, ALastTryThatRunsOutOfTimeIsNoUnavailableStore) {
  Drain("a");
  Told& told = told_.emplace_back();
  limiter_->Acquire({.entity = "a",
                     .resource = "gpt-4",
                     .amounts = {{"rpm", 1}},
                     .wait = true,
                     .on_unavailable = OnUnavailable::kAllow},
                    Within(6 * kSecond + milliseconds(30)), [&](Result<Outcome> outcome) {
                      ++told.times;
                      told.outcome = std::move(outcome);
                    });
  const std::size_t keeps = store_.keeps;
  scheduler_.Advance(6 * kSecond - milliseconds(1));
  store_.fail = Error{Code::kDeadlineExceeded, "no result in time"};
  scheduler_.Advance(milliseconds(1));
  EXPECT_EQ(told.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(limiter_->stats().unprotected, 0U);
  EXPECT_EQ(limiter_->stats().store_errors, 0U);
  EXPECT_EQ(store_.keeps, keeps) << "tokens that it takes too late return";
}

// 100 requests a second wait 10 s each for 10 tokens a minute. Fails if: the heads of the queue,
// which are always about to expire, use up the tokens, or are admitted without a charge.
TEST_F(WaitingStopTest, UnderOverloadTokensGoToRequestsThatHaveTime) {
  for (const OnUnavailable policy : {OnUnavailable::kAllow, OnUnavailable::kBlock}) {
    sim::FaultyBackend slow(*memory_, scheduler_, 1);
    slow.faults = {.delay = 1, .longest_delay = milliseconds(10)};
    Limiter limiter(slow, scheduler_, {.seed = 1});
    int admitted = 0;
    int refused = 0;
    for (int i = 0; i < 6'000; ++i) {
      limiter.Acquire({.entity = policy == OnUnavailable::kAllow ? "x" : "y",
                       .resource = "gpt-4",
                       .amounts = {{"rpm", 1}},
                       .wait = true,
                       .on_unavailable = policy},
                      Within(10 * kSecond), [&](const Result<Outcome>& outcome) {
                        ASSERT_TRUE(outcome) << outcome.error().message;
                        ++(outcome->admitted() ? admitted : refused);
                      });
      scheduler_.Advance(milliseconds(10));
    }
    EXPECT_TRUE(scheduler_.RunAll());
    EXPECT_EQ(admitted + refused, 6'000);
    EXPECT_GE(admitted, 19) << "10 at first, and one each 6 s";
    EXPECT_LE(admitted, 21);
    EXPECT_EQ(limiter.stats().unprotected, 0U);
    EXPECT_EQ(limiter.stats().store_errors, 0U);
    EXPECT_GT(slow.counts().delayed, 1'000U);
  }
}

// The first try has all of the request's time: a store that is silent meanwhile is unavailable.
TEST_F(WaitingStopTest, AFirstTryThatRunsOutOfTimeIsAnUnavailableStore) {
  Use("a", 1);
  store_.fail = Error{Code::kDeadlineExceeded, "no result in time"};
  limiter_->Acquire({.entity = "a",
                     .resource = "gpt-4",
                     .amounts = {{"rpm", 1}},
                     .wait = true,
                     .on_unavailable = OnUnavailable::kAllow},
                    Within(milliseconds(50)), [&](Result<Outcome> outcome) {
                      ASSERT_TRUE(outcome);
                      EXPECT_TRUE(outcome->unprotected());
                    });
  EXPECT_EQ(limiter_->stats().unprotected, 1U);
}

TEST_F(WaitingStopTest, TheWaitMayEndBeforeTheDeadline) {
  Drain("a");
  limiter_->Acquire({.entity = "a",
                     .resource = "gpt-4",
                     .amounts = {{"rpm", 2}},
                     .wait = true,
                     .wait_until = Within(11 * kSecond)},
                    Within(60 * kSecond), [&](Result<Outcome> outcome) {
                      ASSERT_TRUE(outcome);
                      EXPECT_FALSE(outcome->admitted());
                      EXPECT_EQ(outcome->decision().retry_after, 12 * kSecond);
                      told_.emplace_back();
                    });
  EXPECT_EQ(told_.size(), 1U) << "refused at once";
}

}  // namespace
}  // namespace weir
