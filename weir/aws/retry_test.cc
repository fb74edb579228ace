#include "weir/aws/retry.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace weir {
namespace {

using enum FailureClass;

constexpr Instant kNow{86'400'000'000'007};
constexpr auto kSecond = std::chrono::seconds(1);

/// A policy with its own quota and randomness.
struct Retries {
  explicit Retries(RetryOptions options = {}, bool repeatable = false,
                   Deadline deadline = Deadline::Never())
      : quota(options.quota), policy(options, repeatable, deadline) {}

  RetryDecision After(FailedAttempt failed, Instant now = kNow) {
    return policy.OnFailure(failed, now, quota, rng);
  }
  bool Again(FailureClass kind) { return After({.kind = kind}).again; }

  RetryQuota quota;
  Rng rng{7};
  RetryPolicy policy;
};

TEST(RetryQuota, GivesAllOrNothingAndTakesBackUpToItsCapacity) {
  RetryQuota quota(12);
  EXPECT_TRUE(quota.Take(10));
  EXPECT_FALSE(quota.Take(5));
  EXPECT_EQ(quota.available(), 2);
  EXPECT_EQ(quota.refused(), 1U);
  quota.GiveBack(3);
  EXPECT_TRUE(quota.Take(5));
  EXPECT_EQ(quota.available(), 0);
  quota.GiveBack(100);
  EXPECT_EQ(quota.available(), 12);
}

// Fails if: a Take that does not fit takes the available tokens, or GiveBack exceeds the capacity.
RC_GTEST_PROP(RetryQuotaProperty, CountsLikeANumberBetweenZeroAndItsCapacity, ()) {
  const auto capacity = *rc::gen::inRange<std::int64_t>(1, 1000);
  RetryQuota quota(capacity);
  std::int64_t expected = capacity;
  for (const auto step :
       *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(-40, 40))) {
    if (step < 0) {
      quota.GiveBack(-step);
      expected = std::min(capacity, expected - step);
    } else {
      RC_ASSERT(quota.Take(step) == (step <= expected));
      if (step <= expected) expected -= step;
    }
    RC_ASSERT(quota.available() == expected);
  }
}

TEST(RetryPolicy, WhatWasSurelyNotAppliedIsTriedAgain) {
  for (const bool repeatable : {false, true}) {
    EXPECT_TRUE(Retries({}, repeatable).Again(kThrottle));
    EXPECT_TRUE(Retries({}, repeatable).Again(kTransient));
  }
}

TEST(RetryPolicy, WhatMayHaveBeenAppliedIsTriedAgainOnlyIfRepeatable) {
  EXPECT_FALSE(Retries({}, false).Again(kAmbiguous));
  EXPECT_TRUE(Retries({}, true).Again(kAmbiguous));
}

TEST(RetryPolicy, WhatNeverHelpsCostsNothing) {
  for (const FailureClass kind : {kConditional, kConflict, kPermanent, kAuth, kDeadline}) {
    Retries retries({}, true);
    EXPECT_FALSE(retries.Again(kind)) << Name(kind);
    EXPECT_EQ(retries.quota.available(), 500);
  }
}

TEST(RetryPolicy, AMendedAuthFailureIsTriedAgainAtOnceAndOnceForEachCause) {
  Retries retries;
  const FailedAttempt expired = {.kind = kAuth, .remedy = AuthRemedy::kFreshCredentials};
  const FailedAttempt skewed = {.kind = kAuth, .remedy = AuthRemedy::kCorrectClock};
  const RetryDecision first = retries.After(expired);
  EXPECT_TRUE(first.again);
  EXPECT_EQ(first.at, kNow);
  EXPECT_TRUE(retries.After(skewed).again);
  EXPECT_FALSE(retries.After(expired).again);
  EXPECT_FALSE(retries.After(skewed).again);
}

TEST(RetryPolicy, TheAttemptsHaveABound) {
  Retries retries({.max_attempts = 3});
  EXPECT_TRUE(retries.Again(kThrottle));
  EXPECT_TRUE(retries.Again(kTransient));
  const RetryDecision last = retries.After({.kind = kThrottle});
  EXPECT_FALSE(last.again);
  EXPECT_EQ(last.why_not, "that was the last attempt");
  EXPECT_FALSE(Retries({.max_attempts = 1}).Again(kThrottle));
}

TEST(RetryPolicy, WhatIsMendedIsTriedAgainEvenWhereNothingElseIs) {
  Retries retries({.max_attempts = 1});
  EXPECT_TRUE(retries.After({.kind = kAuth, .remedy = AuthRemedy::kFreshCredentials}).again);
  EXPECT_TRUE(retries.After({.kind = kAuth, .remedy = AuthRemedy::kCorrectClock}).again);
  EXPECT_FALSE(retries.After({.kind = kAuth, .remedy = AuthRemedy::kCorrectClock}).again);
  EXPECT_FALSE(retries.Again(kThrottle));
}

TEST(RetryPolicy, ATimeOutCostsTwiceAsMuch) {
  Retries retries;
  EXPECT_TRUE(retries.After({.kind = kTransient}).again);
  EXPECT_EQ(retries.quota.available(), 495);
  EXPECT_TRUE(retries.After({.kind = kTransient, .timed_out = true}).again);
  EXPECT_EQ(retries.quota.available(), 485);
}

TEST(RetryPolicy, ASuccessGivesBackWhatTheLastRetryCostOrOne) {
  Retries retries;
  retries.After({.kind = kTransient});
  retries.After({.kind = kTransient, .timed_out = true});
  retries.policy.OnSuccess(retries.quota);
  EXPECT_EQ(retries.quota.available(), 495);
  const RetryPolicy unbothered({}, false, Deadline::Never());
  unbothered.OnSuccess(retries.quota);
  EXPECT_EQ(retries.quota.available(), 496);
}

TEST(RetryPolicy, AnEmptyQuotaEndsRetriesOfAllCalls) {
  RetryQuota quota(10);
  Rng rng(1);
  const auto again = [&] {
    return RetryPolicy({}, false, Deadline::Never())
        .OnFailure({.kind = kThrottle}, kNow, quota, rng);
  };
  EXPECT_TRUE(again().again);
  EXPECT_TRUE(again().again);
  EXPECT_EQ(again().why_not, "this client's quota of retries is used up");
  EXPECT_EQ(quota.refused(), 1U);
}

TEST(RetryPolicy, NothingBeginsShortlyBeforeTheDeadline) {
  const RetryOptions options{.base = milliseconds(1), .cap = milliseconds(1)};
  EXPECT_TRUE(Retries(options, false, Deadline::At(kNow + milliseconds(6))).Again(kThrottle));
  Retries late(options, false, Deadline::At(kNow + milliseconds(4)));
  const RetryDecision decision = late.After({.kind = kThrottle});
  EXPECT_FALSE(decision.again);
  EXPECT_EQ(decision.why_not, "no time for another try");
  EXPECT_EQ(late.quota.available(), 500);
}

FailedAttempt SomeFailure() {
  return {.kind = *rc::gen::element(kThrottle, kTransient, kAmbiguous, kAuth),
          .remedy = *rc::gen::element(AuthRemedy::kNone, AuthRemedy::kFreshCredentials,
                                      AuthRemedy::kCorrectClock),
          .timed_out = *rc::gen::arbitrary<bool>()};
}

// Fails if: the deadline is compared with `now` instead of now + wait, the bound on attempts is off
// by one, or a refused retry takes tokens.
RC_GTEST_PROP(RetryPolicyProperty, EveryRetryIsInTimeWithinBoundsAndPaid, ()) {
  const RetryOptions options{.max_attempts = *rc::gen::inRange(1, 8),
                             .base = milliseconds(*rc::gen::inRange(1, 50)),
                             .cap = milliseconds(*rc::gen::inRange(50, 5000)),
                             .quota = *rc::gen::inRange(1, 60)};
  const Deadline deadline = Deadline::At(kNow + milliseconds(*rc::gen::inRange(0, 3000)));
  Retries retries(options, true, deadline);
  retries.rng = Rng(*rc::gen::arbitrary<std::uint64_t>());
  Instant now = kNow;
  int attempts = 1;
  int mended = 0;
  for (;; ++attempts) {
    const FailedAttempt failed = SomeFailure();
    const std::int64_t before = retries.quota.available();
    const RetryDecision decision = retries.After(failed, now);
    const std::int64_t cost = failed.timed_out ? kTimeoutRetryCost : kRetryCost;
    RC_ASSERT(before - retries.quota.available() == (decision.again ? cost : 0));
    if (!decision.again) break;
    mended += failed.kind == kAuth ? 1 : 0;
    RC_ASSERT(decision.at >= now && decision.at - now <= options.cap);
    RC_ASSERT(decision.at + options.least_time <= deadline.at());
    now = decision.at + milliseconds(*rc::gen::inRange(0, 100));
  }
  RC_ASSERT(mended <= 2);
  RC_ASSERT(attempts - mended <= options.max_attempts);
}

TEST(RetryPolicy, WaitsSpreadOverTheirWholeRange) {
  nanoseconds longest(0), shortest(kSecond);
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    RetryQuota quota(500);
    RetryPolicy policy({.base = milliseconds(100)}, false, Deadline::Never());
    const RetryDecision decision = policy.OnFailure({.kind = kThrottle}, kNow, quota, rng);
    longest = std::max(longest, decision.at - kNow);
    shortest = std::min(shortest, decision.at - kNow);
  }
  EXPECT_LE(longest, milliseconds(100));
  EXPECT_GT(longest, milliseconds(99));
  EXPECT_LT(shortest, milliseconds(1));
}

}  // namespace
}  // namespace weir
