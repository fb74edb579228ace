#include "weir/limiter/waiting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/limiter/testing/waiting_fixture.h"
#include "weir/runtime/loop.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(WaitingTest, WhatIsThereIsGivenAtOnce) {
  EXPECT_TRUE(Wait("a", 10).admitted());
  EXPECT_EQ(limiter_->stats().waiting, 0U);
  EXPECT_EQ(scheduler_.pending(), 0U);
}

TEST_F(WaitingTest, ARequestIsAdmittedAtTheInstantItsTokensAreThere) {
  Drain("a");
  const Told& told = Wait("a", 2);
  EXPECT_EQ(told.times, 0);
  EXPECT_EQ(limiter_->stats().waiting, 1U);
  scheduler_.Advance(12 * kSecond - nanoseconds(1));
  EXPECT_EQ(told.times, 0);
  EXPECT_EQ(store_.acquires.size(), 2U) << "no try before the instant the refusal named";
  scheduler_.Advance(nanoseconds(1));
  EXPECT_TRUE(told.admitted());
  EXPECT_EQ(Elapsed(told), 12 * kSecond);
  EXPECT_EQ(store_.acquires.size(), 3U);
  EXPECT_EQ(limiter_->stats().waiting, 0U);
  EXPECT_EQ(scheduler_.pending(), 0U);
}

TEST_F(WaitingTest, FirstComeFirstServed) {
  Drain("a");
  const Told& big = Wait("a", 5);
  const Told& small = Wait("a", 1);
  const Told& medium = Wait("a", 2);
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(Elapsed(big), 30 * kSecond) << "the small one may not pass";
  EXPECT_EQ(Elapsed(small), 36 * kSecond);
  EXPECT_EQ(Elapsed(medium), 48 * kSecond);
  // One try for the drain; a refusal and an admission for the first; a refusal when it becomes the
  // head and an admission for each of the others.
  EXPECT_EQ(store_.acquires.size(), 1U + 2U + 2U + 2U);
}

TEST_F(WaitingTest, BucketsDoNotWaitForEachOther) {
  Drain("a");
  Drain("b");
  const Told& long_one = Wait("a", 9);
  const Told& short_one = Wait("b", 1);
  EXPECT_TRUE(Ask("c", 10).admitted());
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(Elapsed(short_one), 6 * kSecond);
  EXPECT_EQ(Elapsed(long_one), 54 * kSecond);
}

TEST_F(WaitingTest, AWaitKnownToBeTooLongIsRefusedAtOnceWithTheDecision) {
  Drain("a");
  const Told& told = Ask("a", 2, Within(12 * kSecond - nanoseconds(1)));
  ASSERT_TRUE(told.refused());
  EXPECT_EQ(told.outcome->value().decision().retry_after, 12 * kSecond);
  EXPECT_EQ(limiter_->stats().waiting, 0U);
  EXPECT_TRUE(Ask("a", 2, Within(12 * kSecond)).times == 0) << "just long enough";
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_TRUE(told_.back().admitted());
}

TEST_F(WaitingTest, AHeadThatIsRefusedBeyondItsTimeIsAnsweredThen) {
  Drain("a");
  const Told& told = Ask("a", 1, Within(8 * kSecond));
  // Another process takes the token.
  scheduler_.Advance(6 * kSecond - nanoseconds(1));
  const auto charges = store_.acquires.back().charges;
  memory_->buckets().Adjust(charges, AdjustId{9, 9}, scheduler_.clock().WallNow(),
                            Deadline::Never(), [](Status) {});
  scheduler_.Advance(nanoseconds(1));
  ASSERT_TRUE(told.refused());
  EXPECT_EQ(Elapsed(told), 6 * kSecond);
}

TEST_F(WaitingTest, WhoStandsBehindAWaitThatIsTooLongForItIsRefusedAtOnce) {
  Drain("a");
  Wait("a", 5);
  const Told& told = Ask("a", 1, Within(20 * kSecond));
  ASSERT_TRUE(told.refused());
  EXPECT_EQ(told.outcome->value().decision().retry_after, 30 * kSecond);
}

TEST_F(WaitingTest, WhoseTimeEndsInTheQueueIsRefusedThen) {
  Drain("a");
  const Told& head = Wait("a", 1);
  const Told& second = Wait("a", 5);
  const Told& third = Ask("a", 1, Within(20 * kSecond));
  scheduler_.Advance(20 * kSecond - nanoseconds(1));
  EXPECT_TRUE(head.admitted());
  EXPECT_EQ(third.times, 0);
  EXPECT_EQ(limiter_->stats().waiting, 2U);
  const auto tries = store_.acquires.size();
  scheduler_.Advance(nanoseconds(1));
  ASSERT_TRUE(third.refused());
  const Decision& decision = third.outcome->value().decision();
  EXPECT_EQ(decision.retry_after, 16 * kSecond) << "the head's expected wait";
  EXPECT_EQ(decision.limits[0].available, 2333) << "fresh: 14 s of refill";
  EXPECT_EQ(store_.acquires.size(), tries) << "an end is not a try";
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(Elapsed(second), 36 * kSecond);
}

TEST_F(WaitingTest, OneThatWillNotWaitGoesBehindThoseWhoDo) {
  Drain("a");
  const Told& waiter = Wait("a", 2);
  scheduler_.Advance(6 * kSecond);
  const auto tries = store_.acquires.size();
  const Told& hasty = Ask("a", 1);
  ASSERT_TRUE(hasty.refused()) << "one token is there, and it is not for the newcomer";
  const Decision& decision = hasty.outcome->value().decision();
  EXPECT_EQ(decision.retry_after, 6 * kSecond);
  EXPECT_EQ(decision.limits[0].available, 1000);
  EXPECT_EQ(decision.limits[0].requested, 1000);
  EXPECT_FALSE(decision.limits[0].exceeded);
  EXPECT_EQ(store_.acquires.size(), tries);
  EXPECT_EQ(store_.bucket_reads, 1U);
  scheduler_.Advance(6 * kSecond);
  EXPECT_TRUE(waiter.admitted());
  EXPECT_EQ(Elapsed(waiter), 12 * kSecond) << "nobody starved it";
}

// Fails if: while a request waits, each refused newcomer makes the store read its bucket again.
TEST_F(WaitingTest, D12WhileOneWaitsNewcomersAreRefusedByWhatTheStoreKnows) {
  Drain("a");
  Wait("a", 5);
  for (int i = 0; i < 20; ++i) {
    const Told& told = Ask("a", 1);
    ASSERT_TRUE(told.refused());
    EXPECT_EQ((*told.outcome)->decision().limits.size(), 1U);
  }
  EXPECT_EQ(store_.recent_reads, 20U);
  EXPECT_EQ(store_.bucket_reads, store_.recent_reads);
}

TEST_F(WaitingTest, AWaitThatIsOverAtOnceIsNone) {
  Drain("a");
  EXPECT_TRUE(Ask("a", 1, Deadline::At(Now())).refused());
  EXPECT_EQ(limiter_->stats().waiting, 0U);
}

TEST_F(WaitingTest, TokensThatComeBackWakeTheHeadAtOnce) {
  Told& first = Ask("a", 6);
  Lease lease = first.lease();
  const Told& head = Wait("a", 7);
  const Told& next = Wait("a", 4);
  scheduler_.Advance(kSecond);
  EXPECT_TRUE(lease.Release({{"rpm", 2}}));
  scheduler_.RunReady();
  EXPECT_EQ(head.times, 0) << "6 and a bit are there";
  EXPECT_EQ(store_.acquires.size(), 3U) << "it tried";
  EXPECT_TRUE(lease.Cancel());
  scheduler_.RunReady();
  EXPECT_TRUE(head.admitted());
  EXPECT_EQ(Elapsed(head), kSecond);
  EXPECT_EQ(next.times, 0);
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(Elapsed(next), 7 * kSecond) << "3 are left of a full bucket, one more 6 s later";
}

TEST_F(WaitingTest, MoreThatIsTakenWakesNobody) {
  Told& first = Ask("a", 10);
  Lease lease = first.lease();
  const Told& head = Wait("a", 1);
  EXPECT_TRUE(lease.Adjust({{"rpm", 1}}));
  scheduler_.RunReady();
  EXPECT_EQ(store_.acquires.size(), 2U);
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(Elapsed(head), 12 * kSecond) << "the debt is repaid first";
}

TEST_F(WaitingTest, TokensThatComeBackDuringATryAreNotMissed) {
  Told& first = Ask("a", 10);
  Lease lease = first.lease();
  store_.hold = true;
  const Told& told = Wait("a", 5);
  EXPECT_EQ(store_.held(), 1U) << "it is refused, and does not know it yet";
  store_.hold = false;
  EXPECT_TRUE(lease.Cancel());
  store_.Release();
  scheduler_.RunReady();
  EXPECT_TRUE(told.admitted());
  EXPECT_EQ(Elapsed(told), nanoseconds(0));
}

TEST_F(WaitingTest, AnUnwoundLeaseWakesToo) {
  const Told* told = nullptr;
  try {
    const Lease lease = Ask("a", 10).lease();
    told = &Wait("a", 5);
    throw std::runtime_error("the work failed");
  } catch (const std::runtime_error&) {
  }
  scheduler_.RunReady();
  EXPECT_TRUE(told->admitted());
}

TEST_F(WaitingTest, WaitsForTheBucketThatRefusesForTheLongest) {
  Family();
  EXPECT_TRUE(Ask("a", 10).admitted());
  EXPECT_TRUE(Ask("b", 5).admitted());
  // `a` is empty and gets one token in 6 s; `p` is empty and gets one in 4 s; `b` has 5.
  const Told& a = Wait("a", 1);
  const Told& b = Wait("b", 1);
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(Elapsed(b), 4 * kSecond) << "nobody was ahead of it on p";
  EXPECT_EQ(Elapsed(a), 8 * kSecond) << "its own token at 6 s, its parent's at 8 s";
}

TEST_F(WaitingTest, OneThatIsRefusedElsewhereKeepsItsPlaceThere) {
  Family();
  EXPECT_TRUE(Ask("a", 10).admitted());
  EXPECT_TRUE(Ask("b", 5).admitted());
  const Told& a = Wait("a", 1);   // first, waits for a until 6 s
  const Told& b1 = Wait("b", 1);  // waits for p until 4 s
  const Told& b2 = Wait("b", 1);  // behind b1
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(Elapsed(b1), 4 * kSecond);
  EXPECT_EQ(Elapsed(a), 8 * kSecond) << "came before b2, and goes before it on p";
  EXPECT_EQ(Elapsed(b2), 12 * kSecond);
}

TEST_F(WaitingTest, ASiblingGoesBehindWhoWaitsForTheParent) {
  Family();
  EXPECT_TRUE(Ask("a", 10).admitted());
  EXPECT_TRUE(Ask("b", 5).admitted());
  Wait("b", 2);
  scheduler_.Advance(7 * kSecond);
  EXPECT_TRUE(Ask("a", 1).refused()) << "a and p have one each, and somebody waits for p";
  EXPECT_TRUE(Ask("c", 1).admitted()) << "no child of p";
}

TEST_F(WaitingTest, AtMostSoManyWait) {
  Drain("a");
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Wait("a", 1).times, 0);
  const Told& one_more = Wait("a", 1);
  EXPECT_EQ(one_more.code(), Code::kResourceExhausted);
  EXPECT_THAT(one_more.outcome->error().message, HasSubstr("50"));
  Drain("b");
  EXPECT_EQ(Ask("b", 1, Deadline::Never(), OnUnavailable::kAllow).code(), Code::kResourceExhausted)
      << "the bound is ours: the policy for a store that is away does not apply";
  EXPECT_TRUE(Ask("c", 1, Deadline::Never()).admitted()) << "who need not wait may still ask";
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(limiter_->stats().admitted, 53U);
}

TEST_F(WaitingTest, DestroyingTheLimiterCancelsThoseWhoWaitOnce) {
  Drain("a");
  std::vector<Told*> waiters;
  for (int i = 0; i < 5; ++i) waiters.push_back(&Wait("a", 1));
  scheduler_.RunReady();
  limiter_.reset();
  for (const Told* told : waiters) EXPECT_EQ(told->code(), Code::kCancelled);
  EXPECT_EQ(scheduler_.pending(), 0U) << "the timer is gone";
  EXPECT_TRUE(scheduler_.RunAll());
  for (const Told* told : waiters) EXPECT_EQ(told->times, 1);
}

TEST_F(WaitingTest, ATryUnderWayWhenTheLimiterGoesIsCancelledAndGivenBack) {
  Drain("a");
  const Told& told = Wait("a", 1);
  const Told& behind = Wait("a", 1);
  store_.hold = true;
  scheduler_.Advance(6 * kSecond);
  limiter_.reset();
  EXPECT_EQ(told.times, 0);
  EXPECT_EQ(behind.code(), Code::kCancelled);
  store_.hold = false;
  EXPECT_TRUE(store_.acquires.back().admitted);
  store_.Release();
  EXPECT_EQ(told.code(), Code::kCancelled);
  ASSERT_EQ(store_.adjusts.size(), 1U);
  EXPECT_THAT(store_.adjusts[0].charges[0].amounts, ElementsAre(-1000));
}

TEST_F(WaitingTest, AFirstTryUnderWayWhenTheLimiterGoesIsCancelled) {
  for (const bool resolved : {false, true}) {
    limiter_ = std::make_unique<Limiter>(store_, scheduler_, LimiterOptions{});
    if (resolved) Use("a", 1);
    store_.hold = true;
    const Told& told = Wait("a", 1);
    limiter_.reset();
    store_.hold = false;
    store_.Release();
    EXPECT_EQ(told.code(), Code::kCancelled);
  }
}

TEST_F(WaitingTest, LimitsThatAreRaisedWakeThoseWhoWait) {
  Drain("a");
  const Told& told = Wait("a", 10);
  scheduler_.Advance(kSecond);
  Apply({Put(Level::System(), {{"rpm", PerMinute(20)}})});
  scheduler_.RunReady();
  EXPECT_TRUE(told.admitted());
  EXPECT_EQ(store_.acquires.back().charges[0].target->limits[0].quota, PerMinute(20));
}

TEST_F(WaitingTest, ARequestThatBecameImpossibleIsAnError) {
  Drain("a");
  const Told& too_much = Wait("a", 10);
  const Told& behind = Wait("a", 1);
  Apply({Put(Level::System(), {{"rpm", PerMinute(5)}})});
  scheduler_.RunReady();
  EXPECT_EQ(too_much.code(), Code::kInvalidArgument);
  EXPECT_THAT(too_much.outcome->error().message, HasSubstr("never"));
  Apply({Put(Level::System(), {{"calls", PerMinute(5)}})});
  scheduler_.RunReady();
  EXPECT_EQ(behind.code(), Code::kInvalidArgument);
  EXPECT_THAT(behind.outcome->error().message, HasSubstr("known are calls"));
}

TEST_F(WaitingTest, AChangeByAnotherProcessIsSeenByThoseWhoWaitAfterItsTime) {
  Drain("a");
  const Told& told = Wait("a", 10);
  memory_->config().Apply({Put(Level::System(), {{"rpm", PerMinute(12)}})}, Deadline::Never(),
                          [](Status) {});
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_TRUE(told.admitted());
  EXPECT_EQ(store_.acquires.back().charges[0].target->limits[0].quota, PerMinute(12));
}

TEST_F(WaitingTest, AStoreThatFailsDuringATryAnswersByThePolicyAndTheNextOneTries) {
  Drain("a");
  const Told& blocked = Ask("a", 1, Deadline::Never(), OnUnavailable::kBlock);
  const Told& allowed = Ask("a", 1, Deadline::Never(), OnUnavailable::kAllow);
  const Told& later = Wait("a", 1);
  store_.fail = Error{Code::kUnavailable, "away"};
  scheduler_.Advance(6 * kSecond - nanoseconds(1));
  EXPECT_EQ(blocked.times, 0);
  scheduler_.Advance(nanoseconds(1));
  EXPECT_EQ(blocked.code(), Code::kUnavailable);
  ASSERT_TRUE(allowed.admitted());
  EXPECT_TRUE(allowed.outcome->value().unprotected());
  EXPECT_EQ(later.code(), Code::kUnavailable);
  EXPECT_EQ(limiter_->stats().waiting, 0U);
}

// Fails if: the policy for an unavailable store decides a request that was not tried.
TEST_F(WaitingTest, OneRefusedBehindOthersIsNotAdmittedBecauseTheReadOfItsBucketFails) {
  Drain("a");
  const Told& waiter = Wait("a", 2);
  scheduler_.Advance(6 * kSecond);
  for (const Code code : {Code::kUnavailable, Code::kDeadlineExceeded}) {
    for (const OnUnavailable policy : {OnUnavailable::kAllow, OnUnavailable::kBlock}) {
      store_.fail = Error{code, "away"};
      const Told& hasty = Ask("a", 1, std::nullopt, policy);
      ASSERT_TRUE(hasty.refused());
      const Decision& decision = hasty.outcome->value().decision();
      EXPECT_EQ(decision.retry_after, 6 * kSecond) << "the head's expected wait";
      EXPECT_TRUE(decision.limits.empty()) << "nothing is known of them";
    }
  }
  EXPECT_EQ(limiter_->stats().unprotected, 0U);
  EXPECT_EQ(limiter_->stats().store_errors, 4U);
  store_.fail = Error{Code::kDataLoss, "damaged"};
  EXPECT_EQ(Ask("a", 1, std::nullopt, OnUnavailable::kAllow).code(), Code::kDataLoss);
  store_.fail.reset();
  scheduler_.Advance(6 * kSecond);
  EXPECT_TRUE(waiter.admitted());
}

// Fails if: the end of a wait in the queue is treated as a try without a result of the store.
TEST_F(WaitingTest, OneWhoseTimeEndsInTheQueueIsNotAdmittedBecauseTheReadFails) {
  Drain("a");
  const Told& head = Wait("a", 1);
  const Told& second = Wait("a", 5);
  const Told& third = Ask("a", 1, Within(20 * kSecond), OnUnavailable::kAllow);
  scheduler_.Advance(20 * kSecond - nanoseconds(1));
  EXPECT_TRUE(head.admitted());
  store_.fail = Error{Code::kUnavailable, "away"};
  scheduler_.Advance(nanoseconds(1));
  ASSERT_TRUE(third.refused());
  EXPECT_EQ(third.outcome->value().decision().retry_after, 16 * kSecond);
  EXPECT_EQ(limiter_->stats().unprotected, 0U);
  store_.fail.reset();
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_TRUE(second.admitted());
}

TEST_F(WaitingTest, EachTryHasTheTimeTheFirstHad) {
  Drain("a");
  Wait("a", 1);
  scheduler_.Advance(6 * kSecond);
  ASSERT_EQ(store_.acquires.size(), 3U);
  EXPECT_EQ(store_.acquires[2].deadline, Within(milliseconds(100)));
}

TEST_F(WaitingTest, LimitsOfTheRequestWaitInTheSameQueue) {
  Drain("a");
  const Told& first = Wait("a", 1);
  Told& told = told_.emplace_back();
  limiter_->Acquire({.entity = "a",
                     .resource = "gpt-4",
                     .amounts = {{"rpm", 1}},
                     .wait = true,
                     .limits = std::vector<Limit>{{"rpm", PerMinute(10)}}},
                    Deadline::Never(), [&](Result<Outcome> outcome) {
                      ++told.times;
                      told.at = Now();
                      told.outcome = std::move(outcome);
                    });
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_EQ(Elapsed(first), 6 * kSecond);
  EXPECT_EQ(Elapsed(told), 12 * kSecond);
}

TEST_F(WaitingTest, AnswersMayGiveBackWithoutNesting) {
  limiter_ = std::make_unique<Limiter>(store_, scheduler_, LimiterOptions{});
  Lease lease = Ask("a", 10).lease();
  int depth = 0;
  int deepest = 0;
  int results = 0;
  constexpr int kWaiters = 20'000;
  for (int i = 0; i < kWaiters; ++i) {
    limiter_->Acquire({.entity = "a", .resource = "gpt-4", .amounts = {{"rpm", 10}}, .wait = true},
                      Deadline::Never(), [&](Result<Outcome> outcome) {
                        deepest = std::max(deepest, ++depth);
                        EXPECT_TRUE(std::move(*outcome).lease().Cancel());
                        ++results;
                        --depth;
                      });
  }
  EXPECT_TRUE(lease.Cancel());
  scheduler_.RunReady();
  EXPECT_EQ(results, kWaiters);
  EXPECT_EQ(deepest, 1);
  EXPECT_LE(limiter_->stats().store_acquires, 2U * kWaiters + 2);
}

TEST_F(WaitingTest, ALongWaitBeyondAnyInstantIsKept) {
  Apply({Put(Level::System(), {{"rpm", {10'000, 1, kMaxPeriodMillis}}})});
  Drain("a");
  const Told& told = Wait("a", 10);
  scheduler_.RunReady();
  EXPECT_EQ(told.times, 0);
  EXPECT_TRUE(Ask("a", 10, Within(std::chrono::hours(24 * 365))).refused());
}

TEST(WaitingOnALoop, TheBlockingFormWaits) {
  const SystemClock clock;
  Loop loop(clock);
  const auto memory = MakeMemoryBackend({}, &clock);
  Limiter limiter(*memory, loop);
  ASSERT_TRUE(limiter.Apply({Put(Level::System(), {{"calls", PerPeriod(1, milliseconds(5))}})},
                            Deadline::Never()));
  for (int i = 0; i < 5; ++i) {
    const auto outcome =
        limiter.Acquire({.entity = "a", .resource = "r", .amounts = {{"calls", 1}}, .wait = true},
                        Deadline::Never());
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->admitted());
  }
}

// One bucket with random arrivals and amounts; all requests wait.
struct Arrivals {
  explicit Arrivals(std::uint64_t seed) : rng(seed), scheduler(seed) {}

  void Run() {
    ASSERT_TRUE(limiter.Apply({Put(Level::System(), {{"rpm", PerMinute(10)}})}, Deadline::Never()));
    for (int i = 0; i < kCount; ++i) {
      scheduler.At(scheduler.clock().Now() + nanoseconds(rng.Between(0, 400'000'000'000)),
                   [this] { Arrive(); });
    }
    ASSERT_TRUE(scheduler.RunAll(100'000));
  }

  void Arrive() {
    const int number = arrived++;
    const std::int64_t amount = rng.Between(1, 10);
    limiter.Acquire(
        {.entity = "a", .resource = "gpt-4", .amounts = {{"rpm", amount}}, .wait = true},
        Deadline::Never(), [this, number](Result<Outcome> outcome) {
          ASSERT_TRUE(outcome && outcome->admitted());
          order.push_back(number);
          at.push_back(scheduler.clock().Now());
        });
    amounts.push_back(amount);
    arrivals.push_back(scheduler.clock().WallNow());
  }

  static constexpr int kCount = 30;
  Rng rng;
  sim::SimScheduler scheduler;
  std::unique_ptr<Backend> memory = MakeMemoryBackend({}, &scheduler.clock());
  Limiter limiter{*memory, scheduler, {.seed = 1}};
  int arrived = 0;
  std::vector<std::int64_t> amounts;
  std::vector<UnixMillis> arrivals;
  std::vector<int> order;
  std::vector<Instant> at;
};

// Fails if: newcomers do not check whether other requests wait (Enter always tries), a queue is not
// in the order of arrival (Line is sorted in reverse), or a head tries a millisecond too late.
TEST(WaitingProperty, OneBucketServesInTheOrderOfArrivalAtTheEarliestInstants) {
  std::uint64_t acquires = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Arrivals run(seed);
    run.Run();
    ASSERT_EQ(run.order.size(), static_cast<std::size_t>(Arrivals::kCount)) << "seed " << seed;
    ASSERT_TRUE(std::ranges::is_sorted(run.order)) << "seed " << seed;
    // The expected times: the same requests one after the other, each at the earliest possible
    // time, on a separate bucket.
    Bucket bucket{run.arrivals[0], {FullMeter(PerMinute(10))}};
    UnixMillis now = run.arrivals[0];
    const UnixMillis wall_end = run.scheduler.clock().WallNow();
    for (std::size_t i = 0; i < run.order.size(); ++i) {
      now = std::max(now, run.arrivals[i]);
      Refill(bucket, now);
      const std::int64_t amount = run.amounts[i] * kMillitokens;
      now = now + RetryAfter(bucket, {&amount, 1});
      ASSERT_TRUE(Take(bucket, {&amount, 1}, now));
      const nanoseconds before_end = run.scheduler.clock().Now() - run.at[i];
      const auto admitted = wall_end - std::chrono::duration_cast<milliseconds>(before_end);
      ASSERT_LE(std::abs((admitted - now).count()), 1) << "seed " << seed << " request " << i;
    }
    ASSERT_LE(run.limiter.stats().store_acquires, 2U * Arrivals::kCount) << "seed " << seed;
    acquires += run.limiter.stats().store_acquires;
  }
  EXPECT_GT(acquires, 200U * Arrivals::kCount * 3 / 2) << "most had to wait";
}

}  // namespace
}  // namespace weir
