#include "weir/rate_limiter_py/tokens/token_images.h"

#include <gtest/gtest.h>

#include "weir/rate_limiter_py/testing/token_fixture.h"

namespace weir::rate_limiter_py {
namespace {

TokenImage Image(std::int64_t tokens, std::int64_t last_refill, std::int64_t limit = 10) {
  return {.tokens = tokens, .last_refill = last_refill, .limit = limit};
}

TEST(TokenImages, AnAnswerThatComesLateIsPassedOver) {
  TokenImages images(10);
  images.Put(kKey, Image(5, 1000), false);
  images.Put(kKey, Image(9, 999), false);
  images.Put(kKey, Image(6, 1000), false);
  EXPECT_EQ(images.Find(kKey), Image(5, 1000));
  images.Put(kKey, Image(4, 1000), false);
  EXPECT_EQ(images.Find(kKey), Image(4, 1000));
  images.Put(kKey, Image(9, 1001), false);
  EXPECT_EQ(images.Find(kKey), Image(9, 1001));
  images.Put(kKey, Image(19, 1001, 20), false);
  EXPECT_EQ(images.Find(kKey), Image(19, 1001, 20))
      << "under another limit more is not a sign of age";
}

TEST(TokenImages, WhatIsSurelyTheNewestStays) {
  TokenImages images(10);
  images.Put(kKey, Image(5, 1000), false);
  images.Put(kKey, Image(9, 999), true);
  EXPECT_EQ(images.Find(kKey), Image(9, 999));
  images.Forget(kKey);
  images.Forget(kKey);
  EXPECT_EQ(images.Find(kKey), std::nullopt);
}

TEST(TokenImages, TheOneNotAskedForLongestGoesFirst) {
  TokenImages images(2);
  images.Put({"emr", "a"}, Image(1, 1), false);
  images.Put({"emr", "b"}, Image(2, 1), false);
  EXPECT_TRUE(images.Find({"emr", "a"}));
  images.Put({"emr", "c"}, Image(3, 1), false);
  EXPECT_FALSE(images.Find({"emr", "b"}));
  EXPECT_TRUE(images.Find({"emr", "a"}));
  EXPECT_TRUE(images.Find({"emr", "c"}));
}

}  // namespace
}  // namespace weir::rate_limiter_py
