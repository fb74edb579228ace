#include "weir/reservation/rate_limited.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "weir/reservation/testing/probe_reservations.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class RateLimitedTest : public ::testing::Test {
 protected:
  TokenSpec Spec(std::int64_t limit = 1) const { return {"emr", limit, seconds(10)}; }

  sim::SimScheduler scheduler_;
  ProbeReservations store_;
  TokenLimiter limiter_{store_, scheduler_};
};

TEST_F(RateLimitedTest, AGuardIsThereOrAnErrorThatSaysWhenToTryAgain) {
  const TokenRequest request{.resource = "emr",
                             .account = "acme",
                             .default_limit = 2,
                             .default_window = seconds(10),
                             .count = 2};
  {
    const auto guard = TokenGuard::Take(limiter_, request, Deadline::Never());
    ASSERT_TRUE(guard);
    EXPECT_EQ(guard->available(), 0);
  }
  const auto refused = TokenGuard::Take(limiter_, request, Deadline::Never());
  ASSERT_FALSE(refused) << "leaving a scope gives nothing back";
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_EQ(refused.error().retry_after, milliseconds(10'000));
  EXPECT_EQ(refused.error().message,
            "emr for acme has 0 tokens, 2 were requested; try again in 10000 ms");
}

TEST_F(RateLimitedTest, ABlockedAccountIsToldNoTime) {
  const auto refused =
      TokenGuard::Take(limiter_, {.resource = "emr", .account = "acme"}, Deadline::Never());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_EQ(refused.error().retry_after, std::nullopt);
  EXPECT_THAT(refused.error().message, HasSubstr("blocked"));
}

TEST_F(RateLimitedTest, AFunctionIsCalledOnlyWithAToken) {
  int calls = 0;
  const auto submit = [&](int jobs, const std::string&) { return calls += jobs; };
  const auto limited = RateLimited(limiter_, Spec(), submit, AccountArgument<1>());
  const Result<int> first = limited(7, "acme");
  EXPECT_EQ(first, 7);
  const Result<int> second = limited(7, "acme");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kResourceExhausted);
  EXPECT_EQ(second.error().retry_after, milliseconds(10'000));
  EXPECT_EQ(calls, 7);
  EXPECT_TRUE(limited(7, "umbrella")) << "another account";
}

int Twice(int number, std::string_view) { return 2 * number; }

TEST_F(RateLimitedTest, APlainFunctionByItsName) {
  const auto limited = RateLimited(limiter_, Spec(), Twice, AccountArgument<1>());
  EXPECT_EQ(limited(21, "acme"), 42);
  EXPECT_FALSE(limited(21, "acme"));
}

struct Cluster {
  int started = 0;
  Result<int> Start(const std::string& account, int nodes) {
    if (nodes == 0) return Fail(Code::kInvalidArgument, "no nodes for " + account);
    return started += nodes;
  }
};

TEST_F(RateLimitedTest, TheObjectOfAMemberFunctionIsNotCounted) {
  Cluster cluster;
  const auto start = RateLimited(limiter_, Spec(), &Cluster::Start, AccountArgument<0>());
  EXPECT_EQ(start(cluster, "acme", 3), 3);
  EXPECT_FALSE(start(&cluster, "acme", 3));
  EXPECT_EQ(start(&cluster, "umbrella", 4), 7);
}

TEST_F(RateLimitedTest, AResultStaysAResultAndItsErrorsPass) {
  Cluster cluster;
  const auto start = RateLimited(limiter_, Spec(2), &Cluster::Start, AccountArgument<0>());
  static_assert(std::is_same_v<decltype(start(cluster, "acme", 3)), Result<int>>);
  EXPECT_EQ(start(cluster, "acme", 0).error().message, "no nodes for acme");
  EXPECT_EQ(start(cluster, "acme", 3), 3) << "a failed call has used its token all the same";
  EXPECT_FALSE(start(cluster, "acme", 3));
}

TEST_F(RateLimitedTest, OneThatReturnsNothingReturnsAStatus) {
  int calls = 0;
  const auto limited =
      RateLimited(limiter_, Spec(), [&](std::string_view) { ++calls; }, AccountArgument<0>());
  static_assert(std::is_same_v<decltype(limited("acme")), Status>);
  EXPECT_TRUE(limited("acme"));
  EXPECT_FALSE(limited("acme"));
  EXPECT_EQ(calls, 1);
}

struct Job {
  std::string owner;
  int size = 0;
};

TEST_F(RateLimitedTest, TheAccountByAnyCallable) {
  const auto submit = [](const Job& job, int factor) { return job.size * factor; };
  const auto limited = RateLimited(limiter_, Spec(), submit,
                                   [](const Job& job, int) { return "team-" + job.owner; });
  EXPECT_EQ(limited(Job{"acme", 2}, 3), 6);
  EXPECT_FALSE(limited(Job{"acme", 2}, 3));
  EXPECT_EQ(store_.limit_reads.front().account, "team-acme");
  const auto by_member =
      RateLimited(limiter_, Spec(), [](const Job& job) { return job.size; }, &Job::owner);
  EXPECT_EQ(by_member(Job{"initech", 5}), 5);
}

TEST_F(RateLimitedTest, ArgumentsAreHandedOnAndLeftAloneByARefusal) {
  const auto keep = [](std::unique_ptr<int> number, std::string_view) { return number; };
  const auto limited = RateLimited(limiter_, Spec(), keep, AccountArgument<1>());
  auto number = std::make_unique<int>(7);
  Result<std::unique_ptr<int>> kept = limited(std::move(number), "acme");
  ASSERT_TRUE(kept);
  EXPECT_EQ(**kept, 7);
  EXPECT_FALSE(limited(std::move(*kept), "acme"));
  EXPECT_NE(*kept, nullptr) << "not moved from";
}

TEST_F(RateLimitedTest, ItTakesWhatTheFunctionTakesAndNothingElse) {
  using Limited = decltype(RateLimited(limiter_, Spec(), Twice, AccountArgument<1>()));
  static_assert(std::is_invocable_v<const Limited&, int, std::string>);
  static_assert(!std::is_invocable_v<const Limited&, int>);
  static_assert(!std::is_invocable_v<const Limited&, std::string, int>);
}

TEST_F(RateLimitedTest, ItTakesAsManyTokensAsTheSpecSaysWithinTheTimeout) {
  TokenSpec spec = Spec(5);
  spec.count = 3;
  const auto limited = RateLimited(limiter_, spec, Twice, AccountArgument<1>());
  EXPECT_TRUE(limited(1, "acme"));
  EXPECT_EQ(limited(1, "acme").error().retry_after, milliseconds(2'000));
  EXPECT_EQ(limiter_.Timeout(), Deadline::After(scheduler_.clock(), seconds(5)));
}

TEST_F(RateLimitedTest, AnErrorOfTheStoreIsTheAnswerAndTheFunctionIsNotCalled) {
  store_.fail = Error{Code::kUnavailable, "away"};
  const auto limited = RateLimited(limiter_, Spec(), Twice, AccountArgument<1>());
  EXPECT_EQ(limited(1, "acme").error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace weir
