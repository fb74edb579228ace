#include "weir/kinesis/pipeline/retry_policy.h"

#include <gtest/gtest.h>

#include "weir/kinesis/pipeline/attempts.h"
#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;

TEST(RetryPolicy, ClassifiesTheCodesOfEntries) {
  EXPECT_EQ(ClassOfEntry("ProvisionedThroughputExceededException"), FailureClass::kThrottle);
  EXPECT_EQ(ClassOfEntry("KMSThrottlingException"), FailureClass::kThrottle);
  EXPECT_EQ(ClassOfEntry("InternalFailure"), FailureClass::kAmbiguous);
  EXPECT_EQ(ClassOfEntry("ServiceUnavailable"), FailureClass::kAmbiguous);
  EXPECT_EQ(ClassOfEntry("InvalidArgumentException"), FailureClass::kPermanent);
  EXPECT_EQ(ClassOfEntry("ResourceNotFoundException"), FailureClass::kPermanent);
  EXPECT_EQ(ClassOfEntry("AccessDeniedException"), FailureClass::kAuth);
  EXPECT_EQ(ClassOfEntry("xx"), FailureClass::kAmbiguous);
}

class RetryPolicyTest : public testing::Test {
 protected:
  std::optional<Instant> At(FailureClass kind, const RetryOptions& options = {},
                            std::uint32_t attempts = 1, nanoseconds ttl = seconds(30)) {
    return RetryAt(options, {kind, attempts, kStart + ttl}, kStart, rng_);
  }
  Rng rng_{1};
};

TEST_F(RetryPolicyTest, TriesAgainWhatMayGoBetter) {
  EXPECT_TRUE(At(FailureClass::kThrottle));
  EXPECT_TRUE(At(FailureClass::kTransient));
  EXPECT_TRUE(At(FailureClass::kAmbiguous));
  EXPECT_FALSE(At(FailureClass::kPermanent));
}

// Fails if: a record fails at once because credentials are unavailable for a moment or a stream is
// being created.
TEST_F(RetryPolicyTest, K4WhatMayComeIsWaitedForAsLongAsTheRecordLives) {
  const auto at = [this](FailureClass kind, std::string_view code, nanoseconds since = {},
                         const RetryOptions& options = {}) {
    const FailedAttempt failed{
        .kind = kind, .expires = kStart + seconds(30), .code = code, .held_since = kStart - since};
    return RetryAt(options, failed, kStart, rng_);
  };
  EXPECT_TRUE(at(FailureClass::kAuth, "auth")) << "no credentials";
  EXPECT_TRUE(at(FailureClass::kAuth, "ExpiredTokenException"));
  EXPECT_TRUE(at(FailureClass::kPermanent, "ResourceNotFoundException", std::chrono::hours(1)));
  EXPECT_FALSE(at(FailureClass::kAuth, "AccessDeniedException"));
  EXPECT_FALSE(at(FailureClass::kPermanent, "InvalidArgumentException"));
  const RetryOptions brief{.hold_time = seconds(10)};
  EXPECT_TRUE(at(FailureClass::kAuth, "auth", milliseconds(9'999), brief));
  EXPECT_FALSE(at(FailureClass::kAuth, "auth", seconds(10), brief));
  EXPECT_FALSE(at(FailureClass::kAuth, "auth", {}, {.hold_time = nanoseconds(0)}));
}

TEST_F(RetryPolicyTest, OnlyWhatWouldBeTriedAgainIsSpent) {
  const RetryOptions options{.max_attempts = 2};
  const auto is_spent = [&](FailureClass kind, std::uint32_t attempts) {
    return IsSpent(options, {kind, attempts, kStart + seconds(30)}, kStart);
  };
  EXPECT_FALSE(is_spent(FailureClass::kThrottle, 1));
  EXPECT_TRUE(is_spent(FailureClass::kThrottle, 2));
  EXPECT_FALSE(is_spent(FailureClass::kPermanent, 2)) << "it has failed for another reason";
  EXPECT_FALSE(IsSpent({}, {FailureClass::kThrottle, 1'000, kStart}, kStart)) << "no bound";
}

TEST_F(RetryPolicyTest, FailsWhatIsThrottledOnDemand) {
  EXPECT_FALSE(At(FailureClass::kThrottle, {.fail_if_throttled = true}));
  EXPECT_TRUE(At(FailureClass::kAmbiguous, {.fail_if_throttled = true}));
}

TEST_F(RetryPolicyTest, StopsAfterTheAttemptsItHas) {
  EXPECT_TRUE(At(FailureClass::kThrottle, {.max_attempts = 3}, 2));
  EXPECT_FALSE(At(FailureClass::kThrottle, {.max_attempts = 3}, 3));
}

TEST_F(RetryPolicyTest, WaitsLongerEachTimeUpToTheCap) {
  for (std::uint32_t attempts = 1; attempts < 100; ++attempts) {
    nanoseconds longest{0};
    for (int i = 0; i < 300; ++i) {
      longest = std::max(longest, *At(FailureClass::kThrottle, {}, attempts) - kStart);
    }
    const nanoseconds bound =
        std::min<nanoseconds>(seconds(5), milliseconds(50) * (1 << std::min(attempts - 1, 10U)));
    EXPECT_LE(longest, bound) << attempts;
    EXPECT_GE(longest, bound * 9 / 10) << attempts;
  }
}

TEST_F(RetryPolicyTest, OverBudgetWaitsFromHalfTheCapToTheCapUnlessItWouldExpire) {
  for (int i = 0; i < 300; ++i) {
    const auto slow =
        RetryAt({}, {FailureClass::kAmbiguous, 1, kStart + seconds(30), true}, kStart, rng_);
    EXPECT_GE(slow, kStart + milliseconds(2500));
    EXPECT_LE(slow, kStart + seconds(5));
    const auto soon =
        RetryAt({}, {FailureClass::kAmbiguous, 1, kStart + seconds(1), true}, kStart, rng_);
    ASSERT_TRUE(soon);
    EXPECT_LE(soon, kStart + milliseconds(50)) << "it has no second to wait";
  }
}

TEST(RetryBudget, IsSpentByRetriesAndGivenBackByWhatIsStored) {
  RetryBudget budget(2);
  EXPECT_TRUE(budget.TakeForRetry(FailureClass::kAmbiguous));
  EXPECT_TRUE(budget.TakeForRetry(FailureClass::kTransient));
  EXPECT_FALSE(budget.TakeForRetry(FailureClass::kAmbiguous));
  EXPECT_TRUE(budget.TakeForRetry(FailureClass::kThrottle)) << "has a shard that slows down";
  EXPECT_TRUE(budget.TakeForRetry(FailureClass::kPermanent)) << "is not sent again";
  budget.OnStored(2);
  EXPECT_TRUE(budget.TakeForRetry(FailureClass::kAmbiguous))
      << "the one that was sent again is stored";
  for (int i = 0; i < 4; ++i) budget.OnStored(1);
  EXPECT_FALSE(budget.TakeForRetry(FailureClass::kAmbiguous));
  budget.OnStored(1);
  EXPECT_TRUE(budget.TakeForRetry(FailureClass::kAmbiguous)) << "five that were stored at once";
  for (int i = 0; i < 100; ++i) budget.OnStored(1);
  EXPECT_TRUE(budget.TakeForRetry(FailureClass::kAmbiguous));
  EXPECT_TRUE(budget.TakeForRetry(FailureClass::kAmbiguous));
  EXPECT_FALSE(budget.TakeForRetry(FailureClass::kAmbiguous)) << "never more than it began with";
}

TEST_F(RetryPolicyTest, K12WaitsNoLongerThanTheRecordLives) {
  int at_its_end = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto at = At(FailureClass::kThrottle, {}, 8, seconds(1));
    ASSERT_TRUE(at);
    EXPECT_LE(*at, kStart + seconds(1));
    at_its_end += *at == kStart + seconds(1) ? 1 : 0;
  }
  EXPECT_GT(at_its_end, 100);
  EXPECT_EQ(At(FailureClass::kThrottle, {}, 1, nanoseconds(0)), kStart);
}

Attempt Failing(std::string code) {
  return {.began = kStart, .ended = kStart, .code = std::move(code), .message = "m"};
}

TEST(Attempts, KeepTheFirstAndTheLatest) {
  Attempts attempts;
  for (int i = 0; i < 100; ++i) attempts.Add(Failing(std::to_string(i)));
  EXPECT_EQ(attempts.count(), 100U);
  ASSERT_EQ(attempts.kept().size(), Attempts::kKept);
  EXPECT_EQ(attempts.kept().front()->code, "0");
  EXPECT_EQ(attempts.kept()[1]->code, "93");
  EXPECT_EQ(attempts.kept().back()->code, "99");
}

// Other producers report only "Expired", and not, for example, that a permission was missing.
TEST(Attempts, TellTheRealCause) {
  Attempts attempts;
  EXPECT_EQ(attempts.LastCause(), nullptr);
  attempts.Add(Failing("InternalFailure"));
  attempts.Add(Failing("AccessDeniedException"));
  attempts.Add(Failing(std::string(kExpired)));
  EXPECT_EQ(attempts.LastCause()->code, "AccessDeniedException");
}

}  // namespace
}  // namespace weir::kinesis
