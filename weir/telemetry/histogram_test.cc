#include "weir/telemetry/histogram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <latch>
#include <thread>
#include <vector>

namespace weir {
namespace {

using Layout = HistogramLayout;

HistogramSnapshot SnapshotOf(const std::vector<std::int64_t>& values) {
  Histogram histogram;
  for (const std::int64_t value : values) histogram.Record(value);
  return histogram.Snapshot();
}

/// Returns values of all magnitudes, not only huge ones.
rc::Gen<std::int64_t> AnyValue() {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 63), rc::gen::arbitrary<std::uint64_t>()),
                      [](const std::pair<int, std::uint64_t>& p) {
                        return static_cast<std::int64_t>((p.second >> 1) >> p.first);
                      });
}

std::int64_t Ranked(std::vector<std::int64_t> values, double q) {
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(q * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

TEST(HistogramLayout, BucketsFollowEachOtherWithoutGapUpToTheLargestValue) {
  EXPECT_EQ(Layout::IndexOf(0), 0U);
  for (std::size_t i = 0; i + 1 < Layout::kBuckets; ++i) {
    ASSERT_EQ(Layout::IndexOf(Layout::LargestIn(i)), i);
    ASSERT_EQ(Layout::IndexOf(Layout::LargestIn(i) + 1), i + 1);
  }
  EXPECT_EQ(Layout::LargestIn(Layout::kBuckets - 1), INT64_MAX);
  EXPECT_EQ(Layout::IndexOf(INT64_MAX), Layout::kBuckets - 1);
}

TEST(HistogramLayout, SmallValuesHaveABucketEach) {
  for (std::int64_t v = 0; v < 32; ++v) EXPECT_EQ(Layout::LargestIn(Layout::IndexOf(v)), v);
}

TEST(HistogramLayout, EachPowerOfTwoBeginsABucket) {
  for (int k = 1; k < 63; ++k) {
    const std::int64_t edge = (std::int64_t{1} << k) - 1;
    EXPECT_EQ(Layout::LargestIn(Layout::IndexOf(edge)), edge) << k;
  }
}

// Fails if: 8 sub-buckets are used instead of 16 (kBits = 3), or the quantile is reported as the
// bucket before it.
RC_GTEST_PROP(HistogramProperty, AQuantileIsTheTrueOneOrUpToASixteenthMore, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(AnyValue()));
  const double q = *rc::gen::inRange(0, 1001) / 1000.0;
  const std::int64_t truth = Ranked(values, q);
  const std::int64_t told = SnapshotOf(values).Quantile(q);
  RC_ASSERT(told >= truth);
  RC_ASSERT(told - truth <= truth / 16);
}

// Fails if: Merge ignores the maximum, the sum or one bucket of the other snapshot.
RC_GTEST_PROP(HistogramProperty, MergedIsAsRecordedInOne, ()) {
  const auto gen = rc::gen::container<std::vector<std::int64_t>>(AnyValue());
  const auto left = *gen;
  const auto right = *gen;
  auto both = left;
  both.insert(both.end(), right.begin(), right.end());
  HistogramSnapshot merged = SnapshotOf(left);
  merged.Merge(SnapshotOf(right));
  const HistogramSnapshot one = SnapshotOf(both);
  RC_ASSERT(merged.count() == one.count());
  RC_ASSERT(merged.sum() == one.sum());
  RC_ASSERT(merged.max() == one.max());
  for (const double q : {0.0, 0.25, 0.5, 0.9, 1.0}) {
    RC_ASSERT(merged.Quantile(q) == one.Quantile(q));
  }
}

// Fails if: CountUpTo ignores the bucket that ends at the bound.
RC_GTEST_PROP(HistogramProperty, CountsUpToAPowerOfTwoAreExact, ()) {
  const auto values = *rc::gen::container<std::vector<std::int64_t>>(AnyValue());
  const std::int64_t bound = INT64_MAX >> *rc::gen::inRange(0, 63);
  const auto truth =
      std::count_if(values.begin(), values.end(), [bound](std::int64_t v) { return v <= bound; });
  RC_ASSERT(SnapshotOf(values).CountUpTo(bound) == static_cast<std::uint64_t>(truth));
}

TEST(Histogram, WithoutValuesTellsZeros) {
  const HistogramSnapshot empty = Histogram().Snapshot();
  EXPECT_EQ(empty.count(), 0U);
  EXPECT_EQ(empty.sum(), 0U);
  EXPECT_EQ(empty.max(), 0);
  EXPECT_EQ(empty.Quantile(0.5), 0);
  EXPECT_EQ(empty.CountUpTo(INT64_MAX), 0U);
}

TEST(Histogram, KeepsSumAndMaximumExactly) {
  const HistogramSnapshot snapshot = SnapshotOf({1'000'003, 17, 999'983});
  EXPECT_EQ(snapshot.count(), 3U);
  EXPECT_EQ(snapshot.sum(), 2'000'003U);
  EXPECT_EQ(snapshot.max(), 1'000'003);
  EXPECT_EQ(snapshot.Quantile(1), 1'000'003);
}

TEST(Histogram, ANegativeValueCountsAsZero) {
  const HistogramSnapshot snapshot = SnapshotOf({-5, INT64_MIN, 3});
  EXPECT_EQ(snapshot.count(), 3U);
  EXPECT_EQ(snapshot.sum(), 3U);
  EXPECT_EQ(snapshot.CountUpTo(0), 2U);
}

TEST(Histogram, ASnapshotStaysAsItWasTaken) {
  Histogram histogram;
  histogram.Record(1);
  const HistogramSnapshot before = histogram.Snapshot();
  histogram.Record(100);
  EXPECT_EQ(before.count(), 1U);
  EXPECT_EQ(before.max(), 1);
  EXPECT_EQ(histogram.Snapshot().max(), 100);
}

TEST(Histogram, LosesNothingUnderThreads) {
  constexpr int kRecorders = 16, kRecords = 100'000;  // twice as many threads as stripes
  Histogram histogram;
  {
    std::latch start(kRecorders);
    std::vector<std::jthread> threads;
    for (int t = 0; t < kRecorders; ++t) {
      threads.emplace_back([&histogram, &start, t] {
        start.arrive_and_wait();
        for (int i = 0; i < kRecords; ++i) histogram.Record(i * kRecorders + t);
      });
    }
  }
  constexpr std::uint64_t kAll = kRecorders * kRecords;
  const HistogramSnapshot snapshot = histogram.Snapshot();
  EXPECT_EQ(snapshot.count(), kAll);
  EXPECT_EQ(snapshot.sum(), kAll * (kAll - 1) / 2);
  EXPECT_EQ(snapshot.max(), static_cast<std::int64_t>(kAll - 1));
  EXPECT_EQ(snapshot.CountUpTo(16'383), 16'384U);
}

TEST(Histogram, MayBeReadWhileThreadsRecord) {
  Histogram histogram;
  std::jthread writer([&histogram] {
    for (int i = 0; i < 50'000; ++i) histogram.Record(7);
  });
  std::uint64_t last = 0;
  while (last < 50'000) {
    const HistogramSnapshot snapshot = histogram.Snapshot();
    ASSERT_GE(snapshot.count(), last);
    ASSERT_LE(snapshot.max(), 7);
    last = snapshot.count();
  }
}

}  // namespace
}  // namespace weir
