#include "weir/kinesis/metrics/windowed_statistic.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <optional>
#include <utility>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;

Statistic Of(int first, int end) {
  Statistic statistic;
  for (int i = first; i < end; ++i) statistic.Add(i);
  return statistic;
}

TEST(Statistic, OfNothingIsAllZero) {
  EXPECT_EQ(Statistic{}.mean(), 0);
  Statistic sum;
  sum.Add(Statistic{});
  EXPECT_EQ(sum, Statistic{});
  sum.Add(Of(5, 7));
  EXPECT_EQ(sum, (Statistic{2, 11, 5, 6})) << "where nothing was, nothing is the least";
}

struct StatisticVector {
  const char* name;
  int buckets;     ///< seconds, one after the other
  int per_bucket;  ///< samples of each, each larger by 1 than the one before
  std::optional<seconds> window;
  // Expected:
  std::uint64_t count;
  double mean;
  double sum;
  double min;
};

class StatisticVectors : public testing::TestWithParam<StatisticVector> {};

TEST_P(StatisticVectors, AreReadAsTheLibraryReadsThem) {
  const StatisticVector& vector = GetParam();
  WindowedStatistic statistic;
  for (int i = 0; i < vector.buckets; ++i) {
    statistic.Add(Of(i * vector.per_bucket, (i + 1) * vector.per_bucket), kStart + seconds(i));
  }
  const Instant now = kStart + seconds(vector.buckets - 1);
  const Statistic read = vector.window ? statistic.Last(*vector.window, now) : statistic.total();
  EXPECT_EQ(read.count, vector.count);
  EXPECT_EQ(read.mean(), vector.mean);
  EXPECT_EQ(read.sum, vector.sum);
  EXPECT_EQ(read.min, vector.min);
  EXPECT_EQ(read.max, vector.buckets * vector.per_bucket - 1);
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, StatisticVectors,
    testing::Values(
        StatisticVector{"ZeroToHundred", 1, 101, std::nullopt, 101, 50, 5050, 0},
        StatisticVector{"Last1", 100, 100, seconds(1), 100, 9949.5, 994'950, 9900},
        StatisticVector{"Last15", 100, 100, seconds(15), 1500, 9249.5, 13'874'250, 8500},
        StatisticVector{"Last30", 100, 100, seconds(30), 3000, 8499.5, 25'498'500, 7000},
        StatisticVector{"Last60", 100, 100, seconds(60), 6000, 6999.5, 41'997'000, 4000},
        StatisticVector{"All", 100, 100, std::nullopt, 10'000, 4999.5, 49'995'000, 0}),
    [](const auto& vector) { return std::string(vector.param.name); });

// As in the vector, samples 1 to 5 are gone and 6 to 10 are there. Here the time decides, in the
// library the upload.
TEST(WindowedStatistic, ForgetsWhatIsOlderThanTheWindow) {
  WindowedStatistic statistic;
  statistic.Add(Of(1, 6), kStart);
  EXPECT_EQ(statistic.Last(seconds(60), kStart + seconds(59)), (Statistic{5, 15, 1, 5}));
  EXPECT_EQ(statistic.Last(seconds(60), kStart + seconds(60)), Statistic{});
  statistic.Add(Of(6, 11), kStart + seconds(60));
  const Statistic later = statistic.Last(seconds(60), kStart + seconds(60));
  EXPECT_EQ(later, (Statistic{5, 40, 6, 10}));
  EXPECT_EQ(later.mean(), 8);
  EXPECT_EQ(statistic.total(), (Statistic{10, 55, 1, 10}));
}

TEST(WindowedStatistic, IsEmptyAtFirst) {
  EXPECT_EQ(WindowedStatistic().Last(seconds(60), Instant{0}), Statistic{});
  EXPECT_EQ(WindowedStatistic().total(), Statistic{});
}

TEST(WindowedStatistic, OldSamplesCountInTheTotalOnly) {
  WindowedStatistic statistic;
  statistic.AddOld(Of(1, 4));
  EXPECT_EQ(statistic.total(), Of(1, 4));
  EXPECT_EQ(statistic.Last(seconds(60), kStart), Statistic{});
}

TEST(WindowedStatistic, EachSampleIsTakenOnce) {
  WindowedStatistic statistic, later;
  statistic.Add(Of(1, 4), kStart);
  EXPECT_EQ(statistic.Take(), Of(1, 4));
  EXPECT_EQ(statistic.Take(), Statistic{});
  statistic.Add(Of(7, 9), kStart + seconds(100));
  later.AddOld(statistic);
  EXPECT_EQ(later.Take(), Of(7, 9)) << "without those that were taken before";
  EXPECT_EQ(later.total(), statistic.total()) << "readers see what was taken, too";
}

// Compares with all samples, stored. Fails if: a bucket is not emptied when its second comes round
// again (Add without the reset); the window begins a second early (>= in Last).
RC_GTEST_PROP(WindowedStatisticProperty, IsTheSumOfTheSamplesInTheWindow, ()) {
  WindowedStatistic statistic;
  std::vector<std::pair<std::int64_t, int>> all;
  std::int64_t second = *rc::gen::inRange<std::int64_t>(-200, 200);
  const auto gaps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 80));
  for (const int gap : gaps) {
    second += gap / 4;
    const int sample = *rc::gen::inRange(-1000, 1000);
    all.emplace_back(second, sample);
    statistic.Add(Of(sample, sample + 1), Instant{0} + seconds(second));
  }
  const auto window = *rc::gen::inRange<std::int64_t>(1, 61);
  const std::int64_t now = second + *rc::gen::inRange<std::int64_t>(0, 70);
  Statistic wanted;
  for (const auto& [at, sample] : all) {
    if (at + window > now) wanted.Add(sample);
  }
  RC_ASSERT(statistic.Last(seconds(window), Instant{0} + seconds(now)) == wanted);
}

}  // namespace
}  // namespace weir::kinesis
