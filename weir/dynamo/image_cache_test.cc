// Which image of a bucket is kept where answers arrive out of order.
#include "weir/dynamo/image_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace weir::dynamo {
namespace {

const BucketKey kCachedKey{"acme", "gpt-4", 0};
constexpr Instant kSeen{1'000'000'000'000};

/// An image whose refill time is `millis` ms later than that of the first one.
BucketImage RefilledAt(std::int64_t millis) {
  return {.key = kCachedKey,
          .bucket = {.time = UnixMillis(1'767'225'600'000 + millis), .meters = {}}};
}

class ImageCacheTest : public testing::Test {
 protected:
  std::int64_t Refilled() {
    const auto image = cache_.Find(kCachedKey);
    return image ? (image->bucket.time - RefilledAt(0).bucket.time).count() : -1;
  }

  ImageCache cache_{100};
};

// Fails if: the next write is planned from a refill that is known to be over, and fails.
TEST_F(ImageCacheTest, AnAnswerThatComesLateIsPassedOver) {
  cache_.Put(RefilledAt(50), kSeen);
  cache_.Put(RefilledAt(20), kSeen + milliseconds(5));
  EXPECT_EQ(Refilled(), 50);
  cache_.Put(RefilledAt(51), kSeen + milliseconds(6));
  EXPECT_EQ(Refilled(), 51);
}

TEST_F(ImageCacheTest, AnItemThatWasSetBackReplacesItsImageAfterASecond) {
  cache_.Put(RefilledAt(50), kSeen);
  cache_.Put(RefilledAt(20), kSeen + milliseconds(999));
  EXPECT_EQ(Refilled(), 50);
  cache_.Put(RefilledAt(20), kSeen + milliseconds(1000));
  EXPECT_EQ(Refilled(), 20);
}

TEST_F(ImageCacheTest, KeepsAboutAsManyAsItIsTold) {
  std::vector<BucketKey> keys;
  for (int i = 0; i < 10'000; ++i) {
    BucketImage image = RefilledAt(0);
    image.key.entity = std::to_string(i);
    keys.push_back(image.key);
    cache_.Put(std::move(image), kSeen);
  }
  const auto kept = std::ranges::count_if(
      keys, [&](const BucketKey& key) { return cache_.Find(key).has_value(); });
  EXPECT_GE(kept, 64);
  EXPECT_LE(kept, 200);
}

TEST_F(ImageCacheTest, WhatIsForgottenIsNotFound) {
  cache_.Put(RefilledAt(0), kSeen);
  cache_.Forget(kCachedKey);
  EXPECT_EQ(Refilled(), -1);
  cache_.Put(RefilledAt(0), kSeen);
  cache_.ForgetEntity("other");
  EXPECT_EQ(Refilled(), 0);
  cache_.ForgetEntity("acme");
  EXPECT_EQ(Refilled(), -1);
}

}  // namespace
}  // namespace weir::dynamo
