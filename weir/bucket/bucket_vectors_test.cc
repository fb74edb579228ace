// Recorded vectors of zae-limiter, as far as they apply to this arithmetic.
#include <gtest/gtest.h>

#include "weir/bucket/bucket.h"
#include "weir/bucket/testing/csv_rows.h"

namespace weir {
namespace {

const std::string kTestData = WEIR_SOURCE_DIR "/weir/bucket/testdata/";

Bucket BucketOf(const CsvRow& row) {
  const Quota quota{row.number("capacity"), row.number("amount"), row.number("period")};
  const Meter meter{
      .quota = quota, .tokens = row.number("tokens"), .remainder_period = quota.period};
  return {.time = UnixMillis(row.number("time")), .meters = {meter}};
}

TEST(BucketVectors, RefillAgreesInTokensAndNeverMintsWithinOneMillisecond) {
  for (const CsvRow& row : ReadCsv(kTestData + "refill.csv")) {
    SCOPED_TRACE(row.text("id"));
    Bucket bucket = BucketOf(row);
    const UnixMillis now(row.number("now"));
    Refill(bucket, now);
    const Meter& meter = bucket.meters[0];
    EXPECT_EQ(meter.tokens, row.number("after"));
    EXPECT_EQ(meter.remainder, row.number("remainder"));
    EXPECT_EQ(bucket.time.value, row.number("after_time"));

    Debit(bucket.meters[0], 1);
    Refill(bucket, now);
    EXPECT_EQ(meter.tokens, row.number("after") - 1);
    if (row.text("rule") == "must not") {
      EXPECT_NE(meter.tokens, row.number("minted"));
    }
  }
}

TEST(BucketVectors, TakeAdmitsAndRefusesAsRecorded) {
  for (const CsvRow& row : ReadCsv(kTestData + "take.csv")) {
    SCOPED_TRACE(row.text("id"));
    Bucket bucket = BucketOf(row);
    const std::int64_t amounts[] = {row.number("request") * kMillitokens};
    EXPECT_EQ(Take(bucket, amounts, UnixMillis(row.number("now"))), row.number("admitted") == 1);
    const Meter& meter = bucket.meters[0];
    EXPECT_EQ(meter.tokens, row.number("after"));
    EXPECT_EQ(meter.remainder, row.number("remainder"));
    EXPECT_EQ(bucket.time.value, row.number("after_time"));
    if (row.number("admitted") == 0) {
      EXPECT_EQ(RetryAfter(meter, amounts[0]).count(), row.number("retry_after"));
    }
  }
}

TEST(BucketVectors, RetryAfterIsTheExactCeiling) {
  for (const CsvRow& row : ReadCsv(kTestData + "retry_after.csv")) {
    SCOPED_TRACE(row.text("id"));
    const Quota quota{kMaxMillitokens, row.number("amount"), row.number("period")};
    const std::int64_t asked = 1'000'000'000;
    const Meter meter{
        .quota = quota, .tokens = asked - row.number("missing"), .remainder_period = quota.period};
    EXPECT_EQ(RetryAfter(meter, asked).count(), row.number("ours"));
    EXPECT_LE(RetryAfter(meter, asked).count(), row.number("theirs"));
  }
}

TEST(BucketVectors, AdjustAgreesExceptThatAGiveBackStopsAtCapacity) {
  for (const CsvRow& row : ReadCsv(kTestData + "adjust.csv")) {
    SCOPED_TRACE(row.text("id"));
    Bucket bucket = BucketOf(row);
    Refill(bucket, UnixMillis(row.number("now")));
    Adjust(bucket.meters[0], row.number("delta"));
    EXPECT_EQ(bucket.meters[0].tokens, row.number("after"));
    EXPECT_EQ(bucket.meters[0].tokens == row.number("theirs"), row.text("rule") == "holds");
  }
}

}  // namespace
}  // namespace weir
