#include "weir/limiter/wait_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "weir/base/rng.h"

namespace weir {
namespace {

using Ids = std::vector<WaitQueue::Id>;

TargetPtr BucketOf(const std::string& entity) {
  return MakeTarget({.entity = entity, .resource = "r"}, {{"rpm", PerSecond(1)}});
}

Instant AtSecond(std::int64_t seconds) { return {seconds * 1'000'000'000}; }
constexpr Instant kForEver{INT64_MAX};

class WaitQueueTest : public ::testing::Test {
 protected:
  void Enter(WaitQueue::Id id, const TargetPtr& bucket, std::optional<Instant> retry_at,
             Instant until = kForEver) {
    queue_.AddWaiter({id, until, {bucket}}, bucket, retry_at);
  }
  Ids Tries(Instant now) { return queue_.Advance(now).tries; }

  const TargetPtr a_ = BucketOf("a");
  const TargetPtr b_ = BucketOf("b");
  WaitQueue queue_;
};

TEST_F(WaitQueueTest, AnEmptyQueueHasNothingToDo) {
  EXPECT_EQ(queue_.size(), 0U);
  EXPECT_FALSE(queue_.due());
  EXPECT_FALSE(queue_.NextWake());
  EXPECT_FALSE(queue_.HasEarlier(*a_, 99));
  EXPECT_EQ(Tries(AtSecond(1)), Ids{});
}

TEST_F(WaitQueueTest, TheHeadTriesAtItsInstantAndNotBefore) {
  Enter(1, a_, AtSecond(10));
  EXPECT_EQ(queue_.NextWake(), AtSecond(10));
  EXPECT_EQ(Tries(AtSecond(10) - nanoseconds(1)), Ids{});
  EXPECT_EQ(Tries(AtSecond(10)), Ids{1});
  EXPECT_EQ(Tries(AtSecond(11)), Ids{}) << "its try is under way";
}

TEST_F(WaitQueueTest, TheNextOneTriesAtOnceWhenTheHeadHasLeft) {
  Enter(1, a_, AtSecond(10));
  Enter(2, a_, std::nullopt);
  Enter(3, a_, std::nullopt);
  EXPECT_EQ(Tries(AtSecond(10)), Ids{1});
  queue_.RemoveWaiter(1);
  EXPECT_TRUE(queue_.due());
  EXPECT_EQ(Tries(AtSecond(10)), Ids{2});
  queue_.OnRefused(2, {a_}, a_, AtSecond(15));
  EXPECT_EQ(Tries(AtSecond(14)), Ids{}) << "3 is behind 2, which was refused until 15";
  EXPECT_EQ(Tries(AtSecond(15)), Ids{2});
}

TEST_F(WaitQueueTest, QueuesOfDifferentBucketsDoNotHoldEachOther) {
  Enter(1, a_, AtSecond(10));
  Enter(2, b_, AtSecond(5));
  EXPECT_EQ(Tries(AtSecond(5)), Ids{2});
  EXPECT_EQ(Tries(AtSecond(10)), Ids{1});
}

TEST_F(WaitQueueTest, TheSameBucketUnderNewLimitsIsTheSameQueue) {
  Enter(1, a_, AtSecond(10));
  EXPECT_TRUE(queue_.HasEarlier(*BucketOf("a"), 2));
  EXPECT_EQ(queue_.HeadRetry(*BucketOf("a")), AtSecond(10));
}

TEST_F(WaitQueueTest, ArrivalDecidesNotTheOrderOfRefusals) {
  Enter(2, a_, AtSecond(10));
  Enter(1, a_, AtSecond(12));  // arrived first, was refused later
  EXPECT_EQ(Tries(AtSecond(11)), Ids{}) << "2 is no longer the head";
  EXPECT_EQ(Tries(AtSecond(12)), Ids{1});
  queue_.RemoveWaiter(1);
  EXPECT_EQ(Tries(AtSecond(12)), Ids{2});
}

TEST_F(WaitQueueTest, OneThatIsRefusedElsewhereMovesThereByArrival) {
  queue_.AddWaiter({1, kForEver, {a_, b_}}, a_, AtSecond(10));
  Enter(2, a_, std::nullopt);
  Enter(3, b_, AtSecond(30));
  EXPECT_EQ(Tries(AtSecond(10)), Ids{1});
  queue_.OnRefused(1, {a_, b_}, b_, AtSecond(20));
  EXPECT_EQ(Tries(AtSecond(10)), Ids{2}) << "1 left the queue of a";
  EXPECT_EQ(Tries(AtSecond(20)), Ids{1}) << "1 is ahead of 3 on b";
}

TEST_F(WaitQueueTest, AHeadGoesBehindThoseWhoCameEarlierOnItsOtherBucket) {
  Enter(1, b_, AtSecond(50));
  queue_.AddWaiter({2, kForEver, {a_, b_}}, a_, AtSecond(10));
  Enter(3, a_, std::nullopt);
  EXPECT_EQ(Tries(AtSecond(10)), Ids{3}) << "2 waits behind 1 on b; nobody is before 3 on a";
  queue_.RemoveWaiter(3);
  EXPECT_EQ(Tries(AtSecond(50)), Ids{1});
  queue_.RemoveWaiter(1);
  EXPECT_EQ(Tries(AtSecond(50)), Ids{2});
}

TEST_F(WaitQueueTest, TokensThatComeBackWakeTheHeadOnly) {
  Enter(1, a_, AtSecond(10));
  Enter(2, a_, std::nullopt);
  Enter(3, b_, AtSecond(10));
  queue_.Wake(*a_);
  EXPECT_TRUE(queue_.due());
  EXPECT_EQ(Tries(AtSecond(1)), Ids{1});
  queue_.Wake(*a_);
  EXPECT_EQ(Tries(AtSecond(1)), Ids{}) << "its try is under way";
}

TEST_F(WaitQueueTest, WakeAllWakesTheHeadOfEveryQueue) {
  Enter(1, a_, AtSecond(10));
  Enter(2, a_, std::nullopt);
  Enter(3, b_, AtSecond(10));
  queue_.WakeAll();
  EXPECT_EQ(Tries(AtSecond(1)), (Ids{1, 3}));
}

TEST_F(WaitQueueTest, WhoseTimeIsOverLeavesWhereverItStands) {
  Enter(1, a_, AtSecond(10), AtSecond(7));
  Enter(2, a_, std::nullopt, AtSecond(5));
  Enter(3, a_, std::nullopt);
  EXPECT_EQ(queue_.NextWake(), AtSecond(5));
  EXPECT_EQ(queue_.Advance(AtSecond(5)).expired, Ids{2});
  const auto step = queue_.Advance(AtSecond(7));
  EXPECT_EQ(step.expired, Ids{1});
  EXPECT_EQ(step.tries, Ids{3}) << "it is the head now";
  EXPECT_EQ(queue_.size(), 1U);
}

TEST_F(WaitQueueTest, ATryIsDueBeforeAnEndAtTheSameInstant) {
  Enter(1, a_, AtSecond(10), AtSecond(10));
  const auto step = queue_.Advance(AtSecond(10));
  EXPECT_EQ(step.tries, Ids{1});
  EXPECT_EQ(step.expired, Ids{});
  EXPECT_EQ(queue_.Advance(AtSecond(20)).expired, Ids{}) << "the answer decides";
  queue_.OnRefused(1, {a_}, a_, AtSecond(30));
  EXPECT_EQ(queue_.Advance(AtSecond(20)).expired, Ids{1});
}

TEST_F(WaitQueueTest, OneWhoLeavesWhileItTriesMakesRoom) {
  Enter(1, a_, AtSecond(10));
  EXPECT_EQ(Tries(AtSecond(10)), Ids{1});
  queue_.RemoveWaiter(1);
  EXPECT_EQ(queue_.size(), 0U);
  EXPECT_FALSE(queue_.HasEarlier(*a_, 99));
  EXPECT_FALSE(queue_.NextWake());
}

// Compares the queue with a direct implementation of its rules.
class Oracle {
 public:
  explicit Oracle(std::uint64_t seed) : rng_(seed) {
    for (const char* name : {"a", "b", "c"}) buckets_.push_back(BucketOf(name));
  }

  void Run() {
    for (int i = 0; i < 120; ++i) {
      Act();
      Look();
    }
    Drain();
  }

 private:
  struct Waiter {
    std::vector<TargetPtr> buckets;
    TargetPtr at;
    std::optional<Instant> not_before;
    Instant until;
    bool trying = false;
  };

  const TargetPtr& AnyBucket() { return buckets_[rng_.Below(buckets_.size())]; }

  std::vector<TargetPtr> SomeBuckets() {
    std::vector<TargetPtr> some{AnyBucket()};
    const TargetPtr& other = AnyBucket();
    if (other != some.front()) some.push_back(other);
    return some;
  }

  Instant Soon() { return now_ + nanoseconds(rng_.Between(1, 20)); }

  void Act() {
    switch (rng_.Below(6)) {
      case 0:
      case 1:
        return Arrive();
      case 2:
      case 3:
        return RespondToOne();
      case 4:
        return GiveBack();
      default:
        now_ = now_ + nanoseconds(rng_.Between(1, 15));
    }
  }

  void Arrive() {
    // Sometimes a waiter's first try took long: it arrived before the present waiters.
    const WaitQueue::Id id = rng_.Chance(0.2) ? next_early_-- : next_late_++;
    Waiter waiter{.buckets = SomeBuckets(), .at = {}, .not_before = Soon(), .until = kForEver};
    waiter.at = waiter.buckets[rng_.Below(waiter.buckets.size())];
    if (rng_.Chance(0.5)) waiter.until = now_ + nanoseconds(rng_.Between(1, 40));
    queue_.AddWaiter({id, waiter.until, waiter.buckets}, waiter.at, waiter.not_before);
    Stand(id, waiter);
  }

  // The instant of a refusal applies to a head only. A head that is overtaken tries when it is the
  // head again.
  void Stand(WaitQueue::Id id, Waiter& waiter) {
    for (auto& [other_id, other] : waiting_) {
      if (other_id == id || other.at != waiter.at) continue;
      if (other_id < id) waiter.not_before.reset();
      if (other_id > id) other.not_before.reset();
    }
    waiting_[id] = waiter;
  }

  void RespondToOne() {
    Ids trying;
    for (const auto& [id, waiter] : waiting_) {
      if (waiter.trying) trying.push_back(id);
    }
    if (trying.empty()) return;
    const WaitQueue::Id id = trying[rng_.Below(trying.size())];
    if (rng_.Chance(0.5)) {
      queue_.RemoveWaiter(id);
      waiting_.erase(id);
      return;
    }
    Waiter waiter = waiting_[id];
    waiting_.erase(id);
    waiter.trying = false;
    waiter.at = waiter.buckets[rng_.Below(waiter.buckets.size())];
    waiter.not_before = Soon();
    queue_.OnRefused(id, waiter.buckets, waiter.at, *waiter.not_before);
    Stand(id, waiter);
  }

  void GiveBack() {
    const TargetPtr& bucket = AnyBucket();
    queue_.Wake(*bucket);
    for (auto& [id, waiter] : waiting_) {
      if (waiter.at == bucket) waiter.not_before.reset();
    }
  }

  bool EarlierWaitsAt(const TargetPtr& bucket, WaitQueue::Id id) const {
    return std::ranges::any_of(
        waiting_, [&](const auto& entry) { return entry.first < id && entry.second.at == bucket; });
  }

  // The queue does not report moves, so they are repeated here by its rule, in order of arrival,
  // until nothing changes.
  void FollowMoves() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [id, waiter] : waiting_) {
        const bool due = !waiter.trying && !(waiter.not_before && now_ < *waiter.not_before);
        if (!due || EarlierWaitsAt(waiter.at, id)) continue;
        for (const TargetPtr& bucket : waiter.buckets) {
          if (!EarlierWaitsAt(bucket, id)) continue;
          waiter.at = bucket;
          waiter.not_before.reset();
          moved = true;
          break;
        }
      }
    }
  }

  // Advances twice, because a driver advances until there is no more work: a waiter whose time is
  // over may have been ready, and may have moved behind an earlier waiter instead of trying.
  void Look() {
    Check(queue_.Advance(now_));
    Check(queue_.Advance(now_));
    for (const auto& [id, waiter] : waiting_) {
      ASSERT_TRUE(waiter.trying || now_ < waiter.until) << id << " should have expired";
    }
  }

  void Check(const WaitQueue::Step& step) {
    ASSERT_TRUE(std::ranges::is_sorted(step.tries));
    for (const WaitQueue::Id id : step.expired) {
      ASSERT_TRUE(waiting_.contains(id));
      ASSERT_FALSE(waiting_[id].trying);
      ASSERT_LE(waiting_[id].until, now_);
    }
    for (const WaitQueue::Id id : step.tries) {
      ASSERT_TRUE(waiting_.contains(id));
      ASSERT_FALSE(waiting_[id].trying);
      ASSERT_FALSE(waiting_[id].not_before && now_ < *waiting_[id].not_before) << "too early";
    }
    for (const WaitQueue::Id id : step.expired) waiting_.erase(id);
    FollowMoves();
    for (const WaitQueue::Id id : step.tries) {
      for (const TargetPtr& bucket : waiting_[id].buckets) {
        ASSERT_FALSE(EarlierWaitsAt(bucket, id)) << id << " was let past one who came earlier";
      }
      waiting_[id].trying = true;
      ++tries_;
    }
    ASSERT_EQ(queue_.size(), waiting_.size());
    for (const auto& [id, waiter] : waiting_) {
      const bool may_try = !(waiter.not_before && now_ < *waiter.not_before);
      ASSERT_FALSE(!waiter.trying && may_try && !EarlierWaitsAt(waiter.at, id))
          << id << " is the head and was not told to try";
    }
  }

  // If all tries get results and no waiter arrives, the queue becomes empty: no waiter is lost.
  void Drain() {
    for (int i = 0; i < 10'000 && !waiting_.empty(); ++i) {
      RespondToOne();
      const auto next = queue_.NextWake();
      const bool trying = std::ranges::any_of(waiting_, [](auto& e) { return e.second.trying; });
      ASSERT_TRUE(next || queue_.due() || trying || waiting_.empty()) << "stuck";
      if (!trying && next && *next > now_) now_ = *next;
      Look();
      if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_TRUE(waiting_.empty());
    EXPECT_GT(tries_, 0);
  }

  Rng rng_;
  std::vector<TargetPtr> buckets_;
  WaitQueue queue_;
  Instant now_{1'000'003};
  std::map<WaitQueue::Id, Waiter> waiting_;
  WaitQueue::Id next_late_ = 1'000'000;
  WaitQueue::Id next_early_ = 999'999;
  int tries_ = 0;
};

// Fails if: MoveBehindEarlier does nothing, or Insert leaves the overtaken head ready.
TEST(WaitQueueProperty, KeepsItsRules) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Oracle(seed).Run();
    if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace weir
