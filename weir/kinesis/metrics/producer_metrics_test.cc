#include "weir/kinesis/metrics/producer_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Level = MetricsLevel;
using Granularity = MetricsGranularity;

KinesisRecord RecordOfThree(ShardId shard) {
  return {.records = std::vector<UserRecord>(3), .data = "123456789", .shard = shard};
}

/// Adds every kind of event of a shard: a record that is stored, one that fails, one that expires.
void Feed(StreamMetrics& metrics, ShardId shard, Instant now = kStart) {
  const std::vector<KinesisRecord> sent = {RecordOfThree(shard), RecordOfThree(shard)};
  const EntryResponse good{.shard = FormatShardId(shard), .sequence_number = "1"};
  const EntryResponse bad{.code = "InternalFailure", .message = "no"};
  for (int i = 0; i < 3; ++i) metrics.OnPut(3);
  metrics.OnSend(sent);
  metrics.OnResponse(sent, std::vector{good, bad}, now - milliseconds(2), now);
  for (const std::string_view code : {"", "InternalFailure", "Expired"}) {
    RecordResult result{.stored = code.empty(), .shard = shard};
    result.attempts.Add({.began = now - milliseconds(2), .ended = now, .code = std::string(code)});
    metrics.OnResult(result, {now - milliseconds(10), 3}, now);
  }
  metrics.Publish(now);
}

std::vector<MetricReading> ReadAll(const ProducerMetrics& metrics, Metric metric) {
  return *metrics.Read({.metric = metric, .window = {}}, kStart);
}

std::set<std::string_view> NamesAt(Level level) {
  ProducerMetrics metrics({.level = level});
  Feed(metrics.Stream("s"), ShardId{1});
  std::set<std::string_view> names;
  const auto readings = metrics.Read({}, kStart);
  for (const MetricReading& reading : *readings) names.insert(InfoOf(reading.metric).name);
  return names;
}

TEST(ProducerMetrics, HasTheLibrarysNamesByLevel) {
  const std::set<std::string_view> summary = {
      "UserRecordsPut",    "KinesisRecordsPut", "ErrorsByCode", "AllErrors",
      "UserRecordExpired", "BufferingTime",     "TimeToResult"};  // our own
  std::set<std::string_view> detailed = {"UserRecordsReceived",
                                         "UserRecordsPending",
                                         "UserRecordsDataPut",
                                         "KinesisRecordsDataPut",
                                         "RetriesPerRecord",
                                         "RequestTime",
                                         "UserRecordsPerKinesisRecord",
                                         "KinesisRecordsPerPutRecordsRequest",
                                         "UserRecordsPerPutRecordsRequest",
                                         "UserRecordsDataReceived"};  // our own
  detailed.insert(summary.begin(), summary.end());
  EXPECT_EQ(NamesAt(Level::kDetailed), detailed);
  EXPECT_EQ(NamesAt(Level::kSummary), summary);
  EXPECT_EQ(NamesAt(Level::kNone), std::set<std::string_view>{});
  for (const std::string_view name : detailed) EXPECT_EQ(InfoOf(*MetricNamed(name)).name, name);
  EXPECT_EQ(MetricNamed("UnhealthyDaemon"), std::nullopt);
}

TEST(ProducerMetrics, TellsUnits) {
  EXPECT_EQ(InfoOf(Metric::kUserRecordsDataPut).unit, "Bytes");
  EXPECT_EQ(InfoOf(Metric::kBufferingTime).unit, "Milliseconds");
  EXPECT_EQ(InfoOf(Metric::kAllErrors).unit, "Count");
}

struct Cut {
  Granularity granularity;
  std::size_t nodes;
};

class ProducerMetricsCuts : public testing::TestWithParam<Cut> {};

// Two streams with two shards each: seven nodes for each name of the library.
TEST_P(ProducerMetricsCuts, SumUpToEveryAncestor) {
  ProducerMetrics metrics({.granularity = GetParam().granularity});
  for (const char* stream : {"a", "b"}) {
    for (const std::uint64_t shard : {1U, 2U}) Feed(metrics.Stream(stream), ShardId{shard});
  }
  const auto readings = ReadAll(metrics, Metric::kUserRecordsPut);
  ASSERT_THAT(readings, SizeIs(GetParam().nodes));
  for (const MetricReading& reading : readings) {
    const std::uint64_t under =
        (reading.stream.empty() ? 2U : 1U) * (reading.shard.empty() ? 2U : 1U);
    EXPECT_EQ(reading.statistic.count, 3 * under) << reading.stream << " " << reading.shard;
    EXPECT_EQ(reading.statistic.sum, static_cast<double>(under));
  }
}

TEST_P(ProducerMetricsCuts, AreTakenOnceAtEveryAncestor) {
  ProducerMetrics metrics({.granularity = GetParam().granularity});
  for (int round = 0; round < 2; ++round) {
    for (const char* stream : {"a", "b"}) Feed(metrics.Stream(stream), ShardId{1});
    const auto taken = metrics.Take();
    EXPECT_THAT(metrics.Take(), IsEmpty());
    for (const MetricReading& reading : taken) {
      const std::uint64_t streams = reading.stream.empty() ? 2 : 1;
      if (reading.metric != Metric::kUserRecordsPut) continue;
      EXPECT_EQ(reading.statistic, (Statistic{3 * streams, static_cast<double>(streams), 0, 1}))
          << round;
    }
  }
  EXPECT_EQ(ReadAll(metrics, Metric::kUserRecordsPut).front().statistic.count, 12U);
}

INSTANTIATE_TEST_SUITE_P(All, ProducerMetricsCuts,
                         testing::Values(Cut{Granularity::kGlobal, 1}, Cut{Granularity::kStream, 3},
                                         Cut{Granularity::kShard, 7}));

TEST(ProducerMetrics, ReadsErrorsByTheirCode) {
  ProducerMetrics metrics({});
  Feed(metrics.Stream("a"), ShardId{1});
  const auto readings = ReadAll(metrics, Metric::kErrorsByCode);
  ASSERT_THAT(readings, SizeIs(3));
  EXPECT_EQ(readings[0].code, "InternalFailure");
  EXPECT_EQ(readings[0].stream, "");
  EXPECT_EQ(readings[2].shard, "shardId-000000000001");
}

TEST(ProducerMetrics, ReadsTheLastSeconds) {
  ProducerMetrics metrics({});
  for (int i = 0; i < 10; ++i) Feed(metrics.Stream("a"), ShardId{1}, kStart + seconds(i));
  const Instant now = kStart + seconds(9);
  const MetricQuery query{.metric = Metric::kUserRecordsPut, .window = seconds(2)};
  EXPECT_EQ(metrics.Read(query, now)->front().statistic, (Statistic{6, 2, 0, 1}));
  EXPECT_EQ(metrics.Read(query, now + seconds(60))->front().statistic, Statistic{})
      << "a node stays, with nothing in it";
  for (const int window : {0, -1, 61}) {
    const auto refused = metrics.Read({.metric = {}, .window = seconds(window)}, now);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  }
}

TEST(ProducerMetrics, IsTheSameForTheSameStream) {
  ProducerMetrics metrics({});
  EXPECT_EQ(&metrics.Stream("a"), &metrics.Stream("a"));
  EXPECT_NE(&metrics.Stream("a"), &metrics.Stream("b"));
}

TEST(ProducerMetrics, SpreadsAreOfAllStreams) {
  ProducerMetrics metrics({});
  Feed(metrics.Stream("a"), ShardId{1});
  Feed(metrics.Stream("b"), ShardId{1});
  EXPECT_EQ(metrics.Spread(Metric::kTimeToResult).count(), 6U);
  EXPECT_EQ(metrics.Spread(Metric::kTimeToResult).max(), 10'000'000);
  EXPECT_EQ(metrics.Spread(Metric::kRequestTime).max(), 2'000'000);
  EXPECT_EQ(metrics.Spread(Metric::kBufferingTime).max(), 8'000'000);
}

/// Returns the lines that are samples, without the buckets of histograms.
std::vector<std::string> Samples(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with("#") && line.find("_bucket") == std::string::npos) lines.push_back(line);
  }
  return lines;
}

TEST(ProducerMetrics, AreTextForPrometheus) {
  ProducerMetrics metrics({});
  Registry registry;
  ASSERT_TRUE(metrics.Register(registry));
  Feed(metrics.Stream("a\"b"), ShardId{1});
  const std::string own = R"({stream="a\"b"} )";
  const std::string shard = R"({stream="a\"b",shard="shardId-000000000001"} )";
  const std::string error =
      R"({code="InternalFailure",stream="a\"b",shard="shardId-000000000001"} )";
  const std::string k = "weir_kinesis_";
  EXPECT_THAT(
      Samples(registry.Text()),
      ElementsAre(
          k + "buffering_seconds_count" + own + "3", k + "buffering_seconds_sum" + own + "0.024",
          k + "errors_by_code_total" + error + "1", k + "errors_total" + shard + "1",
          k + "kinesis_records_put_bytes_total" + shard + "9",
          k + "kinesis_records_put_total" + shard + "1",
          k + "kinesis_records_sent_total" + shard + "2", k + "request_seconds_count" + own + "1",
          k + "request_seconds_sum" + own + "0.002", k + "requests_total" + own + "1",
          k + "retries_total" + shard + "0", k + "time_to_result_seconds_count" + own + "3",
          k + "time_to_result_seconds_sum" + own + "0.03",
          k + "user_records_expired_total" + shard + "1",
          k + "user_records_failed_total" + shard + "2", k + "user_records_pending" + own + "0",
          k + "user_records_put_bytes_total" + shard + "3",
          k + "user_records_put_total" + shard + "1",
          k + "user_records_received_bytes_total" + own + "9",
          k + "user_records_received_total" + own + "3",
          k + "user_records_sent_total" + shard + "6"));
}

// Under another label its counts would look like a burst.
TEST(ProducerMetrics, TheSeriesOfAShardThatIsForgottenEnds) {
  ProducerMetrics metrics({});
  Registry registry;
  ASSERT_TRUE(metrics.Register(registry));
  Feed(metrics.Stream("a"), ShardId{1});
  Feed(metrics.Stream("a"), ShardId{2}, kStart + std::chrono::hours(2));
  const std::string text = registry.Text();
  EXPECT_THAT(text, Not(HasSubstr("shardId-000000000001")));
  EXPECT_THAT(text, Not(HasSubstr("weir_kinesis_user_records_put_total{stream=\"a\"}")));
  EXPECT_EQ(ReadAll(metrics, Metric::kUserRecordsPut).front().statistic.sum, 2) << "but of all";
}

TEST(ProducerMetrics, OfAllStreamsHaveNoLabels) {
  ProducerMetrics metrics({.granularity = Granularity::kGlobal});
  Registry registry;
  ASSERT_TRUE(metrics.Register(registry));
  Feed(metrics.Stream("a"), ShardId{1});
  Feed(metrics.Stream("b"), ShardId{1});
  EXPECT_THAT(registry.Text(), HasSubstr("\nweir_kinesis_user_records_put_total 2\n"));
}

TEST(ProducerMetrics, HaveNamesForPrometheusByLevel) {
  Registry none;
  ASSERT_TRUE(ProducerMetrics({.level = Level::kNone}).Register(none));
  EXPECT_EQ(none.Text(), "");
  const ProducerMetrics metrics({.level = Level::kSummary});
  Registry summary;
  ASSERT_TRUE(metrics.Register(summary));
  const std::string text = summary.Text();
  EXPECT_THAT(text, HasSubstr("# TYPE weir_kinesis_user_records_put_total counter\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE weir_kinesis_buffering_seconds histogram\n"));
  EXPECT_THAT(text, Not(HasSubstr("weir_kinesis_request_seconds")));
  EXPECT_THAT(text, Not(HasSubstr("weir_kinesis_user_records_pending")));
  EXPECT_THAT(text, Not(HasSubstr("received")));
}

TEST(ProducerMetrics, OneProducerARegistry) {
  const ProducerMetrics metrics({});
  Registry registry;
  ASSERT_TRUE(metrics.Register(registry));
  EXPECT_EQ(metrics.Register(registry).error().code, Code::kAlreadyExists);
}

TEST(ProducerMetrics, AreAsTheConfigurationSays) {
  EXPECT_EQ(MetricsOf({}).level, Level::kDetailed);
  EXPECT_EQ(MetricsOf({}).granularity, Granularity::kShard);
  const auto loaded = ParseProperties("MetricsLevel=none\nMetricsGranularity=stream\n");
  EXPECT_EQ(MetricsOf(loaded->config).level, Level::kNone);
  EXPECT_EQ(MetricsOf(loaded->config).granularity, Granularity::kStream);
  EXPECT_EQ(ParseMetricsLevel("all"), std::nullopt);
  EXPECT_EQ(ParseMetricsGranularity(""), std::nullopt);
}

}  // namespace
}  // namespace weir::kinesis
