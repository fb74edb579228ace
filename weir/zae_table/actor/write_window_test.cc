#include "weir/zae_table/actor/write_window.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <optional>
#include <vector>

namespace weir::dynamo {
namespace {

TEST(WriteWindowTest, IsFullWithAsManyWritesAsConnections) {
  WriteWindow window;
  for (std::size_t i = 0; i < WriteWindow::kMost; ++i) {
    ASSERT_TRUE(window.is_open());
    window.OnSent();
  }
  EXPECT_FALSE(window.is_open());
  window.OnEnded();
  EXPECT_TRUE(window.is_open());
  window.Reserve(true);
  EXPECT_TRUE(window.has_room());
  EXPECT_FALSE(window.is_open());
}

/// Its write as it is now; nothing: as it was put.
struct Bucket {
  std::optional<AwaitedWrite> now{};
};

// Returns the write of a bucket as it is now.
AwaitedWrite Recount(const Bucket& bucket) {
  return bucket.now.value_or(AwaitedWrite{.parts = 99});
}

class WindowQueueTest : public testing::Test {
 protected:
  void Put(std::size_t bucket, AwaitedWrite write) { queue_.Put(buckets_[bucket], write); }
  std::ptrdiff_t Next() { return queue_.TakeNext(Recount) - buckets_.data(); }

  std::array<Bucket, 8> buckets_{};
  WindowQueue<Bucket> queue_;
};

TEST_F(WindowQueueTest, TheMostPartsAreNextAndEveryFourthTheOldest) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) Put(i, {.parts = 1});
  Put(4, {.parts = 2});
  Put(3, {.parts = 5});
  Put(2, {.parts = 7});
  EXPECT_EQ(Next(), 0) << "the oldest";
  EXPECT_EQ(Next(), 2);
  EXPECT_EQ(Next(), 3);
  EXPECT_EQ(Next(), 4);
  Put(7, {.parts = 9});
  EXPECT_EQ(Next(), 1);
  EXPECT_EQ(Next(), 7);
  EXPECT_EQ(Next(), 5) << "of equal ones the oldest";
  EXPECT_EQ(Next(), 6);
}

TEST_F(WindowQueueTest, ABucketKeepsItsPlaceWhenPartsArrive) {
  Put(0, {.parts = 1});
  Put(1, {.parts = 1});
  Put(0, {.parts = 1});
  EXPECT_EQ(Next(), 0);
}

TEST_F(WindowQueueTest, WhatIsOwedGetsHalfOfTheTurnsTheOldestFirst) {
  for (std::size_t i = 0; i < 5; ++i) Put(i, {.parts = 9});
  Put(5, {.parts = 1, .is_owed = true});
  Put(6, {.parts = 1});
  Put(7, {.parts = 1, .is_owed = true});
  Next();
  EXPECT_EQ(Next(), 5);
  Next();
  EXPECT_EQ(Next(), 7);
}

// Fails if: a bucket is next for parts whose callers have no time left.
TEST_F(WindowQueueTest, PartsThatRanOutOfTimeDoNotCount) {
  Put(0, {.parts = 1});
  Put(1, {.parts = 3});
  Put(2, {.parts = 2});
  Put(3, {.parts = 1});
  EXPECT_EQ(Next(), 0) << "the oldest";
  buckets_[1].now = AwaitedWrite{.parts = 1};
  EXPECT_EQ(Next(), 2);
  EXPECT_EQ(Next(), 1) << "it keeps its place among equal ones";
  EXPECT_EQ(Next(), 3);
}

// Every bucket that was put, and not taken or removed since, is in the queue once.
RC_GTEST_PROP(WindowQueueProperty, HoldsEachBucketOnce, ()) {
  WindowQueue<Bucket> queue;
  std::array<Bucket, 6> buckets{};
  std::vector<Bucket*> held;
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    Bucket& bucket = buckets[*rc::gen::inRange<std::size_t>(0, buckets.size())];
    const int kind = *rc::gen::inRange(0, 4);
    if (kind < 2) {
      std::erase(held, &bucket);
      held.push_back(&bucket);
      queue.Put(bucket, {*rc::gen::inRange<std::int64_t>(0, 3), *rc::gen::arbitrary<bool>()});
    } else if (kind == 2) {
      std::erase(held, &bucket);
      queue.Remove(bucket);
    } else {
      Bucket* const taken =
          queue.TakeNext([](const Bucket&) { return AwaitedWrite{*rc::gen::inRange(0, 3)}; });
      RC_ASSERT((taken == nullptr) == held.empty());
      if (taken != nullptr) RC_ASSERT(std::erase(held, taken) == 1U);
    }
    RC_ASSERT(queue.is_empty() == held.empty());
  }
}

}  // namespace
}  // namespace weir::dynamo
