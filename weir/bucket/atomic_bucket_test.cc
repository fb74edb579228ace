#include "weir/bucket/atomic_bucket.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <latch>
#include <new>
#include <thread>
#include <vector>

#include "weir/bucket/testing/arbitrary.h"
#include "weir/bucket/testing/reference_bucket.h"

namespace weir {
namespace {

constexpr std::int64_t kYear = 365LL * 24 * 3600 * 1000 * kNanosPerMilli;

TEST(AtomicBucket, IsWrittenAsInTheDesign) {
  ManualTime time;
  const CachedClock clock = time.clock();
  AtomicBucket calls(PerSecond(1000).Burst(100), clock);
  EXPECT_TRUE(calls.TryTake(1));
  EXPECT_EQ(calls.Available(), 99);
  EXPECT_EQ(calls.capacity(), 100);
  EXPECT_EQ(calls.rate_error(), 0);
}

TEST(AtomicBucket, TakesAnyClockOfOurs) {
  const SystemClock system;
  AtomicBucket calls(PerSecond(1000), system);
  static_assert(std::is_same_v<decltype(calls), AtomicBucket<ClockView>>);
  EXPECT_TRUE(calls.TryTake());
}

TEST(AtomicBucket, FitsOneCacheLine) {
  static_assert(sizeof(AtomicBucket<CachedClock>) == 64);
  static_assert(alignof(AtomicBucket<SteadyClock>) == 64);
}

TEST(AtomicBucket, RefusesUntilTheInstantItNames) {
  ManualTime time;
  AtomicBucket calls(PerSecond(3), time.clock());
  EXPECT_TRUE(calls.TryTake(3));
  EXPECT_EQ(calls.RetryAfter(1), nanoseconds(333'333'334));
  time.Advance(333'333'333);
  EXPECT_FALSE(calls.TryTake(1));
  EXPECT_EQ(calls.RetryAfter(1), nanoseconds(1));
  time.Advance(1);
  EXPECT_TRUE(calls.TryTake(1));
}

TEST(AtomicBucket, LosesNoFractionOfANanosecondBetweenTakes) {
  for (const std::int64_t rate : {3, 7, 1'000'000'000}) {
    ManualTime time;
    AtomicBucket calls(PerSecond(rate).Burst(2), time.clock());
    EXPECT_TRUE(calls.TryTake(2));
    const std::int64_t start = time.nanos;
    for (int i = 0; i < 100; ++i) {
      time.Advance(calls.RetryAfter(1).count());
      EXPECT_TRUE(calls.TryTake(1));
    }
    EXPECT_EQ(time.nanos - start, (100'000'000'000 + rate - 1) / rate) << rate;
  }
}

TEST(AtomicBucket, MoreThanTheCapacityIsNeverAndZeroIsAlways) {
  ManualTime time;
  AtomicBucket calls(PerSecond(5), time.clock());
  EXPECT_FALSE(calls.TryTake(6));
  EXPECT_FALSE(calls.TryTake(INT64_MAX));
  EXPECT_FALSE(calls.TryTake(-1));
  EXPECT_EQ(calls.RetryAfter(6), kNever);
  EXPECT_EQ(calls.Available(), 5);
  EXPECT_TRUE(calls.TryTake(5));
  EXPECT_TRUE(calls.TryTake(0));
  EXPECT_EQ(calls.RetryAfter(0), nanoseconds(0));
  EXPECT_EQ(calls.RetryAfter(-1), nanoseconds(0));
}

TEST(AtomicBucket, GivesBackUpToTheCapacity) {
  ManualTime time;
  AtomicBucket calls(PerSecond(5), time.clock());
  EXPECT_TRUE(calls.TryTake(4));
  calls.Return(2);
  EXPECT_EQ(calls.Available(), 3);
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) calls.Return(n);
  EXPECT_EQ(calls.Available(), 3) << "more was used than was reserved";
  calls.Return(INT64_MAX);
  EXPECT_EQ(calls.Available(), 5);
  EXPECT_FALSE(calls.TryTake(6));
}

TEST(AtomicBucket, TakesWhatThereIsWithinBounds) {
  ManualTime time;
  AtomicBucket calls(PerSecond(10), time.clock());
  EXPECT_EQ(calls.TakeBetween(2, 6), 6);
  EXPECT_EQ(calls.TakeBetween(5, 9), 0);
  EXPECT_EQ(calls.TakeBetween(2, 9), 4);
  EXPECT_EQ(calls.TakeBetween(1, 1), 0);
  EXPECT_EQ(calls.TakeBetween(11, 12), 0);
}

TEST(AtomicBucket, TimeThatRunsBackwardsGivesNothing) {
  ManualTime time;
  AtomicBucket calls(PerSecond(10), time.clock());
  EXPECT_TRUE(calls.TryTake(10));
  time.Advance(-3600 * 1000 * kNanosPerMilli);
  EXPECT_FALSE(calls.TryTake(1));
  time.Advance(3600 * 1000 * kNanosPerMilli);
  EXPECT_FALSE(calls.TryTake(1));
  time.Advance(100 * kNanosPerMilli);
  EXPECT_TRUE(calls.TryTake(1));
  EXPECT_FALSE(calls.TryTake(1));
}

TEST(AtomicBucket, ABrokenClockGivesNoMoreThanTheCapacity) {
  ManualTime time;
  time.nanos = INT64_MIN;
  AtomicBucket calls(PerSecond(10), time.clock());
  EXPECT_TRUE(calls.TryTake(10));
  time.nanos = INT64_MIN + 1;
  EXPECT_FALSE(calls.TryTake(1));
  time.nanos = INT64_MAX;
  EXPECT_FALSE(calls.TryTake(1));
}

TEST(AtomicBucket, MakeTellsWhyAQuotaCannotBe) {
  ManualTime time;
  const auto made = AtomicBucket<CachedClock>::Make(PerSecond(0), time.clock());
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
  const auto good = AtomicBucket<CachedClock>::Make(PerSecond(2), time.clock());
  EXPECT_TRUE((*good)->TryTake(2));
}

// The page is read-only: a write, or a compare-and-swap even if it fails, would fault on it.
TEST(AtomicBucket, ARefusalOnlyReads) {
  const auto page_size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  ManualTime time;
  auto* calls = new (page) AtomicBucket<CachedClock>(PerHour(1), time.clock());
  EXPECT_TRUE(calls->TryTake(1));
  ASSERT_EQ(mprotect(page, page_size, PROT_READ), 0);
  EXPECT_FALSE(calls->TryTake(1));
  EXPECT_EQ(calls->TakeBetween(1, 5), 0);
  munmap(page, page_size);
}

// Threads take single tokens until none are left, and their number is returned. Sets `interleaved`
// if a thread saw takes of another thread between two of its own.
std::int64_t TakeAll(AtomicBucket<CachedClock>& calls, int threads, bool& interleaved) {
  std::atomic<std::int64_t> sum{0};
  std::atomic<bool> seen{false};
  std::latch start(threads);
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      start.arrive_and_wait();
      std::int64_t taken = 0;
      for (std::int64_t left = calls.Available(); calls.TryTake(1); ++taken) {
        const std::int64_t now_left = calls.Available();
        if (taken > 0 && now_left != left - 1) seen.store(true, std::memory_order_relaxed);
        left = now_left;
      }
      sum += taken;
    });
  }
  workers.clear();
  interleaved = seen;
  return sum;
}

TEST(AtomicBucket, ThreadsTakeExactlyTheCapacityBetweenThem) {
  bool interleaved = false;
  std::int64_t capacity = 50'000;
  for (int round = 0; round < 3 || (!interleaved && round < 200); ++round) {
    ManualTime time;
    AtomicBucket calls(PerSecond(capacity), time.clock());
    bool this_time = false;
    EXPECT_EQ(TakeAll(calls, 4, this_time), capacity);
    EXPECT_EQ(calls.Available(), 0);
    interleaved = interleaved || this_time;
    // On a busy machine, one thread may take all tokens before another one runs.
    if (!this_time) capacity = std::min<std::int64_t>(2 * capacity, 3'200'000);
  }
  EXPECT_TRUE(interleaved) << "the threads never met: nothing was tested";
}

// The same limit for the slow reference, with nanoseconds as the unit of the period.
ReferenceLimit ReferenceOf(const Quota& quota) {
  return {{quota.capacity, quota.amount, quota.period * kNanosPerMilli}, Fraction(quota.capacity)};
}

// Half of the quotas are slow; half are so fast that a token costs few units, and rounding matters.
Quota AnyInProcessQuota() {
  const std::int64_t capacity = kMillitokens + LogUniformUpTo(1'000'000'000);
  if (AnyBool()) return {capacity, LogUniformUpTo(1'000'000'000), LogUniformUpTo(kMaxPeriodMillis)};
  return {capacity, 1'000'000'000'000 + LogUniformUpTo(10'000'000'000'000), 1000};
}

std::int64_t AnyWait(const AtomicBucket<CachedClock>& calls) {
  const std::int64_t whole =
      std::min<std::int64_t>(calls.RetryAfter(calls.capacity()).count(), kYear);
  return AnyBool() ? LogUniformUpTo(1'000'000'000) : 1 + whole / 1000 * UniformBelow(1200);
}

// Fails if: TryTake or Return ignores the tokens in `word`, counts from now although the bucket is
// not full, or lets a return exceed the capacity.
RC_GTEST_PROP(AtomicBucketProperty, DecidesAsTheExactBucketWhereTheRateIsExact, ()) {
  Quota quota = AnyInProcessQuota();
  quota.capacity -= quota.capacity % kMillitokens;
  const auto gcra = Gcra::For(quota);
  RC_PRE(gcra.has_value());
  RC_PRE(gcra->rate_error == 0);
  ManualTime time;
  AtomicBucket calls(quota, time.clock());
  ReferenceLimit exact = ReferenceOf(quota);
  for (int i = 1 + UniformBelow(30); i > 0; --i) {
    const std::int64_t wait = AnyBool() ? 0 : AnyWait(calls);
    if (time.nanos + wait > 9 * kYear) break;
    time.Advance(wait);
    exact.Pass(wait);
    const std::int64_t n = 1 + calls.capacity() * UniformBelow(1000) / 1000;
    if (UniformBelow(4) == 0) {
      calls.Return(n);
      exact.Change(-n * kMillitokens);
    } else {
      const bool admits = exact.Admits(n * kMillitokens);
      RC_ASSERT(calls.TryTake(n) == admits);
      if (admits) exact.Change(n * kMillitokens);
    }
    RC_ASSERT(calls.Available() == exact.level.floor() / kMillitokens);
  }
}

// Fails if: costs are rounded down, or a clock that jumps back makes the bucket full.
RC_GTEST_PROP(AtomicBucketProperty, NeverOverCapacityPlusRateOnAnyInterval, ()) {
  const Quota quota = AnyInProcessQuota();
  RC_PRE(Gcra::For(quota).has_value());
  ManualTime time;
  AtomicBucket calls(quota, time.clock());
  struct Taken {
    std::int64_t at;
    std::int64_t tokens;
  };
  std::vector<Taken> taken;
  std::int64_t latest = time.nanos;
  for (int i = 1 + UniformBelow(30); i > 0; --i) {
    const std::int64_t wait = AnyWait(calls);
    time.Advance(UniformBelow(5) == 0 ? -LogUniformUpTo(1'000'000'000) : wait);
    latest = std::max<std::int64_t>(latest, time.nanos);
    const std::int64_t most = 1 + calls.capacity() * UniformBelow(1000) / 1000;
    taken.push_back({latest, calls.TakeBetween(1, most)});
    std::int64_t sum = 0;
    for (std::size_t first = taken.size(); first-- > 0;) {
      sum += taken[first].tokens;
      const Fraction back(WideInt{latest - taken[first].at} * quota.amount,
                          quota.period * kNanosPerMilli);
      RC_ASSERT(Fraction(WideInt{sum} * kMillitokens) <= Fraction(quota.capacity) + back);
    }
  }
}

// Fails if: RetryAfter is rounded down or 1 ns late.
RC_GTEST_PROP(AtomicBucketProperty, RefusedJustBeforeRetryAfterAndAdmittedAtIt, ()) {
  const Quota quota = AnyInProcessQuota();
  RC_PRE(Gcra::For(quota).has_value());
  ManualTime time;
  AtomicBucket calls(quota, time.clock());
  for (int i = 1 + UniformBelow(3); i > 0; --i) {
    (void)calls.TakeBetween(1, 1 + calls.capacity() * UniformBelow(1000) / 1000);
    time.Advance(AnyWait(calls));
  }
  (void)calls.TakeBetween(1, calls.capacity());
  const std::int64_t n = 1 + calls.capacity() * UniformBelow(1000) / 1000;
  const nanoseconds wait = calls.RetryAfter(n);
  RC_PRE(wait > nanoseconds(0) && wait < kNever);
  time.Advance(wait.count() - 1);
  RC_ASSERT(calls.RetryAfter(n) == nanoseconds(1));
  RC_ASSERT(!calls.TryTake(n));
  time.Advance(1);
  RC_ASSERT(calls.RetryAfter(n) == nanoseconds(0));
  RC_ASSERT(calls.TryTake(n));
}

}  // namespace
}  // namespace weir
