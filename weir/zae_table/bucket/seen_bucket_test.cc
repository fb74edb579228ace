#include "weir/zae_table/bucket/seen_bucket.h"

#include <gtest/gtest.h>

namespace weir::dynamo {
namespace {

using Source = SeenBucket::Source;

constexpr Instant kSeenAt{1'000'000'000'000};
constexpr UnixMillis kRefilled{1'767'225'600'000};

BucketImage ImageAt(std::int64_t millis, std::int64_t tokens = 0) {
  BucketImage image{.key = {"acme", "llm", 0}, .bucket = {.time = kRefilled, .meters = {}}};
  image.bucket.time = kRefilled + milliseconds(millis);
  image.names = {"rpm"};
  image.stored = {PerSecond(10)};
  image.bucket.meters = {FullMeter(PerSecond(10))};
  image.bucket.meters.front().tokens = tokens;
  return image;
}

TEST(SeenBucketTest, AnImageOfAnEarlierRefillReplacesALaterOneAfterASecondOnly) {
  SeenBucket seen;
  EXPECT_TRUE(seen.Learn(ImageAt(50), Source::kRead, 1, kSeenAt));
  EXPECT_FALSE(seen.Learn(ImageAt(0), Source::kRead, 2, kSeenAt + milliseconds(999)));
  EXPECT_EQ(seen.image()->bucket.time, kRefilled + milliseconds(50));
  EXPECT_TRUE(seen.Learn(ImageAt(0), Source::kRead, 3, kSeenAt + milliseconds(1'000)))
      << "the item was deleted";
}

TEST(SeenBucketTest, AnImageWhoseTimeWasSetBackReplacesTheMarkedOneAtOnce) {
  SeenBucket seen;
  BucketImage marked = ImageAt(3'600'000);
  marked.ahead = AheadMark{.rf = marked.bucket.time, .seen = kRefilled};
  seen.Learn(std::move(marked), Source::kRead, 1, kSeenAt);
  EXPECT_FALSE(seen.Learn(ImageAt(-1), Source::kRead, 2, kSeenAt)) << "from before the mark";
  EXPECT_TRUE(seen.Learn(ImageAt(60'000), Source::kRead, 3, kSeenAt));
}

TEST(SeenBucketTest, OfOneRefillTheImageOfTheLaterRequestStays) {
  SeenBucket seen;
  EXPECT_TRUE(seen.Learn(ImageAt(0, 5), Source::kRead, 2, kSeenAt));
  EXPECT_FALSE(seen.Learn(ImageAt(0, 9), Source::kRead, 1, kSeenAt));
  EXPECT_EQ(seen.image()->bucket.meters.front().tokens, 5);
  EXPECT_TRUE(seen.Learn(ImageAt(0, 1), Source::kRead, 3, kSeenAt));
}

// Fails if: an image of an earlier request replaces the knowledge that the item was deleted.
TEST(SeenBucketTest, AnImageOfAnEarlierRequestDoesNotReplaceAnAbsentItem) {
  SeenBucket seen;
  seen.LearnAbsent({}, false, 2, kSeenAt);
  EXPECT_FALSE(seen.Learn(ImageAt(0), Source::kRead, 1, kSeenAt));
  EXPECT_TRUE(seen.is_absent());
  EXPECT_TRUE(seen.Learn(ImageAt(0), Source::kRead, 3, kSeenAt)) << "it was created";
  EXPECT_FALSE(seen.is_absent());
}

TEST(SeenBucketTest, IsContendedWhileOthersMoveRfAndTwoSecondsLonger) {
  SeenBucket seen;
  std::int64_t rf = 0;
  Instant now = kSeenAt;
  seen.Learn(ImageAt(rf), Source::kRead, 1, now);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(seen.IsContended(now));
    seen.Learn(ImageAt(++rf), Source::kRead, 2, now);
  }
  EXPECT_TRUE(seen.IsContended(now));
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) seen.Learn(ImageAt(rf), Source::kAdded, 3, now);
    now = now + milliseconds(1'500);
    seen.Learn(ImageAt(++rf), Source::kAdded, 4, now);
  }
  EXPECT_TRUE(seen.IsContended(now)) << "others move rf seldom, since it is contended";
  EXPECT_FALSE(seen.IsContended(now + SeenBucket::kContendedFor));
}

TEST(SeenBucketTest, AProcessThatIsAloneIsNotContended) {
  SeenBucket seen;
  for (int i = 0; i < 20; ++i) {
    seen.Learn(ImageAt(i), Source::kMoved, 1, kSeenAt + milliseconds(i));
  }
  EXPECT_FALSE(seen.IsContended(kSeenAt + milliseconds(20)));
}

TEST(SeenBucketTest, KnowsSinceWhenTheParametersAreAsTheyAre) {
  SeenBucket seen;
  seen.Learn(ImageAt(0), Source::kRead, 1, kSeenAt);
  seen.Learn(ImageAt(1), Source::kRead, 2, kSeenAt + milliseconds(5));
  EXPECT_EQ(seen.parameters_since(), kSeenAt);
  BucketImage other = ImageAt(2);
  other.stored = {PerSecond(20)};
  seen.Learn(std::move(other), Source::kRead, 3, kSeenAt + milliseconds(9));
  EXPECT_EQ(seen.parameters_since(), kSeenAt + milliseconds(9));
}

}  // namespace
}  // namespace weir::dynamo
