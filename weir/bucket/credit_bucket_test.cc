#include "weir/bucket/credit_bucket.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <latch>
#include <thread>
#include <vector>

#include "weir/bucket/testing/arbitrary.h"
#include "weir/bucket/testing/reference_bucket.h"

namespace weir {
namespace {

TEST(CreditPlan, SetsAsideAtMostAQuarterOfTheCapacity) {
  const CreditPlan plan = CreditPlan::For(PerSecond(1000), 3).value();
  EXPECT_EQ(plan.block, 83);
  EXPECT_EQ(plan.kernel.capacity, 1000 - 3 * 83);
  EXPECT_EQ(plan.kernel.cost, 1'000'000);
  EXPECT_EQ(plan.credit_life_nanos, 1000 * kNanosPerMilli);
}

TEST(CreditPlan, UsesNoBlocksWhereTheyWouldBeTiny) {
  EXPECT_EQ(CreditPlan::For(PerSecond(32), 2).value().block, 4);
  const CreditPlan plan = CreditPlan::For(PerSecond(31), 2).value();
  EXPECT_EQ(plan.block, 0);
  EXPECT_EQ(plan.kernel.capacity, 31);
}

TEST(CreditPlan, RefusesNoThreadsAndBadQuotas) {
  EXPECT_EQ(CreditPlan::For(PerSecond(10), 0).error().message,
            "threads is 0, at least 1 is needed");
  EXPECT_EQ(CreditPlan::For(PerSecond(0), 1).error().code, Code::kInvalidArgument);
  ManualTime time;
  EXPECT_FALSE(CreditBucket<CachedClock>::Make(PerSecond(10), -1, time.clock()).has_value());
}

TEST(CreditPlanDeathTest, RequireEndsTheProgramWithTheReason) {
  EXPECT_DEATH((void)CreditPlan::Require(PerSecond(10), 0), "threads is 0");
}

TEST(CreditBucket, SpendsABlockWithoutTheKernel) {
  ManualTime time;
  CreditBucket calls(PerSecond(1000), 2, time.clock());
  EXPECT_EQ(calls.block(), 125);
  EXPECT_EQ(calls.largest_take(), 750);
  auto handle = calls.NewHandle();
  EXPECT_TRUE(handle.TryTake(1));
  EXPECT_EQ(calls.Available(), 750 - 126);
  for (int i = 0; i < 125; ++i) EXPECT_TRUE(handle.TryTake(1));
  EXPECT_EQ(calls.Available(), 750 - 126);
  EXPECT_TRUE(handle.TryTake(1));
  EXPECT_EQ(calls.Available(), 750 - 252);
}

TEST(CreditBucket, AHandleGivesBackWhatItDidNotSpend) {
  ManualTime time;
  CreditBucket calls(PerSecond(1000), 2, time.clock());
  {
    auto handle = calls.NewHandle();
    EXPECT_TRUE(handle.TryTake(10));
    const auto moved = std::move(handle);
  }
  EXPECT_EQ(calls.Available(), 740);
}

TEST(CreditBucket, ABlockGoesBackAfterOneRefillPeriod) {
  ManualTime time;
  CreditBucket calls(PerSecond(1000), 2, time.clock());
  auto idle = calls.NewHandle();
  EXPECT_TRUE(idle.TryTake(1));
  auto other = calls.NewHandle();
  EXPECT_TRUE(other.TryTake(624));
  EXPECT_EQ(calls.Available(), 0);
  time.Advance(1000 * kNanosPerMilli);
  EXPECT_EQ(calls.Available(), 750);
  EXPECT_TRUE(other.TryTake(750));
  EXPECT_TRUE(idle.TryTake(1)) << "the block came back, and one of it is taken";
  EXPECT_EQ(calls.Available(), 0);
  EXPECT_TRUE(idle.TryTake(124));
  EXPECT_FALSE(idle.TryTake(1));
}

TEST(CreditBucket, MoreHandlesThanThreadsGoToTheKernel) {
  ManualTime time;
  CreditBucket calls(PerSecond(1000), 1, time.clock());
  auto first = calls.NewHandle();
  {
    auto second = calls.NewHandle();
    EXPECT_TRUE(second.TryTake(1));
    EXPECT_EQ(calls.Available(), 749);
  }
  EXPECT_TRUE(first.TryTake(1));
  EXPECT_EQ(calls.Available(), 749 - 251);
}

TEST(CreditBucket, ALeavingHandleMakesRoomForAnother) {
  ManualTime time;
  CreditBucket calls(PerSecond(1000), 1, time.clock());
  {
    auto first = calls.NewHandle();
  }
  auto second = calls.NewHandle();
  EXPECT_TRUE(second.TryTake(1));
  EXPECT_EQ(calls.Available(), 750 - 251);
}

TEST(CreditBucket, MoreThanTheLargestTakeIsNeverAndZeroIsAlways) {
  ManualTime time;
  CreditBucket calls(PerSecond(1000), 1, time.clock());
  auto handle = calls.NewHandle();
  EXPECT_TRUE(handle.TryTake(1));
  EXPECT_FALSE(handle.TryTake(751));
  EXPECT_EQ(handle.RetryAfter(751), kNever);
  EXPECT_FALSE(handle.TryTake(-1));
  EXPECT_TRUE(handle.TryTake(0));
  EXPECT_EQ(handle.RetryAfter(0), nanoseconds(0));
  EXPECT_TRUE(handle.TryTake(749));
  handle.Return(5);
  EXPECT_EQ(calls.Available(), 5);
}

// Threads take single tokens until none are left, and their number is returned. Sets `interleaved`
// if a thread saw the kernel change between two takes from its own block.
std::int64_t TakeAll(CreditBucket<CachedClock>& calls, int threads, bool& interleaved) {
  std::atomic<std::int64_t> sum{0};
  std::atomic<bool> seen{false};
  std::latch start(threads);
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      auto handle = calls.NewHandle();
      start.arrive_and_wait();
      std::int64_t taken = 0;
      std::int64_t blocks_seen = 0;
      for (std::int64_t left = calls.Available(); handle.TryTake(1); ++taken) {
        const std::int64_t now_left = calls.Available();
        if (now_left < left) blocks_seen += (left - now_left) / (calls.block() + 1);
        left = now_left;
      }
      if (blocks_seen > taken / (calls.block() + 1) + 1 && taken > 0) seen = true;
      sum += taken;
    });
  }
  workers.clear();
  interleaved = seen;
  return sum;
}

TEST(CreditBucket, ThreadsTakeWhatTheKernelHasAndNoMore) {
  bool interleaved = false;
  for (int round = 0; round < 3 || (!interleaved && round < 500); ++round) {
    ManualTime time;
    CreditBucket calls(PerSecond(100'000).Burst(40'000), 40, time.clock());
    bool this_time = false;
    EXPECT_EQ(TakeAll(calls, 4, this_time), calls.largest_take());
    EXPECT_EQ(calls.Available(), 0);
    interleaved = interleaved || this_time;
  }
  EXPECT_TRUE(interleaved) << "the threads never met: nothing was tested";
}

struct Taken {
  std::int64_t at;
  std::int64_t tokens;
};

void AssertLastWithinBound(const std::vector<Taken>& taken, const Quota& quota) {
  std::int64_t sum = 0;
  for (std::size_t first = taken.size(); first-- > 0;) {
    sum += taken[first].tokens;
    const WideInt length = taken.back().at - taken[first].at;
    RC_ASSERT(Fraction(WideInt{sum} * kMillitokens) <=
              Fraction(quota.capacity) +
                  Fraction(length * quota.amount, quota.period * kNanosPerMilli));
  }
}

// Fails if: the kernel has the whole capacity, a handle may hold more than its block, or handles
// beyond `threads` get blocks.
RC_GTEST_PROP(CreditBucketProperty, NeverOverCapacityPlusRateOnAnyInterval, ()) {
  const std::int64_t capacity = kMillitokens * (1 + LogUniformUpTo(10'000));
  const Quota quota{capacity, AnyBool() ? capacity : LogUniformUpTo(10'000'000),
                    LogUniformUpTo(86'400'000)};
  RC_PRE(Gcra::For(quota).has_value());
  ManualTime time;
  CreditBucket calls(quota, 1 + UniformBelow(3), time.clock());
  std::deque<CreditBucket<CachedClock>::Handle> handles;
  std::vector<Taken> taken;
  for (int i = 1 + UniformBelow(60); i > 0; --i) {
    if (handles.empty() || UniformBelow(4) == 0) handles.push_back(calls.NewHandle());
    if (handles.size() > 1 && UniformBelow(16) == 0) handles.pop_front();
    if (UniformBelow(4) == 0) time.Advance(quota.period * kNanosPerMilli / 100 * UniformBelow(120));
    auto& handle =
        handles[static_cast<std::size_t>(UniformBelow(static_cast<int>(handles.size())))];
    const std::int64_t any = 1 + calls.largest_take() * UniformBelow(1000) / 1000;
    const std::int64_t amounts[] = {1, calls.block(), any, calls.largest_take()};
    const std::int64_t n = amounts[UniformBelow(4)];
    taken.push_back({time.nanos, handle.TryTake(n) ? n : 0});
    AssertLastWithinBound(taken, quota);
  }
}

// Fails if: RetryAfter ignores the tokens of the handle, or an expired block is lost.
RC_GTEST_PROP(CreditBucketProperty, RefusedJustBeforeRetryAfterAndAdmittedAtIt, ()) {
  const Quota quota{kMillitokens + LogUniformUpTo(10'000'000), LogUniformUpTo(10'000'000),
                    LogUniformUpTo(86'400'000)};
  RC_PRE(Gcra::For(quota).has_value());
  ManualTime time;
  CreditBucket calls(quota, 2, time.clock());
  auto first = calls.NewHandle();
  auto second = calls.NewHandle();
  const auto any = [&] { return 1 + calls.largest_take() * UniformBelow(1000) / 1000; };
  for (int i = 1 + UniformBelow(10); i > 0; --i) {
    (void)(AnyBool() ? first : second).TryTake(AnyBool() ? 1 : any());
    if (UniformBelow(3) == 0) time.Advance(LogUniformUpTo(2 * quota.period * kNanosPerMilli));
  }
  const std::int64_t n = any();
  const nanoseconds wait = first.RetryAfter(n);
  RC_PRE(wait > nanoseconds(0) && wait < kNever);
  time.Advance(wait.count() - 1);
  RC_ASSERT(first.RetryAfter(n) == nanoseconds(1));
  RC_ASSERT(!first.TryTake(n));
  time.Advance(1);
  RC_ASSERT(first.TryTake(n));
}

}  // namespace
}  // namespace weir
