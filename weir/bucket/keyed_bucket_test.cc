#include "weir/bucket/keyed_bucket.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <latch>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "weir/bucket/testing/arbitrary.h"

namespace weir {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

using Keyed = KeyedBucket<std::uint64_t, CachedClock>;

TEST(KeyedBucket, EachKeyHasItsOwnTokens) {
  ManualTime time;
  Keyed calls(PerSecond(2), time.clock());
  EXPECT_TRUE(calls.TryTake(0, 2));
  EXPECT_FALSE(calls.TryTake(0));
  EXPECT_TRUE(calls.TryTake(UINT64_MAX));
  EXPECT_EQ(calls.Available(0), 0);
  EXPECT_EQ(calls.Available(UINT64_MAX), 1);
  EXPECT_EQ(calls.Available(17), 2);
  EXPECT_EQ(calls.Stats().keys, 2);
}

TEST(KeyedBucket, StringsAreLookedUpByViews) {
  ManualTime time;
  KeyedBucket<std::string, CachedClock> calls(PerSecond(1), time.clock());
  const std::string text = "10.0.0.1 GET";
  EXPECT_TRUE(calls.TryTake(std::string_view(text).substr(0, 8)));
  EXPECT_FALSE(calls.TryTake("10.0.0.1"));
  EXPECT_TRUE(calls.TryTake(text));
  EXPECT_TRUE(calls.TryTake(""));
  EXPECT_FALSE(calls.TryTake(std::string()));
}

TEST(KeyedBucket, MoreThanTheCapacityIsNeverAndZeroIsAlways) {
  ManualTime time;
  Keyed calls(PerSecond(2), time.clock());
  EXPECT_FALSE(calls.TryTake(1, 3));
  EXPECT_FALSE(calls.TryTake(1, -1));
  EXPECT_EQ(calls.RetryAfter(1, 3), kNever);
  EXPECT_TRUE(calls.TryTake(1, 2));
  EXPECT_TRUE(calls.TryTake(1, 0));
  EXPECT_EQ(calls.RetryAfter(1, 0), nanoseconds(0));
}

TEST(KeyedBucket, RefusesUntilTheInstantItNames) {
  ManualTime time;
  Keyed calls(PerSecond(3), time.clock());
  EXPECT_EQ(calls.RetryAfter(8, 3), nanoseconds(0));
  EXPECT_TRUE(calls.TryTake(8, 3));
  EXPECT_EQ(calls.RetryAfter(8), nanoseconds(333'333'334));
  time.Advance(333'333'333);
  EXPECT_FALSE(calls.TryTake(8));
  time.Advance(1);
  EXPECT_TRUE(calls.TryTake(8));
  EXPECT_EQ(calls.rate_error(), 0);
}

TEST(KeyedBucket, GivesBackUpToTheCapacity) {
  ManualTime time;
  Keyed calls(PerSecond(5), time.clock());
  calls.Return(1, 4);
  EXPECT_EQ(calls.Available(1), 5);
  EXPECT_TRUE(calls.TryTake(1, 5));
  calls.Return(1, 2);
  EXPECT_EQ(calls.Available(1), 2);
  calls.Return(1, 100);
  EXPECT_EQ(calls.Available(1), 5);
  EXPECT_TRUE(calls.TryTake(1, 5));
  EXPECT_FALSE(calls.TryTake(1, 1));
}

TEST(KeyedBucket, AReturnBeforeTimeBeganDoesNotHideOtherKeys) {
  ManualTime time;
  Keyed calls(PerSecond(5), time.clock());
  time.Advance(-kSecond);
  for (std::uint64_t key = 0; key < 3000; ++key) EXPECT_TRUE(calls.TryTake(key, 5));
  for (std::uint64_t key = 0; key < 3000; key += 2) calls.Return(key, 5);
  for (std::uint64_t key = 1; key < 3000; key += 2) EXPECT_FALSE(calls.TryTake(key)) << key;
}

TEST(KeyedBucket, KeepsEveryKeyWhileItGrows) {
  ManualTime time;
  Keyed calls(PerSecond(2), time.clock());
  for (std::uint64_t key = 0; key < 100'000; ++key) EXPECT_TRUE(calls.TryTake(key << 20, 2));
  for (std::uint64_t key = 0; key < 100'000; ++key) EXPECT_FALSE(calls.TryTake(key << 20));
  EXPECT_EQ(calls.Stats().keys, 100'000);
}

TEST(KeyedBucket, MemoryFollowsTheKeysInUseNotAllThatEverWere) {
  ManualTime time;
  Keyed calls(PerSecond(1), time.clock());
  for (std::uint64_t key = 0; key < 300'000; ++key) {
    EXPECT_TRUE(calls.TryTake(key));
    time.Advance(kSecond / 1000);
  }
  EXPECT_LT(calls.Stats().keys, 10'000);
  EXPECT_LT(calls.Stats().bytes, 300'000);
}

TEST(KeyedBucket, SweepForgetsWhatIsFullAndOnlyThat) {
  ManualTime time;
  Keyed calls(PerSecond(1), time.clock());
  for (std::uint64_t key = 0; key < 20'000; ++key) EXPECT_TRUE(calls.TryTake(key));
  const std::size_t bytes = calls.Stats().bytes;
  EXPECT_EQ(calls.Sweep(), 0);
  time.Advance(kSecond - 1);
  for (std::uint64_t key = 20'000; key < 20'010; ++key) EXPECT_TRUE(calls.TryTake(key));
  time.Advance(1);
  EXPECT_EQ(calls.Sweep(), 20'000);
  EXPECT_EQ(calls.Stats().keys, 10);
  EXPECT_LT(calls.Stats().bytes, bytes / 10);
  EXPECT_FALSE(calls.TryTake(20'009));
  EXPECT_TRUE(calls.TryTake(19'999));
}

TEST(KeyedBucket, WithoutRoomANewKeyIsRefusedAndCounted) {
  ManualTime time;
  Keyed calls(PerSecond(1), time.clock(), {.max_keys = 1024});
  int admitted = 0;
  for (std::uint64_t key = 0; key < 10'000; ++key) admitted += calls.TryTake(key) ? 1 : 0;
  EXPECT_GT(admitted, 900);
  EXPECT_LE(admitted, 1024);
  EXPECT_EQ(calls.Stats().keys, static_cast<std::size_t>(admitted));
  EXPECT_EQ(calls.Stats().no_room, static_cast<std::uint64_t>(10'000 - admitted));
  time.Advance(kSecond);
  EXPECT_TRUE(calls.TryTake(10'001));
}

TEST(KeyedBucket, TimeThatRunsBackwardsGivesNothing) {
  ManualTime time;
  Keyed calls(PerSecond(10), time.clock());
  EXPECT_TRUE(calls.TryTake(1, 10));
  time.Advance(kSecond);
  EXPECT_EQ(calls.Sweep(), 1);
  time.Advance(-kSecond);
  EXPECT_TRUE(calls.TryTake(1, 10)) << "it was full when it was forgotten";
  EXPECT_FALSE(calls.TryTake(1));
  time.Advance(kSecond);
  EXPECT_FALSE(calls.TryTake(1));
  time.Advance(kSecond / 10);
  EXPECT_TRUE(calls.TryTake(1));
}

TEST(KeyedBucket, MakeTellsWhyAQuotaCannotBe) {
  ManualTime time;
  EXPECT_EQ(Keyed::Make(PerSecond(0), time.clock()).error().code, Code::kInvalidArgument);
  EXPECT_TRUE((*Keyed::Make(PerSecond(1), time.clock()))->TryTake(1));
}

// Returns keys that all belong to stripe 0, so that they fill its table.
std::vector<std::uint64_t> Crowd(std::uint64_t seed, std::size_t count) {
  const HashSecret secret = HashSecret::From(seed);
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 0; keys.size() < count; ++key) {
    if (KeyHash<std::uint64_t>()(key, secret) >> 56 == 0) keys.push_back(key);
  }
  return keys;
}

// Fails if: a key that is not full is forgotten, at growth, in a sweep or for another key, or the
// word of one key is used for another.
RC_GTEST_PROP(KeyedBucketProperty, EveryKeyDecidesAsIfItWereAlone, ()) {
  const Quota quota = PerSecond(1 + UniformBelow(50)).Burst(1 + UniformBelow(20));
  const Gcra gcra = Gcra::Require(quota);
  ManualTime time;
  const std::int64_t origin = time.nanos;
  const auto seed = static_cast<std::uint64_t>(UniformBelow(1000));
  Keyed calls(quota, time.clock(), {.hash_seed = seed});
  std::map<std::uint64_t, std::uint64_t> alone;
  const std::vector<std::uint64_t> keys =
      Crowd(seed, static_cast<std::size_t>(1 + UniformBelow(60)));
  for (int i = 1 + UniformBelow(300); i > 0; --i) {
    const std::uint64_t key =
        keys[static_cast<std::size_t>(UniformBelow(static_cast<int>(keys.size())))];
    const std::int64_t n = 1 + UniformBelow(static_cast<int>(gcra.capacity));
    const std::uint64_t now = gcra.At(time.nanos - origin);
    RC_ASSERT(calls.RetryAfter(key, n) == gcra.RetryAfter(alone[key], time.nanos - origin, n));
    if (UniformBelow(10) == 0) {
      calls.Return(key, n);
      gcra.Return(alone[key], now, n);
    } else {
      RC_ASSERT(calls.TryTake(key, n) == gcra.Take(alone[key], now, n));
    }
    RC_ASSERT(calls.Available(key) == gcra.Available(alone[key], now));
    if (UniformBelow(50) == 0) calls.Sweep();
    if (UniformBelow(8) == 0) time.Advance(LogUniformUpTo(2 * kSecond));
  }
}

constexpr std::int64_t kPerKey = 2000;
constexpr std::uint64_t kShared = 16;

struct Outcome {
  std::array<std::atomic<std::int64_t>, kShared> taken{};
  std::atomic<bool> interleaved{false};
};

// Takes from shared keys until all are empty, and uses further keys, different in each thread, so
// that tables grow.
void TakeShared(Keyed& calls, std::uint64_t own, Outcome& outcome) {
  std::array<std::int64_t, kShared> left;
  left.fill(-1);
  for (std::uint64_t i = 0, empty = 0; empty < kShared; ++i) {
    const std::uint64_t key = i % kShared;
    if (left[key] > 0 && calls.Available(key) != left[key]) outcome.interleaved = true;
    const bool took = calls.TryTake(key);
    empty = took ? 0 : empty + 1;
    if (took) ++outcome.taken[key];
    left[key] = calls.Available(key);
    if (i % 4 == 0) (void)calls.TryTake(own + i);
    if (i % 4096 == 0) calls.Sweep();
  }
}

TEST(KeyedBucket, ThreadsTakeExactlyTheCapacityOfEachKeyWhileTablesGrowAndAreSwept) {
  bool interleaved = false;
  for (int round = 0; round < 2 || (!interleaved && round < 200); ++round) {
    ManualTime time;
    Keyed calls(PerSecond(kPerKey), time.clock());
    Outcome outcome;
    std::latch start(4);
    {
      std::vector<std::jthread> workers;
      for (std::uint64_t i = 1; i <= 4; ++i) {
        workers.emplace_back([&, own = i << 32] {
          start.arrive_and_wait();
          TakeShared(calls, own, outcome);
        });
      }
    }
    for (const auto& taken : outcome.taken) EXPECT_EQ(taken, kPerKey);
    interleaved = interleaved || outcome.interleaved;
  }
  EXPECT_TRUE(interleaved) << "the threads never met: nothing was tested";
}

}  // namespace
}  // namespace weir
