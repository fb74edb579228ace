#include "weir/runtime/backoff.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>

namespace weir {
namespace {

using std::chrono::seconds;

/// Returns min(cap, base * 2^k), computed by doubling.
std::int64_t Bound(std::int64_t base, std::int64_t cap, int k) {
  std::int64_t bound = base;
  for (int i = 0; i < k; ++i) bound = bound > cap / 2 ? cap : bound * 2;
  return bound;
}

// Fails if: the cap is compared after the shift (the product overflows), or the wait is drawn from
// [0, 2 * bound].
RC_GTEST_PROP(BackoffProperty, EveryWaitIsWithinItsBound, ()) {
  const auto cap = *rc::gen::inRange<std::int64_t>(1, INT64_MAX);
  const auto base = *rc::gen::inRange<std::int64_t>(1, *rc::gen::element(cap, cap / 1000 + 1) + 1);
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  Backoff backoff{nanoseconds(base), nanoseconds(cap)};
  for (int k = 0; k < 100; ++k) {
    const nanoseconds wait = backoff.Next(rng);
    RC_ASSERT(wait.count() >= 0);
    RC_ASSERT(wait.count() <= Bound(base, cap, k));
  }
}

TEST(Backoff, WaitsGrowUntilTheCapAndUseTheWholeRange) {
  constexpr int kRounds = 2000;
  Rng rng(5);
  nanoseconds longest[8]{};
  nanoseconds shortest[8]{};
  std::fill(std::begin(shortest), std::end(shortest), nanoseconds::max());
  for (int round = 0; round < kRounds; ++round) {
    Backoff backoff(milliseconds(10), seconds(1));
    for (int k = 0; k < 8; ++k) {
      const nanoseconds wait = backoff.Next(rng);
      longest[k] = std::max(longest[k], wait);
      shortest[k] = std::min(shortest[k], wait);
    }
  }
  for (int k = 0; k < 8; ++k) {
    const nanoseconds bound = std::min<nanoseconds>(milliseconds(10) * (1 << k), seconds(1));
    EXPECT_GT(longest[k], bound * 99 / 100) << k;
    EXPECT_LE(longest[k], bound) << k;
    EXPECT_LT(shortest[k], bound / 100) << k;
  }
}

TEST(Backoff, ResetStartsFromTheBase) {
  Rng rng(1);
  Backoff backoff(milliseconds(1), seconds(1000));
  for (int i = 0; i < 15; ++i) backoff.Next(rng);
  EXPECT_EQ(backoff.tries(), 15U);
  backoff.Reset();
  EXPECT_EQ(backoff.tries(), 0U);
  EXPECT_LE(backoff.Next(rng), milliseconds(1));
  EXPECT_EQ(backoff.tries(), 1U);
}

TEST(Backoff, EqualSeedsGiveEqualWaits) {
  Rng one(9), other(9);
  Backoff first(milliseconds(3), seconds(1)), second(milliseconds(3), seconds(1));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(first.Next(one), second.Next(other));
}

TEST(Backoff, ABaseThatIsTheCapStaysThere) {
  Rng rng(2);
  Backoff backoff(nanoseconds::max(), nanoseconds::max());
  nanoseconds longest(0);
  for (int i = 0; i < 200; ++i) longest = std::max(longest, backoff.Next(rng));
  EXPECT_GT(longest, nanoseconds::max() / 2);
}

}  // namespace
}  // namespace weir
