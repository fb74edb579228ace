#include "weir/kinesis/reader/read_failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;

AwsFailure ReadFailureOf(FailureClass kind, std::string message = "no") {
  return {.kind = kind, .message = std::move(message), .http_status = 500};
}

TEST(ReadFailures, AFailureIsRetriedAfterARandomWait) {
  ReadFailures failures({.first_backoff = seconds(1), .longest_backoff = seconds(4)}, 1);
  FailureSeries series = failures.NewSeries();
  EXPECT_FALSE(failures.any());
  const auto at = failures.RetryAt(series, ReadFailureOf(FailureClass::kTransient), kStart);
  ASSERT_TRUE(at);
  EXPECT_GE(*at, kStart);
  EXPECT_LE(*at, kStart + seconds(1));
  EXPECT_TRUE(failures.any());
}

TEST(ReadFailures, AFailureThatCannotPassIsAnError) {
  ReadFailures failures({}, 1);
  FailureSeries series = failures.NewSeries();
  EXPECT_FALSE(failures.RetryAt(series, ReadFailureOf(FailureClass::kPermanent), kStart));
  EXPECT_FALSE(failures.any());
}

// Fails if: throttles count as failures.
TEST(ReadFailures, OnlyConsecutiveFailuresUpToTheLimitAreRetried) {
  ReadFailures failures({.max_tries = 2}, 1);
  FailureSeries series = failures.NewSeries();
  const AwsFailure transient = ReadFailureOf(FailureClass::kTransient);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(failures.RetryAt(series, ReadFailureOf(FailureClass::kThrottle), kStart));
  }
  EXPECT_FALSE(failures.any());
  EXPECT_TRUE(failures.RetryAt(series, transient, kStart));
  failures.End(series);
  EXPECT_TRUE(failures.RetryAt(series, transient, kStart));
  EXPECT_FALSE(failures.RetryAt(series, transient, kStart));
}

// Fails if: an iterator that expires after a pause is a failure, or those that expire at once are
// none.
TEST(ReadFailures, TheFirstExpiryOfASeriesIsNoFailure) {
  ReadFailures failures({.max_tries = 2}, 1);
  FailureSeries series = failures.NewSeries();
  const AwsFailure expiry = ReadFailureOf(FailureClass::kPermanent);
  for (int pause = 0; pause < 3; ++pause) {
    EXPECT_EQ(failures.ReplaceAt(series, expiry, kStart), kStart);
    EXPECT_FALSE(failures.any());
    failures.End(series);
  }
  EXPECT_EQ(failures.ReplaceAt(series, expiry, kStart), kStart);
  EXPECT_GT(failures.ReplaceAt(series, expiry, kStart).value(), kStart);
  EXPECT_TRUE(failures.any());
  EXPECT_FALSE(failures.ReplaceAt(series, expiry, kStart));
}

// Fails if: the end of one series hides the failures of another.
TEST(ReadFailures, ReportsTheFirstFailureOfAllSeries) {
  ReadFailures failures({}, 1);
  FailureSeries one = failures.NewSeries();
  FailureSeries other = failures.NewSeries();
  EXPECT_TRUE(failures.RetryAt(one, ReadFailureOf(FailureClass::kTransient, "first"), kStart));
  EXPECT_TRUE(failures.RetryAt(other, ReadFailureOf(FailureClass::kTransient, "second"), kStart));
  EXPECT_THAT(failures.TakeFirst().value().message, testing::HasSubstr("first"));
  EXPECT_FALSE(failures.TakeFirst());
  failures.End(one);
  failures.End(one);
  EXPECT_TRUE(failures.any());
  failures.End(other);
  EXPECT_FALSE(failures.any());
}
}  // namespace
}  // namespace weir::kinesis
