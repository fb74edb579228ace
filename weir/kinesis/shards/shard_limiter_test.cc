#include "weir/kinesis/shards/shard_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

KinesisRecord RecordDueAt(std::uint64_t number, std::size_t bytes, Instant deadline,
                          Instant expires = kStart + std::chrono::hours(1)) {
  KinesisRecord record{.data = std::string(bytes, 'x'), .deadline = deadline, .expires = expires};
  record.records.push_back({.number = number});
  return record;
}

struct Departure {
  milliseconds at;
  std::uint64_t number;
};

/// Drains the limiter at the times that it returns, until it is empty.
std::vector<Departure> RunDry(ShardLimiter& limiter, Instant now = kStart) {
  std::vector<Departure> departures;
  while (true) {
    for (const std::uint64_t number : Numbers(limiter.Drain(now).admitted)) {
      departures.push_back({std::chrono::floor<milliseconds>(now - kStart), number});
    }
    const auto wake = limiter.NextWake(now);
    if (!wake) return departures;
    EXPECT_GT(*wake, now) << "it wakes where nothing fits";
    if (*wake <= now) return departures;
    now = *wake;
  }
}

struct Load {
  const char* name;
  Quota records;
  Quota bytes;
  int count;
  std::size_t size;
  // Expected:
  int at_once;
  milliseconds second;  ///< when the next record leaves
  milliseconds last;
};

class ShardLimiterLoads : public testing::TestWithParam<Load> {};

TEST_P(ShardLimiterLoads, LeaveWhenTheyFit) {
  const Load& load = GetParam();
  ShardLimiter limiter({.records = load.records, .bytes = load.bytes}, kStart);
  for (int i = 0; i < load.count; ++i) {
    limiter.Put(RecordDueAt(static_cast<std::uint64_t>(i), load.size, kStart));
  }
  const std::vector<Departure> out = RunDry(limiter);
  ASSERT_EQ(out.size(), static_cast<std::size_t>(load.count));
  EXPECT_EQ(std::ranges::count(out, milliseconds(0), &Departure::at), load.at_once);
  EXPECT_EQ(out[static_cast<std::size_t>(load.at_once)].at, load.second);
  EXPECT_EQ(out.back().at, load.last);
}

constexpr Quota kRecords = PerSecond(1000);
constexpr Quota kBytes = PerSecond(1024 * 1024);

// The loads of the vectors V-K11 to V-A11. With them the Kinesis Producer Library sends ten times
// the bytes at once, and both it and aiokpl check the bucket only every 25 ms.
INSTANTIATE_TEST_SUITE_P(
    Vectors, ShardLimiterLoads,
    testing::Values(Load{"LargeRecords", kRecords, kBytes, 300, 51'200, 20, milliseconds(26),
                         milliseconds(13'649)},
                    Load{"SmallRecords", kRecords, kBytes, 2000, 100, 1000, milliseconds(1),
                         milliseconds(1000)},
                    Load{"Mebibytes", kRecords, kBytes, 5, 1 << 20, 1, seconds(1), seconds(4)},
                    // V-A9: never admitted there, and blocks all other records.
                    Load{"BeyondTheBucket", kRecords, kBytes, 2, (1 << 20) + 1024, 1,
                         milliseconds(1001), milliseconds(1001)},
                    // V-A10: the same with a rate of less than one aggregate per second.
                    Load{"SlowBytes", kRecords, PerSecond(50'000), 2, 51'200, 1, milliseconds(1024),
                         milliseconds(1024)},
                    Load{"TenASecond", PerSecond(10), kBytes, 50, 100, 10, milliseconds(100),
                         seconds(4)},
                    // V-K16: a rate of 1 %, with which the burst stays at 1000 there.
                    Load{"OnePercent", PerSecond(10).Burst(10), kBytes, 12, 100, 10,
                         milliseconds(100), milliseconds(200)}),
    [](const auto& load) { return std::string(load.param.name); });

// V-K9.
TEST(ShardLimiter, LetsOutInTheOrderOfDeadlines) {
  ShardLimiter limiter({}, kStart);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const std::uint64_t place = i * 2'741 % 4'000;  // each number once
    limiter.Put(RecordDueAt(place, 1, kStart + milliseconds(place)));
  }
  const std::vector<Departure> out = RunDry(limiter);
  ASSERT_THAT(out, SizeIs(4000));
  EXPECT_TRUE(std::ranges::is_sorted(out, {}, &Departure::number));
  EXPECT_EQ(out.back().at, seconds(3));
}

TEST(ShardLimiter, KeepsTheOrderOfEqualDeadlines) {
  ShardLimiter limiter({}, kStart);
  for (std::uint64_t i = 0; i < 5; ++i) limiter.Put(RecordDueAt(i, 1, kStart));
  EXPECT_THAT(Numbers(limiter.Drain(kStart).admitted), ElementsAre(0, 1, 2, 3, 4));
}

// V-P11: one record per second.
TEST(ShardLimiter, HoldsBackTheLaterDeadline) {
  ShardLimiter limiter({.records = PerSecond(1), .bytes = PerSecond(100)}, kStart);
  limiter.Put(RecordDueAt(2, 10, kStart + milliseconds(1)));
  limiter.Put(RecordDueAt(1, 10, kStart));
  EXPECT_THAT(Numbers(limiter.Drain(kStart).admitted), ElementsAre(1));
  EXPECT_THAT(Numbers(limiter.Drain(kStart + seconds(2)).admitted), ElementsAre(2));
}

// V-K10 and V-P12.
TEST(ShardLimiter, TellsWhatIsExpiredFirstAndTakesNothingForIt) {
  ShardLimiter limiter({.records = PerSecond(1), .bytes = PerSecond(100)}, kStart);
  limiter.Put(RecordDueAt(1, 100, kStart, kStart + seconds(5)));
  limiter.Put(RecordDueAt(2, 100, kStart + seconds(1)));
  const auto drained = limiter.Drain(kStart + seconds(5));
  EXPECT_THAT(Numbers(drained.expired), ElementsAre(1));
  EXPECT_THAT(Numbers(drained.admitted), ElementsAre(2));
}

TEST(ShardLimiter, WakesForWhatExpiresBeforeItFits) {
  ShardLimiter limiter({.records = PerSecond(1)}, kStart);
  limiter.Put(RecordDueAt(1, 1, kStart));
  limiter.Put(RecordDueAt(2, 1, kStart, kStart + milliseconds(300)));
  EXPECT_THAT(Numbers(limiter.Drain(kStart).admitted), ElementsAre(1));
  EXPECT_EQ(limiter.NextWake(kStart), kStart + milliseconds(300));
  EXPECT_THAT(Numbers(limiter.Drain(kStart + milliseconds(300)).expired), ElementsAre(2));
  EXPECT_EQ(limiter.NextWake(kStart + milliseconds(300)), std::nullopt);
}

// V-P13, V-P16. The admitted records leave a debt.
TEST(ShardLimiter, LetsEverythingOutOnDemandAndOwesIt) {
  ShardLimiter limiter({.records = PerSecond(1)}, kStart);
  for (std::uint64_t i = 0; i < 3; ++i) limiter.Put(RecordDueAt(i, 1, kStart));
  limiter.Put(RecordDueAt(9, 1, kStart, kStart));
  const auto drained = limiter.DrainAll(kStart);
  EXPECT_THAT(Numbers(drained.admitted), ElementsAre(0, 1, 2));
  EXPECT_THAT(Numbers(drained.expired), ElementsAre(9));
  limiter.Put(RecordDueAt(4, 1, kStart));
  EXPECT_EQ(limiter.NextWake(kStart), kStart + seconds(3));
}

TEST(ShardLimiter, SlowsDownOnceForTheThrottlesOfOneMoment) {
  ShardLimiter limiter({}, kStart);
  for (int i = 0; i < 500; ++i) limiter.OnThrottled(kStart + milliseconds(i / 5));
  EXPECT_EQ(limiter.percent(), 95);
  limiter.OnThrottled(kStart + milliseconds(250));
  EXPECT_EQ(limiter.percent(), 90);
}

TEST(ShardLimiter, ComesBackToItsRateAndNotBeyond) {
  ShardLimiter limiter({.records = PerSecond(100), .after_throttle = 50}, kStart);
  limiter.OnThrottled(kStart);
  EXPECT_EQ(limiter.percent(), 50);
  limiter.Drain(kStart + seconds(10));
  EXPECT_EQ(limiter.percent(), 60);
  limiter.Drain(kStart + seconds(1000));
  EXPECT_EQ(limiter.percent(), 100);
}

TEST(ShardLimiter, NeverStopsHoweverOftenItIsThrottled) {
  ShardLimiter limiter({}, kStart);
  for (int i = 0; i < 1000; ++i) limiter.OnThrottled(kStart + i * milliseconds(250));
  EXPECT_EQ(limiter.percent(), 5);
}

TEST(ShardLimiter, SendsAtTheRateItWasSlowedTo) {
  ShardLimiter limiter({.records = PerSecond(100), .after_throttle = 50, .recovery = seconds(99)},
                       kStart);
  limiter.OnThrottled(kStart);
  for (std::uint64_t i = 0; i < 150; ++i) limiter.Put(RecordDueAt(i, 1, kStart));
  EXPECT_EQ(RunDry(limiter).back().at, seconds(1));
}

// Fails if: a later record passes one that does not fit; an expired record is charged; the debt of
// a large record is forgotten.
RC_GTEST_PROP(ShardLimiterProperty, NeverSendsMoreThanTheShardTakes, ()) {
  const auto tokens = *rc::gen::inRange(1, 50);
  const auto bytes = *rc::gen::inRange(1, 5000);
  ShardLimiter limiter({.records = PerSecond(tokens), .bytes = PerSecond(bytes)}, kStart);
  std::vector<std::pair<milliseconds, std::size_t>> sent;
  Instant now = kStart;
  std::size_t largest = 0;
  std::size_t in = 0, out = 0;
  for (int step = *rc::gen::inRange(0, 60); step > 0; --step) {
    now = now + milliseconds(*rc::gen::inRange(0, 700));
    for (int puts = *rc::gen::inRange(0, 20); puts > 0; --puts) {
      const auto size = static_cast<std::size_t>(*rc::gen::inRange(0, 8000));
      const Instant soon = now + milliseconds(*rc::gen::inRange(0, 3000));
      limiter.Put(RecordDueAt(in++, size, soon, soon + milliseconds(*rc::gen::inRange(0, 3000))));
      largest = std::max(largest, size);
    }
    const auto drained = limiter.Drain(now);
    for (const KinesisRecord& record : drained.expired) RC_ASSERT(record.expires <= now);
    for (const KinesisRecord& record : drained.admitted) {
      RC_ASSERT(record.expires > now);
      sent.emplace_back(std::chrono::floor<milliseconds>(now - kStart), record.bytes());
    }
    out += drained.expired.size() + drained.admitted.size();
  }
  RC_ASSERT(in == out + limiter.size());
  for (std::size_t from = 0; from < sent.size(); ++from) {
    std::int64_t sum = 0;
    for (std::size_t to = from; to < sent.size(); ++to) {
      sum += static_cast<std::int64_t>(sent[to].second);
      const std::int64_t ms = (sent[to].first - sent[from].first).count();
      RC_ASSERT(static_cast<std::int64_t>(to - from + 1) * 1000 <= tokens * (1000 + ms));
      // The last record may be sent on debt.
      const std::int64_t room = bytes + static_cast<std::int64_t>(largest);
      RC_ASSERT(sum * 1000 <= room * 1000 + bytes * ms);
    }
  }
}

}  // namespace
}  // namespace weir::kinesis
