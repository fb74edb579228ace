#include "weir/reservation/token_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>

#include "weir/reservation/testing/probe_reservations.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class TokenLimiterTest : public ::testing::Test {
 protected:
  Result<TokenOutcome> Take(const TokenRequest& request) {
    return limiter_.Take(request, Deadline::After(scheduler_.clock(), milliseconds(100)));
  }
  /// Takes from a limit of ten a minute: one token is refilled every six seconds.
  TokenOutcome Take(std::int64_t count = 1) {
    const auto outcome = Take(Request(count));
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome.value_or(TokenOutcome{});
  }
  static TokenRequest Request(std::int64_t count) {
    return {.resource = "emr",
            .account = "acme",
            .default_limit = 10,
            .default_window = seconds(60),
            .count = count};
  }
  void SetLimit(std::int64_t limit, seconds window) {
    store_.PutLimit(
        {.key = {"emr", "acme"}, .limit = {.limit = limit, .window = window}, .service = "tests"});
  }

  sim::SimScheduler scheduler_;
  ProbeReservations store_;
  TokenLimiter limiter_{store_, scheduler_, {.limits_ttl = milliseconds(30'000)}};
};

TEST_F(TokenLimiterTest, AsManyAsTheLimitAndThenAsTimeBringsThem) {
  EXPECT_EQ(Take(8), (TokenOutcome{.taken = true, .available = 2}));
  EXPECT_EQ(Take(3), (TokenOutcome{.available = 2, .retry_after = milliseconds(6'000)}));
  EXPECT_EQ(Take(2), (TokenOutcome{.taken = true, .available = 0}));
  scheduler_.Advance(milliseconds(17'999));
  EXPECT_FALSE(Take(3).taken);
  scheduler_.Advance(milliseconds(1));
  EXPECT_TRUE(Take(3).taken);
}

TEST_F(TokenLimiterTest, ARefusalIsRepeatedWithoutAnyRequestUntilItsTime) {
  Take(10);
  EXPECT_EQ(Take(2).retry_after, milliseconds(12'000));
  const std::size_t calls = store_.calls;
  scheduler_.Advance(milliseconds(11'999));
  EXPECT_EQ(Take(2), (TokenOutcome{.available = 0, .retry_after = milliseconds(1)}));
  EXPECT_EQ(Take(3).retry_after, milliseconds(1)) << "for more: at least that";
  EXPECT_EQ(store_.calls, calls);
  EXPECT_EQ(limiter_.stats().remembered, 2U);
  scheduler_.Advance(milliseconds(1));
  EXPECT_TRUE(Take(2).taken);
}

TEST_F(TokenLimiterTest, WhoAsksForFewerIsNotRefusedByIt) {
  Take(8);
  EXPECT_FALSE(Take(3).taken);
  EXPECT_TRUE(Take(2).taken);
}

TEST_F(TokenLimiterTest, AccountsAndResourcesAreRefusedEachForItself) {
  Take(10);
  EXPECT_FALSE(Take(1).taken);
  TokenRequest other = Request(1);
  other.account = "umbrella";
  EXPECT_TRUE(Take(other)->taken);
  other = Request(1);
  other.resource = "glue";
  EXPECT_TRUE(Take(other)->taken);
}

TEST_F(TokenLimiterTest, AnotherLimitEndsARefusal) {
  SetLimit(1, seconds(3'600));
  EXPECT_TRUE(Take(1).taken);
  EXPECT_FALSE(Take(1).taken);
  SetLimit(5, seconds(3'600));
  scheduler_.Advance(milliseconds(29'999));
  EXPECT_FALSE(Take(1).taken) << "limits are believed for their time";
  scheduler_.Advance(milliseconds(1));
  EXPECT_TRUE(Take(1).taken);
}

TEST_F(TokenLimiterTest, ARowGoesBeforeTheDefault) {
  SetLimit(2, seconds(10));
  EXPECT_TRUE(Take(2).taken);
  EXPECT_EQ(Take(1).retry_after, milliseconds(5'000));
}

TEST_F(TokenLimiterTest, ABlockedAccountIsRefusedWithoutAskingForTokens) {
  SetLimit(0, seconds(10));
  EXPECT_EQ(Take(1), (TokenOutcome{.blocked = true}));
  EXPECT_EQ(store_.takes, 0U);
  EXPECT_EQ(Take({.resource = "emr", .account = "umbrella", .default_limit = -1}),
            (TokenOutcome{.blocked = true}));
}

TEST_F(TokenLimiterTest, WhatCanNeverSucceedIsAnErrorAndNothingIsTaken) {
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{11}}) {
    const auto outcome = Take(Request(count));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Code::kInvalidArgument);
    EXPECT_THAT(outcome.error().message, HasSubstr("emr for acme: its limit is 10"));
  }
  TokenRequest request = Request(1);
  request.default_window = seconds(0);
  EXPECT_THAT(Take(request).error().message, HasSubstr("default_window of emr for acme: 0 s"));
  request = Request(1);
  request.account = "";
  EXPECT_EQ(Take(request).error().code, Code::kInvalidArgument);
  request = Request(1);
  request.default_limit = kMaxAccountTokens + 1;
  EXPECT_EQ(Take(request).error().code, Code::kInvalidArgument);
  EXPECT_EQ(store_.takes, 0U);
}

TEST_F(TokenLimiterTest, MoreThanTheLimitIsAnErrorAlsoWhileARefusalIsRemembered) {
  Take(10);
  EXPECT_FALSE(Take(1).taken);
  EXPECT_FALSE(Take(Request(11)));
}

TEST_F(TokenLimiterTest, ARowWithoutAWindowIsNotTheCallersFault) {
  SetLimit(5, seconds(0));
  const auto outcome = Take(Request(1));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(outcome.error().message, HasSubstr("emr for acme a limit of 5 without a window"));
}

TEST_F(TokenLimiterTest, ErrorsOfTheStoreAreAnsweredAndNotRemembered) {
  store_.fail = Error{Code::kUnavailable, "away"};
  EXPECT_EQ(Take(Request(1)).error().code, Code::kUnavailable) << "the limits";
  store_.fail.reset();
  EXPECT_TRUE(Take(1).taken);
  store_.fail = Error{Code::kUnavailable, "away"};
  EXPECT_EQ(Take(Request(1)).error().code, Code::kUnavailable) << "the tokens";
  store_.fail.reset();
  EXPECT_TRUE(Take(1).taken);
}

TEST_F(TokenLimiterTest, TheTimeOfARefusalCountsFromWhenTheStoreWasAsked) {
  Take(10);
  store_.hold = true;
  std::optional<TokenOutcome> outcome;
  limiter_.Take(Request(1), Deadline::Never(),
                [&](Result<TokenOutcome> result) { outcome = *result; });
  scheduler_.Advance(milliseconds(5'000));
  store_.hold = false;
  store_.ReleaseHeldResults();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->retry_after, milliseconds(6'000));
  EXPECT_EQ(Take(1).retry_after, milliseconds(1'000));
}

TEST_F(TokenLimiterTest, NoMoreIsRememberedThanThereIsRoom) {
  TokenLimiter limiter(store_, scheduler_, {.cache_capacity = 1});
  const auto take = [&](const std::string& account) {
    return limiter
        .Take({.resource = "emr",
               .account = account,
               .default_limit = 1,
               .default_window = seconds(60)},
              Deadline::Never())
        .value();
  };
  for (const char* account : {"a", "b", "a", "b"}) take(account);
  const std::size_t takes = store_.takes;
  EXPECT_FALSE(take("b").taken);
  EXPECT_EQ(store_.takes, takes);
  EXPECT_FALSE(take("a").taken);
  EXPECT_EQ(store_.takes, takes + 1);
}

// A cached refusal never refuses a request that the store would have granted, and never grants one.
RC_GTEST_PROP(TokenLimiterProperty, AnswersAreThoseOfOneThatRemembersNothing, ()) {
  sim::SimScheduler scheduler;
  ProbeReservations store, plain;
  TokenLimiter limiter(store, scheduler);
  const AccountLimit limit{.limit = *rc::gen::inRange<std::int64_t>(1, 8),
                           .window = seconds(*rc::gen::inRange(1, 5))};
  const AccountKey key{"emr", "acme"};
  for (int i = 0; i < 80; ++i) {
    scheduler.Advance(milliseconds(*rc::gen::inRange(0, 700)));
    const std::int64_t count = *rc::gen::inRange<std::int64_t>(1, limit.limit + 1);
    const auto outcome = limiter.Take({.resource = key.resource,
                                       .account = key.account,
                                       .default_limit = limit.limit,
                                       .default_window = limit.window,
                                       .count = count},
                                      Deadline::Never());
    plain.inner().tokens().Take(key, limit, count, scheduler.clock().WallNow(), Deadline::Never(),
                                [&](const Result<TokenResult>& result) {
                                  RC_ASSERT(outcome->taken == result->taken);
                                  if (outcome->taken)
                                    RC_ASSERT(outcome->available == result->available);
                                  if (!outcome->taken)
                                    RC_ASSERT(*outcome->retry_after <= result->retry_after);
                                });
  }
  RC_ASSERT(store.takes <= 80U);
}

}  // namespace
}  // namespace weir
