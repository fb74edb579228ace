#include "weir/base/rng.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace weir {
namespace {

struct Vector {
  std::uint64_t seed;
  std::uint64_t first[5];
};

// Computed from the published algorithms of xoshiro256** 1.0 and splitmix64 by another program.
constexpr Vector kVectors[] = {
    {0,
     {0x99ec5f36cb75f2b4U, 0xbf6e1f784956452aU, 0x1a5f849d4933e6e0U, 0x6aa594f1262d2d2cU,
      0xbba5ad4a1f842e59U}},
    {1,
     {0xb3f2af6d0fc710c5U, 0x853b559647364ceaU, 0x92f89756082a4514U, 0x642e1c7bc266a3a7U,
      0xb27a48e29a233673U}},
    {42,
     {0x15780b2e0c2ec716U, 0x6104d9866d113a7eU, 0xae17533239e499a1U, 0xecb8ad4703b360a1U,
      0xfde6dc7fe2ec5e64U}},
    {UINT64_MAX,
     {0x8f5520d52a7ead08U, 0xc476a018caa1802dU, 0x81de31c0d260469eU, 0xbf658d7e065f3c2fU,
      0x913593fda1bca32aU}},
};

TEST(Rng, GivesThePublishedSequence) {
  for (const Vector& vector : kVectors) {
    Rng rng(vector.seed);
    for (const std::uint64_t expected : vector.first) EXPECT_EQ(rng.Next(), expected);
  }
  Rng rng(42);
  for (int i = 0; i < 999; ++i) rng.Next();
  EXPECT_EQ(rng.Next(), 0x8de5848c61ab8968U);
}

TEST(Rng, DerivedDrawsReplayOnEveryMachine) {
  Rng below(42), unit(42);
  for (const std::uint64_t expected : {2U, 2U, 9U, 3U, 6U, 4U, 4U, 7U}) {
    EXPECT_EQ(below.Below(10), expected);
  }
  for (const double expected : {0.08386297105988216, 0.3789802506626686, 0.6800434110281394}) {
    EXPECT_EQ(unit.Unit(), expected);
  }
}

TEST(Rng, ACopyGoesOnAsTheOriginal) {
  Rng rng(3);
  rng.Next();
  Rng copy = rng;
  EXPECT_EQ(copy.Next(), rng.Next());
}

// Fails if: the draw is not reduced, or Between excludes `high` and its span underflows.
RC_GTEST_PROP(RngProperty, DrawsAreInRange, ()) {
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  const auto bound = *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(0, 63) | 1U;
  const auto a = *rc::gen::arbitrary<std::int64_t>();
  const auto b = *rc::gen::element(a, *rc::gen::arbitrary<std::int64_t>());
  for (int i = 0; i < 20; ++i) {
    RC_ASSERT(rng.Below(bound) < bound);
    const std::int64_t between = rng.Between(std::min(a, b), std::max(a, b));
    RC_ASSERT(between >= std::min(a, b) && between <= std::max(a, b));
    const double unit = rng.Unit();
    RC_ASSERT(unit >= 0 && unit < 1);
  }
}

TEST(Rng, BelowIsUnbiasedWhereAPlainRemainderIsNot) {
  // 2^64 mod (3 * 2^62) = 2^62: a plain remainder would fall into the lowest third half of the
  // time.
  constexpr std::uint64_t kBound = std::uint64_t{3} << 62;
  constexpr int kDraws = 100'000;
  Rng rng(11);
  int lowest_third = 0;
  for (int i = 0; i < kDraws; ++i) lowest_third += rng.Below(kBound) < kBound / 3 ? 1 : 0;
  EXPECT_NEAR(lowest_third / static_cast<double>(kDraws), 1.0 / 3, 0.01);
}

TEST(Rng, BelowReachesEveryValueAboutEquallyOften) {
  constexpr int kValues = 7, kDraws = 70'000;
  Rng rng(12);
  std::vector<int> hits(kValues);
  for (int i = 0; i < kDraws; ++i) ++hits.at(rng.Below(kValues));
  for (const int hit : hits) EXPECT_NEAR(hit, kDraws / kValues, 400);  // four standard deviations
  EXPECT_EQ(rng.Below(1), 0U);
}

TEST(Rng, BetweenReachesBothEndsAndTheWholeRange) {
  Rng rng(13);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(rng.Between(-2, 2));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(rng.Between(5, 5), 5);
  bool negative = false, positive = false;
  for (int i = 0; i < 100; ++i) {
    (rng.Between(INT64_MIN, INT64_MAX) < 0 ? negative : positive) = true;
  }
  EXPECT_TRUE(negative && positive);
}

TEST(Rng, ChanceIsNeverAtZeroAlwaysAtOneAndAsOftenAsItSays) {
  Rng rng(14);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(rng.Chance(0));
    EXPECT_TRUE(rng.Chance(1));
    hits += rng.Chance(0.3) ? 1 : 0;
  }
  EXPECT_NEAR(hits, 3'000, 200);
}

/// Draws, and compares how often each rank was drawn with the expected frequency, within five
/// standard deviations.
void ExpectZipf(std::uint64_t n, double exponent, std::uint64_t seed) {
  constexpr int kDraws = 200'000;
  const Zipf zipf(n, exponent);
  Rng rng(seed);
  std::vector<int> hits(n);
  for (int i = 0; i < kDraws; ++i) ++hits.at(zipf.Draw(rng));
  double weights = 0;
  for (std::uint64_t k = 1; k <= n; ++k) weights += 1 / std::pow(static_cast<double>(k), exponent);
  for (std::uint64_t k = 0; k < n; ++k) {
    const double p = 1 / std::pow(static_cast<double>(k + 1), exponent) / weights;
    EXPECT_NEAR(hits[k], kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p)) + 1e-9)
        << "rank " << k << " of " << n << ", exponent " << exponent;
  }
}

TEST(Zipf, RanksComeAsOftenAsTheLawSays) {
  ExpectZipf(50, 1.0, 21);
  ExpectZipf(50, 1.3, 22);
  ExpectZipf(1, 1.0, 23);
}

TEST(Zipf, AnExponentOfZeroIsUniform) { ExpectZipf(20, 0, 24); }

// Fails if: ranks are counted from 1.
RC_GTEST_PROP(ZipfProperty, EveryRankIsBelowTheirNumber, ()) {
  const auto n = *rc::gen::inRange<std::uint64_t>(1, 50);
  const Zipf zipf(n, *rc::gen::inRange(0, 300) / 100.0);
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  for (int i = 0; i < 100; ++i) RC_ASSERT(zipf.Draw(rng) < n);
}

TEST(SystemSeed, IsAnotherEachTime) { EXPECT_NE(SystemSeed(), SystemSeed()); }

}  // namespace
}  // namespace weir
