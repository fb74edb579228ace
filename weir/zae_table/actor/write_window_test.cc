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
struct AwaitingBucket {
  std::optional<AwaitedWrite> now{};
};

// Returns the write of a bucket as it is now.
AwaitedWrite Recount(const AwaitingBucket& bucket) {
  return bucket.now.value_or(AwaitedWrite{.parts = 99});
}

class WindowQueueTest : public testing::Test {
 protected:
  void Put(std::size_t bucket, AwaitedWrite write) { queue_.Put(buckets_[bucket], write); }
  /// Takes a bucket, which sends a write unless its turn is left to the next.
  std::ptrdiff_t Next(bool sends = true) {
    AwaitingBucket* const next = queue_.TakeNext(Recount, recounts_left_);
    if (sends) queue_.EndTurn();
    return next - buckets_.data();
  }

  std::array<AwaitingBucket, 8> buckets_{};
  WindowQueue<AwaitingBucket> queue_;
  int recounts_left_ = 100;
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

// Fails if: a bucket that was counted again loses its turn for a correction, or its place.
TEST_F(WindowQueueTest, ABucketThatWasCountedAgainStaysOwed) {
  Put(0, {.parts = 1});
  Put(1, {.parts = 3, .is_owed = true});
  Put(2, {.parts = 2});
  Put(3, {.parts = 2});
  Put(4, {.parts = 1, .is_owed = true});
  EXPECT_EQ(Next(), 0) << "the oldest";
  EXPECT_EQ(Next(), 1) << "the oldest of the owed";
  Put(1, {.parts = 3, .is_owed = true});
  buckets_[1].now = AwaitedWrite{.parts = 0, .is_owed = true};
  EXPECT_EQ(Next(), 2);
  EXPECT_EQ(Next(), 4);
  EXPECT_EQ(Next(), 3) << "the oldest";
  EXPECT_EQ(Next(), 1);
}

TEST_F(WindowQueueTest, TheNumberOfRecountsIsBounded) {
  for (std::size_t i = 0; i < 4; ++i) Put(i, {.parts = 4 - static_cast<std::int64_t>(i)});
  EXPECT_EQ(Next(), 0) << "the oldest";
  for (AwaitingBucket& bucket : buckets_) bucket.now = AwaitedWrite{.parts = 0};
  recounts_left_ = 2;
  EXPECT_EQ(Next(), 3) << "two were counted again";
  EXPECT_EQ(recounts_left_, 0);
}

// Fails if: buckets whose callers have left use up the turns of corrections or of the oldest.
TEST_F(WindowQueueTest, ATurnEndsWithAWrite) {
  for (std::size_t i = 0; i < 4; ++i) Put(i, {.parts = 1});
  Put(4, {.parts = 5});
  EXPECT_EQ(Next(/*sends=*/false), 0);
  EXPECT_EQ(Next(/*sends=*/false), 1);
  EXPECT_EQ(Next(), 2) << "still the turn of the oldest";
  EXPECT_EQ(Next(), 4);
}

// Every bucket that was put, and not taken or removed since, is in the queue once.
RC_GTEST_PROP(WindowQueueProperty, HoldsEachBucketOnce, ()) {
  WindowQueue<AwaitingBucket> queue;
  std::array<AwaitingBucket, 6> buckets{};
  std::vector<AwaitingBucket*> held;
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    AwaitingBucket& bucket = buckets[*rc::gen::inRange<std::size_t>(0, buckets.size())];
    const int kind = *rc::gen::inRange(0, 4);
    if (kind < 2) {
      std::erase(held, &bucket);
      held.push_back(&bucket);
      queue.Put(bucket, {*rc::gen::inRange<std::int64_t>(0, 3), *rc::gen::arbitrary<bool>()});
    } else if (kind == 2) {
      std::erase(held, &bucket);
      queue.Remove(bucket);
    } else {
      int recounts_left = *rc::gen::inRange(0, 4);
      AwaitingBucket* const taken = queue.TakeNext(
          [](const AwaitingBucket&) { return AwaitedWrite{*rc::gen::inRange(0, 3)}; },
          recounts_left);
      if (*rc::gen::arbitrary<bool>()) queue.EndTurn();
      RC_ASSERT((taken == nullptr) == held.empty());
      if (taken != nullptr) RC_ASSERT(std::erase(held, taken) == 1U);
    }
    RC_ASSERT(queue.is_empty() == held.empty());
  }
}

}  // namespace
}  // namespace weir::dynamo
