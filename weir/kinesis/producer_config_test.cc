#include "weir/kinesis/producer_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "weir/kinesis/properties_file.h"

namespace weir::kinesis {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string NamesAndValues(const std::vector<Property>& properties) {
  std::string text;
  for (const Property& property : properties) {
    text += std::to_string(property.line) + "[" + property.name + "][" + property.value + "]";
  }
  return text;
}

std::string Read(std::string_view text) {
  const auto properties = ReadProperties(text);
  return properties ? NamesAndValues(*properties) : properties.error().message;
}

// Compares with java.util.Properties.
TEST(PropertiesFile, ReadsWhatJavaReads) {
  EXPECT_EQ(Read("a=1\nb : 2\nc 3\nd\n"), "1[a][1]2[b][2]3[c][3]4[d][]");
  EXPECT_EQ(Read("  a  =  1  \r\n\r\n# no\n  ! no\nb=#2"), "1[a][1]5[b][#2]");
  EXPECT_EQ(Read("a = one \\\n   two\nb=\\\\\nc=3"), "1[a][one two]3[b][\\]4[c][3]");
  EXPECT_EQ(Read("a\\ b\\=c = \\u00e4\\t\\x"), "1[a b=c][\xC3\xA4\tx]");
  EXPECT_EQ(Read("a == 1"), "1[a][= 1]");
  EXPECT_EQ(Read("a=1\r#no\r\rb=2\n\rc=3\\\r  4\r\nd=5"), "1[a][1]4[b][2]6[c][34]8[d][5]");
  EXPECT_EQ(Read("a=1\\"), "1[a][1]");
  EXPECT_EQ(Read(""), "");
  EXPECT_THAT(Read("x=1\na=\\u12"), HasSubstr("line 2"));
}

TEST(ProducerConfig, ReadsAFileOfTheLibraryUnchanged) {
  std::ifstream file(WEIR_SOURCE_DIR "/weir/kinesis/testdata/kpl.properties");
  std::ostringstream text;
  text << file.rdbuf();
  const auto loaded = ParseProperties(text.str());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(loaded->ignored, SizeIs(16));
  EXPECT_THAT(loaded->ignored, Contains("ThreadingModel"));
  const ProducerConfig& config = loaded->config;
  EXPECT_FALSE(config.aggregation_enabled);
  EXPECT_EQ(config.record_ttl, milliseconds(INT64_MAX));
  EXPECT_EQ(config.region, "eu-central-1");
  EXPECT_EQ(config.endpoint, "kinesis.example.com");
  EXPECT_EQ(config.port, 8443);
  EXPECT_FALSE(config.verify_certificate);
  EXPECT_EQ(config.connect_timeout, milliseconds(1500));
  EXPECT_EQ(config.request_timeout, milliseconds(9000));
  EXPECT_EQ(config.max_user_record_bytes, 2'097'152);
  EXPECT_EQ(config.metrics_level, "summary");
  EXPECT_EQ(config.metrics_granularity, "stream");
  EXPECT_EQ(config.metrics_namespace, "Mine");
  EXPECT_EQ(config.metrics_upload_delay, milliseconds(30'000));
  EXPECT_EQ(config.cloudwatch_endpoint, "");
  EXPECT_EQ(config.cloudwatch_port, 443);
  const PipelineOptions options = config.Pipeline();
  EXPECT_EQ(options.aggregator.mode, AggregatorOptions::Mode::kSeparately);
  EXPECT_EQ(options.aggregator.max_count, 1000U);
  EXPECT_EQ(options.aggregator.max_bytes, 65'536U);
  EXPECT_EQ(options.limiter.records, PerSecond(768).Burst(16));
  EXPECT_EQ(options.limiter.bytes, PerSecond(813'694).Burst(16'777));
  EXPECT_EQ(options.collector.max_count, 250U);
  EXPECT_EQ(options.collector.max_bytes, 1'048'576U);
  EXPECT_EQ(options.collector.linger, milliseconds(50));
  EXPECT_TRUE(options.retry.fail_if_throttled);
  EXPECT_EQ(options.window.max_requests, 48U);
}

TEST(ProducerConfig, SendsWhatAShardTakesUnlessToldOtherwise) {
  const PipelineOptions options = ProducerConfig().Pipeline();
  EXPECT_EQ(options.limiter.records, PerSecond(960).Burst(20))
      << "not more than 1000 in any second";
  EXPECT_EQ(options.limiter.bytes, PerSecond(1'017'118).Burst(20'971));
  EXPECT_EQ(options.collector.linger, milliseconds(20)) << "a fifth of the buffered time";
}

TEST(ProducerConfig, KnowsSettingsThatTheLibraryHasNot) {
  const auto loaded = ParseProperties(
      "wire_format=json\nordered=true\nput_timeout=0\nmax_outstanding_records=7\n"
      "max_outstanding_bytes=2000000\nmax_in_flight_bytes=3000000");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config.wire, WireFormat::kJson);
  EXPECT_TRUE(loaded->config.ordered);
  EXPECT_TRUE(loaded->config.Pipeline().ordered);
  EXPECT_EQ(loaded->config.put_timeout, milliseconds(0));
  EXPECT_EQ(loaded->config.max_outstanding_records, 7);
  EXPECT_EQ(loaded->config.max_outstanding_bytes, 2'000'000);
  EXPECT_EQ(loaded->config.Pipeline().window.max_bytes, 3'000'000U);
  EXPECT_FALSE(ParseProperties("wire_format=xml"));
  EXPECT_EQ(ParseProperties("wire_format=cbor")->config.wire, WireFormat::kCbor);
}

TEST(ProducerConfig, BoundsKeysAttemptsAndRequestsOfAShardWhereAskedTo) {
  const auto loaded =
      ParseProperties("aggregate_same_key_only=true\nmax_attempts=3\nmax_requests_per_shard=1");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(loaded->unknown, IsEmpty());
  PipelineOptions options = loaded->config.Pipeline();
  EXPECT_EQ(options.aggregator.mode, AggregatorOptions::Mode::kByPartitionKey);
  EXPECT_EQ(options.retry.max_attempts, 3U);
  EXPECT_EQ(options.window.max_shard_requests, 1U);
  options = ProducerConfig{}.Pipeline();
  EXPECT_EQ(options.aggregator.mode, AggregatorOptions::Mode::kByShard);
  EXPECT_EQ(options.retry.max_attempts, 0U);
  EXPECT_EQ(options.window.max_shard_requests, 16U);
  options =
      ParseProperties("aggregate_same_key_only=true\nAggregationEnabled=false")->config.Pipeline();
  EXPECT_EQ(options.aggregator.mode, AggregatorOptions::Mode::kSeparately);
}

TEST(ProducerConfig, WhatAFileDoesNotNameIsAsTheCallerWantsIt) {
  const ProducerConfig defaults{.record_ttl = std::chrono::minutes(10)};
  EXPECT_EQ(ParseProperties("Region=a", defaults)->config.record_ttl, std::chrono::minutes(10));
  EXPECT_EQ(ParseProperties("RecordTtl=100", defaults)->config.record_ttl, milliseconds(100));
}

TEST(ProducerConfig, TakesTheRatesOfAShardInNumbers) {
  const auto loaded = ParseProperties(
      "rate_limit_records_per_sec_per_shard=250\nrate_limit_bytes_per_sec_per_shard=99");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config.Pipeline().limiter.records, PerSecond(250));
  EXPECT_EQ(loaded->config.Pipeline().limiter.bytes, PerSecond(99));
  EXPECT_THAT(loaded->ignored, IsEmpty());
}

TEST(ProducerConfig, TheLastOfEqualNamesCounts) {
  EXPECT_EQ(ParseProperties("Region=a\nRegion=b")->config.region, "b");
}

// Fails if: a file that the library reads with a warning is refused.
TEST(ProducerConfig, K15WhatTheLibraryWarnsOfIsNoError) {
  const auto loaded = ParseProperties("RecordsTtl=5000\nAggregationEnabled=False\nordered=TRUE");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(loaded->unknown, ElementsAre("RecordsTtl"));
  EXPECT_FALSE(loaded->config.aggregation_enabled);
  EXPECT_TRUE(loaded->config.ordered);
}

TEST(ProducerConfig, RefusesWithTheRange) {
  const std::pair<std::string_view, std::vector<std::string>> cases[] = {
      {"\nCollectionMaxCount=501", {"line 2", "CollectionMaxCount", "'501'", "1 to 500"}},
      {"AggregationMaxSize=63", {"64 to 10485760"}},
      {"RecordTtl=99", {"100 to"}},
      {"RateLimit=0", {"1 to"}},
      {"MaxConnections=many", {"'many'", "1 to 256"}},
      {"KinesisPort=", {"1 to 65535"}},
      {"RequestTimeout=1e3", {"100 to 600000"}},
      {"AggregationEnabled=yes", {"true or false"}},
      {"MetricsLevel=all", {"none, summary, detailed"}},
      {"aggregate_same_key_only=1", {"line 1", "aggregate_same_key_only", "true or false"}},
      {"max_attempts=-1", {"max_attempts", "'-1'", "0 to 1000000"}},
      {"max_requests_per_shard=0", {"max_requests_per_shard", "1 to 256"}},
      {"MetricsNamespace=AWS/Kinesis", {"'AWS/Kinesis'", "without 'AWS/'"}},
      {"MetricsNamespace=", {"1 to 255"}},
      {"MetricsUploadDelay=60001", {"1 to 60000"}},
      {"CloudwatchPort=0", {"1 to 65535"}},
      {"\n\nAdditionalMetricDims=A=b", {"line 3", "AdditionalMetricDims", "'A=b'", "NAME=VALUE"}},
  };
  for (const auto& [text, parts] : cases) {
    const auto loaded = ParseProperties(text);
    ASSERT_FALSE(loaded) << text;
    EXPECT_EQ(loaded.error().code, Code::kInvalidArgument);
    for (const std::string& part : parts) EXPECT_THAT(loaded.error().message, HasSubstr(part));
  }
}

// Fails if: a retried record waits for batching for another time than half of a new record's.
TEST(ProducerConfig, K16WhatIsTriedAgainWaitsForHalfTheBufferedTime) {
  EXPECT_EQ(ProducerConfig{}.Pipeline().retry_linger, milliseconds(50));
  EXPECT_EQ(ProducerConfig{.record_max_buffered_time = milliseconds(3'000)}.Pipeline().retry_linger,
            milliseconds(1'500));
  EXPECT_EQ(ProducerConfig{.record_max_buffered_time = milliseconds(0)}.Pipeline().retry_linger,
            milliseconds(0));
  EXPECT_GT(ProducerConfig{.record_max_buffered_time = milliseconds::max()}.Pipeline().retry_linger,
            std::chrono::hours(24 * 365));
}

}  // namespace
}  // namespace weir::kinesis
