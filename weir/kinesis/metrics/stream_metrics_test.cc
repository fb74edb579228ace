#include "weir/kinesis/metrics/stream_metrics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::optional<ShardId> kNowhere;

Statistic Total(const WindowedStatistic& samples) { return samples.total(); }

KinesisRecord RecordHolding(std::optional<ShardId> shard, std::size_t user_records,
                            std::size_t bytes) {
  return {.records = std::vector<UserRecord>(user_records),
          .data = std::string(bytes, 'x'),
          .shard = shard};
}

RecordResult Stored(std::optional<ShardId> shard) {
  RecordResult result{.stored = true, .shard = shard};
  result.attempts.Add({.began = kStart, .ended = kStart + milliseconds(5)});
  return result;
}

EntryResponse Good() { return {.shard = "shardId-000000000001", .sequence_number = "1"}; }
EntryResponse Bad(std::string code) { return {.code = std::move(code), .message = "no"}; }

class StreamMetricsTest : public testing::Test {
 protected:
  Statistic At(Metric metric, std::optional<ShardId> shard, std::string_view code = "") {
    metrics_.Publish(kStart);
    Statistic found;
    for (const StreamMetrics::Row& row : metrics_.Rows(metric, Total)) {
      if (row.shard == shard && row.code == code) found.Add(row.statistic);
    }
    return found;
  }
  Statistic OfAll(Metric metric) {
    metrics_.Publish(kStart);
    Statistic all;
    for (const StreamMetrics::Row& row : metrics_.Rows(metric, Total)) all.Add(row.statistic);
    return all;
  }

  StreamMetrics metrics_{MetricsOptions{}};
};

TEST_F(StreamMetricsTest, CountsWhatIsPut) {
  metrics_.OnPut(100);
  metrics_.OnPut(50);
  EXPECT_EQ(At(Metric::kUserRecordsReceived, kNowhere), (Statistic{2, 2, 1, 1}));
  EXPECT_EQ(At(Metric::kUserRecordsDataReceived, kNowhere), (Statistic{2, 150, 50, 100}));
  EXPECT_EQ(metrics_.pending(), 2);
  metrics_.OnResult(Stored(ShardId{1}), {kStart, 100}, kStart);
  metrics_.Publish(kStart);
  EXPECT_EQ(metrics_.pending(), 1);
}

TEST_F(StreamMetricsTest, SamplesWhatIsPendingEvery200Milliseconds) {
  for (int i = 0; i <= 500; ++i) {
    metrics_.OnPut(1);
    metrics_.Publish(kStart + milliseconds(i));
  }
  EXPECT_EQ(At(Metric::kUserRecordsPending, kNowhere), (Statistic{3, 1 + 201 + 401, 1, 401}));
}

TEST_F(StreamMetricsTest, TellsHowFullRequestsAre) {
  metrics_.OnSend({RecordHolding(ShardId{1}, 10, 1), RecordHolding(ShardId{1}, 4, 1),
                   RecordHolding(ShardId{2}, 1, 1)});
  metrics_.OnSend({RecordHolding(kNowhere, 5, 1)});
  EXPECT_EQ(At(Metric::kUserRecordsPerKinesisRecord, ShardId{1}), (Statistic{2, 14, 4, 10}));
  EXPECT_EQ(At(Metric::kUserRecordsPerKinesisRecord, ShardId{2}), (Statistic{1, 1, 1, 1}));
  EXPECT_EQ(At(Metric::kUserRecordsPerKinesisRecord, kNowhere), (Statistic{1, 5, 5, 5}));
  EXPECT_EQ(At(Metric::kKinesisRecordsPerPutRecordsRequest, kNowhere), (Statistic{2, 4, 1, 3}));
  EXPECT_EQ(At(Metric::kUserRecordsPerPutRecordsRequest, kNowhere), (Statistic{2, 20, 5, 15}));
}

TEST_F(StreamMetricsTest, JudgesEachEntryOfAnAnswer) {
  const std::vector<KinesisRecord> sent = {RecordHolding(ShardId{1}, 9, 300),
                                           RecordHolding(ShardId{1}, 1, 40),
                                           RecordHolding(ShardId{2}, 1, 7)};
  metrics_.OnResponse(sent, std::vector{Good(), Bad("InternalFailure"), Good()}, kStart,
                      kStart + milliseconds(30));
  EXPECT_EQ(At(Metric::kKinesisRecordsPut, ShardId{1}), (Statistic{2, 1, 0, 1}));
  EXPECT_EQ(At(Metric::kKinesisRecordsDataPut, ShardId{1}), (Statistic{1, 300, 300, 300}));
  EXPECT_EQ(At(Metric::kAllErrors, ShardId{1}), (Statistic{2, 1, 0, 1}));
  EXPECT_EQ(At(Metric::kAllErrors, ShardId{2}), (Statistic{1, 0, 0, 0}));
  EXPECT_EQ(At(Metric::kErrorsByCode, ShardId{1}, "InternalFailure"), (Statistic{1, 1, 1, 1}));
  EXPECT_EQ(OfAll(Metric::kErrorsByCode).count, 1U);
  EXPECT_EQ(At(Metric::kRequestTime, kNowhere), (Statistic{1, 30, 30, 30}));
  EXPECT_EQ(metrics_.Spread(Metric::kRequestTime).max(), 30'000'000);
}

TEST_F(StreamMetricsTest, CountsARequestThatFailedOnce) {
  const std::vector<KinesisRecord> sent = {RecordHolding(ShardId{1}, 9, 1),
                                           RecordHolding(ShardId{2}, 1, 1)};
  metrics_.OnResponse(sent, tl::unexpected(AwsFailure{.code = "AccessDeniedException"}), kStart,
                      kStart);
  metrics_.OnResponse(sent, tl::unexpected(AwsFailure{.kind = FailureClass::kAmbiguous}), kStart,
                      kStart);
  metrics_.OnResponse(sent, std::vector{Good()}, kStart, kStart);
  EXPECT_EQ(At(Metric::kAllErrors, kNowhere), (Statistic{3, 3, 1, 1}));
  EXPECT_EQ(At(Metric::kErrorsByCode, kNowhere, "AccessDeniedException").count, 1U);
  EXPECT_EQ(At(Metric::kErrorsByCode, kNowhere, Name(FailureClass::kAmbiguous)).count, 1U);
  EXPECT_EQ(At(Metric::kErrorsByCode, kNowhere, kCountMismatch).count, 1U);
  EXPECT_EQ(OfAll(Metric::kKinesisRecordsPut).count, 0U);
}

TEST_F(StreamMetricsTest, CallsFurtherCodesOther) {
  for (std::size_t i = 0; i < StreamMetrics::kMaxCodes + 10; ++i) {
    const auto response = std::vector{Bad(fmt::format("Code{}", i)), Bad("Code0")};
    metrics_.OnResponse({RecordHolding(ShardId{1}, 1, 1), RecordHolding(ShardId{2}, 1, 1)},
                        response, kStart, kStart);
  }
  EXPECT_EQ(At(Metric::kErrorsByCode, ShardId{1}, "Code63").count, 1U);
  EXPECT_EQ(At(Metric::kErrorsByCode, ShardId{1}, "Code64").count, 0U);
  EXPECT_EQ(At(Metric::kErrorsByCode, ShardId{1}, "Other").count, 10U);
  EXPECT_EQ(At(Metric::kErrorsByCode, ShardId{2}, "Code0").count, 74U) << "known ones go on";
}

TEST_F(StreamMetricsTest, TellsWhatBecameOfUserRecords) {
  metrics_.OnResult(Stored(ShardId{1}), {kStart, 100}, kStart + milliseconds(8));
  metrics_.OnResult(Stored(ShardId{1}), {kStart, 20}, kStart + milliseconds(4));
  RecordResult failed;
  failed.attempts.Add({.began = kStart, .ended = kStart, .code = "ValidationException"});
  metrics_.OnResult(failed, {kStart, 5}, kStart);
  EXPECT_EQ(At(Metric::kUserRecordsPut, ShardId{1}), (Statistic{2, 2, 1, 1}));
  EXPECT_EQ(At(Metric::kUserRecordsPut, kNowhere), (Statistic{1, 0, 0, 0}));
  EXPECT_EQ(OfAll(Metric::kUserRecordsDataPut), (Statistic{2, 120, 20, 100}));
  EXPECT_EQ(OfAll(Metric::kUserRecordExpired), Statistic{});
  EXPECT_EQ(At(Metric::kTimeToResult, ShardId{1}), (Statistic{2, 12, 4, 8}));
  EXPECT_EQ(metrics_.Spread(Metric::kTimeToResult).count(), 3U);
}

TEST_F(StreamMetricsTest, CountsRetriesAndTheTimeBeforeEachAttempt) {
  RecordResult result{.stored = true, .shard = ShardId{1}};
  const Instant first = kStart + milliseconds(100);
  result.attempts.Add(
      {.began = first, .ended = first + milliseconds(7), .code = "InternalFailure"});
  result.attempts.Add({.began = first + milliseconds(57), .ended = first + milliseconds(60)});
  metrics_.OnResult(result, {kStart, 1}, first + milliseconds(60));
  EXPECT_EQ(OfAll(Metric::kRetriesPerRecord), (Statistic{1, 1, 1, 1}));
  EXPECT_EQ(OfAll(Metric::kBufferingTime), (Statistic{2, 150, 50, 100}));
  EXPECT_EQ(metrics_.Spread(Metric::kBufferingTime).sum(), 150'000'000U);
}

// Attempts keeps eight; between the first and the second kept one there were others.
TEST_F(StreamMetricsTest, DoesNotTakeAttemptsThatAreGoneForBuffering) {
  RecordResult result;
  for (int i = 0; i < 20; ++i) {
    const Instant began = kStart + milliseconds(10 * i + 1);
    result.attempts.Add({.began = began, .ended = began + milliseconds(9), .code = "X"});
  }
  metrics_.OnResult(result, {kStart, 1}, kStart + milliseconds(200));
  EXPECT_EQ(OfAll(Metric::kBufferingTime), (Statistic{7, 7, 1, 1}));
  EXPECT_EQ(OfAll(Metric::kRetriesPerRecord), (Statistic{1, 19, 19, 19}));
}

TEST_F(StreamMetricsTest, TellsWhatExpired) {
  RecordResult result;
  result.attempts.Add({.began = kStart, .ended = kStart, .code = std::string(kExpired)});
  metrics_.OnResult(result, {kStart - seconds(30), 1}, kStart);
  EXPECT_EQ(OfAll(Metric::kUserRecordExpired), (Statistic{1, 1, 1, 1}));
  EXPECT_EQ(OfAll(Metric::kBufferingTime), (Statistic{1, 30'000, 30'000, 30'000}));
}

TEST_F(StreamMetricsTest, ARecordThatWasNeverTriedHasNoRetries) {
  metrics_.OnResult(RecordResult{}, {kStart, 1}, kStart);
  EXPECT_EQ(OfAll(Metric::kUserRecordsPut).count, 1U);
  EXPECT_EQ(OfAll(Metric::kRetriesPerRecord).count, 0U);
}

TEST_F(StreamMetricsTest, EventsCountFromPublishOn) {
  metrics_.OnSend({RecordHolding(ShardId{1}, 10, 1)});
  EXPECT_THAT(metrics_.Rows(Metric::kUserRecordsPerKinesisRecord, Total), IsEmpty());
  metrics_.Publish(kStart + seconds(7));
  const auto window = [](const WindowedStatistic& samples) {
    return samples.Last(seconds(1), kStart + seconds(7));
  };
  const auto rows = metrics_.Rows(Metric::kUserRecordsPerKinesisRecord, window);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].statistic.count, 1U);
}

TEST_F(StreamMetricsTest, ForgetsAShardThatIsIdleForAnHourButNotWhatItCounted) {
  metrics_.OnResult(Stored(ShardId{1}), {kStart, 10}, kStart);
  metrics_.OnResponse({RecordHolding(ShardId{1}, 1, 1)}, std::vector{Bad("X")}, kStart, kStart);
  metrics_.Publish(kStart);
  const auto places = [this](Instant now) {
    metrics_.OnResult(Stored(ShardId{2}), {now, 10}, now);
    metrics_.Publish(now);
    std::vector<std::optional<ShardId>> shards;
    for (const auto& row : metrics_.Rows(Metric::kUserRecordsPut, Total)) {
      shards.push_back(row.shard);
    }
    return shards;
  };
  EXPECT_THAT(places(kStart + minutes(59)), ElementsAre(ShardId{1}, ShardId{2}));
  EXPECT_THAT(places(kStart + minutes(60)), ElementsAre(ShardId{2}, kNowhere));
  EXPECT_EQ(At(Metric::kErrorsByCode, kNowhere, "X").count, 1U);
  EXPECT_EQ(OfAll(Metric::kUserRecordsPut).count, 3U);
  metrics_.OnResult(Stored(ShardId{1}), {kStart, 10}, kStart + hours(2));
  EXPECT_EQ(At(Metric::kUserRecordsPut, ShardId{1}).count, 1U) << "it may come back";
}

TEST_F(StreamMetricsTest, CountsAShardAgainThatComesBackAfterItWasForgotten) {
  metrics_.OnResult(Stored(ShardId{1}), {kStart, 1}, kStart);
  metrics_.Publish(kStart);
  metrics_.OnPut(1);
  metrics_.Publish(kStart + hours(1));
  ASSERT_EQ(At(Metric::kUserRecordsPut, ShardId{1}).count, 0U);
  metrics_.OnResult(Stored(ShardId{1}), {kStart, 1}, kStart + hours(1));
  EXPECT_EQ(At(Metric::kUserRecordsPut, ShardId{1}).count, 1U);
}

// Fails if: each shard that a response names gets samples of its own; a shard that has some loses
// them; the samples of further shards are lost; a shard that was forgotten leaves no room.
TEST_F(StreamMetricsTest, CountsFurtherShardsAtTheStream) {
  const auto send = [this](std::uint64_t shard) {
    metrics_.OnSend({RecordHolding(ShardId{shard}, 1, 1)});
  };
  const auto shards = [this] {
    const auto rows = metrics_.Rows(Metric::kUserRecordsPerKinesisRecord, Total);
    return static_cast<std::size_t>(
        std::ranges::count_if(rows, [](const auto& row) { return row.shard.has_value(); }));
  };
  constexpr std::size_t kMost = StreamMetrics::kMaxShards;
  for (std::size_t i = 0; i < kMost + 10; ++i) send(i);
  send(kMost + 9);
  send(kMost - 1);
  EXPECT_EQ(At(Metric::kUserRecordsPerKinesisRecord, kNowhere).count, 11U);
  EXPECT_EQ(At(Metric::kUserRecordsPerKinesisRecord, ShardId{kMost - 1}).count, 2U);
  EXPECT_EQ(OfAll(Metric::kUserRecordsPerKinesisRecord).count, kMost + 12);
  EXPECT_EQ(shards(), kMost);

  send(kMost);
  metrics_.Publish(kStart + hours(1));
  send(kMost);
  metrics_.Publish(kStart + hours(1));
  EXPECT_EQ(shards(), 1U) << "the others were idle for an hour";
  EXPECT_EQ(OfAll(Metric::kUserRecordsPerKinesisRecord).count, kMost + 14);
}

TEST_F(StreamMetricsTest, PublishesAnEventOnce) {
  metrics_.OnResponse({RecordHolding(ShardId{1}, 1, 1)}, std::vector{Bad("X")}, kStart, kStart);
  metrics_.Publish(kStart);
  metrics_.OnResponse({RecordHolding(ShardId{1}, 1, 1)}, std::vector{Good()}, kStart, kStart);
  metrics_.Publish(kStart);
  EXPECT_EQ(OfAll(Metric::kErrorsByCode).count, 1U);
  EXPECT_EQ(OfAll(Metric::kKinesisRecordsPut).count, 2U);
}

TEST(StreamMetrics, AtLevelSummaryKeepsOnlyThat) {
  StreamMetrics metrics({.level = MetricsLevel::kSummary});
  metrics.OnPut(1);
  metrics.OnResponse({RecordHolding(ShardId{1}, 1, 1)}, std::vector{Bad("X")}, kStart, kStart);
  metrics.Publish(kStart);
  EXPECT_THAT(metrics.Rows(Metric::kUserRecordsReceived, Total), IsEmpty());
  EXPECT_THAT(metrics.Rows(Metric::kAllErrors, Total), SizeIs(1));
  EXPECT_THAT(metrics.Rows(Metric::kErrorsByCode, Total), SizeIs(1));
}

TEST(StreamMetrics, AtLevelNoneKeepsNothing) {
  StreamMetrics metrics({.level = MetricsLevel::kNone});
  const std::vector<KinesisRecord> sent = {RecordHolding(ShardId{1}, 1, 1)};
  metrics.OnPut(1);
  metrics.OnSend(sent);
  metrics.OnResponse(sent, std::vector{Bad("X")}, kStart, kStart + seconds(1));
  metrics.OnResult(Stored(ShardId{1}), {kStart, 1}, kStart + seconds(1));
  metrics.Publish(kStart);
  for (std::size_t i = 0; i < kMetrics; ++i) {
    EXPECT_THAT(metrics.Rows(static_cast<Metric>(i), Total), IsEmpty());
  }
  EXPECT_EQ(metrics.pending(), 0);
  EXPECT_EQ(metrics.Spread(Metric::kRequestTime).count(), 0U);
}

TEST(StreamMetrics, AtGranularityStreamNamesNoShard) {
  StreamMetrics metrics({.granularity = MetricsGranularity::kStream});
  metrics.OnResult(Stored(ShardId{1}), {kStart, 1}, kStart);
  metrics.OnResult(Stored(ShardId{2}), {kStart, 1}, kStart);
  metrics.Publish(kStart);
  const auto rows = metrics.Rows(Metric::kUserRecordsPut, Total);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].shard, kNowhere);
  EXPECT_EQ(rows[0].statistic.count, 2U);
}

TEST(StreamMetrics, MayBeReadWhileItCounts) {
  StreamMetrics metrics({});
  std::jthread feeder([&] {
    for (std::uint64_t i = 0; i < 2000; ++i) {
      metrics.OnPut(1);
      metrics.OnResult(Stored(ShardId{i % 7}), {kStart, 1}, kStart + milliseconds(i));
      metrics.Publish(kStart + milliseconds(i));
    }
  });
  double before = 0;
  while (before < 2000) {
    Statistic all;
    for (const auto& row : metrics.Rows(Metric::kUserRecordsPut, Total)) all.Add(row.statistic);
    ASSERT_GE(all.sum, before);
    before = all.sum;
    ASSERT_LE(metrics.pending(), 1);
  }
}

// Checks the sums whichever shards are forgotten meanwhile. Fails if: ForgetIdle does not keep the
// samples of a shard (without AddOld); it forgets a shard that has recent samples (without the
// comparison with `last`).
RC_GTEST_PROP(StreamMetricsProperty, NothingThatWasCountedIsLost, ()) {
  StreamMetrics metrics({});
  Instant now = kStart;
  std::map<std::uint64_t, Instant> last;
  Statistic wanted, taken;
  const auto steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    now = now + minutes(*rc::gen::inRange(0, 40));
    const auto shard = *rc::gen::inRange<std::uint64_t>(0, 5);
    const auto bytes = *rc::gen::inRange<std::size_t>(0, 1000);
    metrics.OnResult(Stored(ShardId{shard}), {kStart, bytes}, now);
    metrics.Publish(now);
    last[shard] = now;
    wanted.Add(static_cast<double>(bytes));
    Statistic all;
    std::size_t shards = 0;
    for (const auto& row : metrics.Rows(Metric::kUserRecordsDataPut, Total)) {
      all.Add(row.statistic);
      shards += row.shard ? 1U : 0U;
    }
    RC_ASSERT(all == wanted);
    if (*rc::gen::arbitrary<bool>()) {
      for (const auto& row : metrics.TakeRows(Metric::kUserRecordsDataPut))
        taken.Add(row.statistic);
      RC_ASSERT(taken == wanted);
    }
    const auto is_recent = [&](const auto& entry) { return now - entry.second < hours(1); };
    RC_ASSERT(static_cast<std::ptrdiff_t>(shards) >= std::ranges::count_if(last, is_recent));
  }
}

}  // namespace
}  // namespace weir::kinesis
