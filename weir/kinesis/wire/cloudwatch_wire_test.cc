// Tests of the body of PutMetricData. Names and limits are those of the Amazon CloudWatch API
// Reference.
#include "weir/kinesis/wire/cloudwatch_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace weir::kinesis {
namespace {

using nlohmann::json;

constexpr UnixMillis kAt{1'767'225'600'999};

std::string BodyOf(std::string_view identity, const Statistic& samples) {
  PutMetricDataBody body("Mine");
  body.Add(MetricDatum(identity, kAt, samples));
  return std::move(body).Finish();
}

TEST(CloudWatchWire, ADatumIsAStatisticSetWithNameUnitDimensionsAndTime) {
  const std::vector<MetricDimension> dimensions = {{"StreamName", "orders"}, {"ShardId", "s-1"}};
  EXPECT_EQ(BodyOf(MetricIdentity("UserRecordsPut", "Count", dimensions), {3, 6, 1, 3}),
            R"({"Namespace":"Mine","MetricData":[{"MetricName":"UserRecordsPut","Unit":"Count",)"
            R"("Dimensions":[{"Name":"StreamName","Value":"orders"},)"
            R"({"Name":"ShardId","Value":"s-1"}],"Timestamp":1767225600,)"
            R"("StatisticValues":{"SampleCount":3,"Sum":6,"Minimum":1,"Maximum":3}}]})");
}

TEST(CloudWatchWire, NumbersKeepAllTheirDigits) {
  const json read = json::parse(BodyOf(MetricIdentity("A", "Milliseconds", {}),
                                       {std::uint64_t{1} << 60, 1e300, 0.1, 123456789.123456789}));
  const json& values = read["MetricData"][0]["StatisticValues"];
  EXPECT_EQ(values["SampleCount"], std::uint64_t{1} << 60);
  EXPECT_EQ(values["Sum"], 1e300);
  EXPECT_EQ(values["Minimum"], 0.1);
  EXPECT_EQ(values["Maximum"], 123456789.123456789);
}

TEST(CloudWatchWire, ABodyKnowsItsSize) {
  PutMetricDataBody body("a \"name\"");
  const std::string datum = MetricDatum(MetricIdentity("A", "Count", {}), kAt, {1, 1, 1, 1});
  EXPECT_EQ(PutMetricDataBody("n").SizeWith(datum),
            BodyOf(MetricIdentity("A", "Count", {}), {1, 1, 1, 1}).size() - 3)
      << "its namespace is shorter";
  for (int i = 0; i < 2; ++i) body.Add(datum);
  const std::size_t size = body.SizeWith(datum);
  body.Add(datum);
  const std::string text = std::move(body).Finish();
  EXPECT_EQ(size, text.size());
  EXPECT_EQ(json::parse(text)["MetricData"].size(), 3U);
  EXPECT_EQ(json::parse(text)["Namespace"], "a \"name\"");
  EXPECT_EQ(json::parse(PutMetricDataBody("n").Finish())["MetricData"].size(), 0U);
}

// CloudWatch refuses a whole request because of one invalid dimension.
TEST(CloudWatchWire, DimensionsAreWhatCloudWatchAccepts) {
  EXPECT_EQ(DimensionValue("It's \"ok\": 100 %"), "It's \"ok\": 100 %");
  EXPECT_EQ(DimensionValue("a\nb\xC3\xBC\x7F"), "a?b???");
  EXPECT_EQ(DimensionValue(std::string(2'000, 'x')).size(), 1'024U);
  const std::vector<MetricDimension> blank = {{"A", ""}, {"B", "  "}, {"C", "c\t"}};
  EXPECT_EQ(MetricIdentity("M", "Count", blank),
            R"({"MetricName":"M","Unit":"Count","Dimensions":[{"Name":"C","Value":"c?"}])");
  for (const char* const good : {"Host", "a b", "x:y"}) EXPECT_TRUE(IsDimensionName(good)) << good;
  for (const char* const bad : {"", " ", ":a", "\xC3\xBC", "a\n"}) {
    EXPECT_FALSE(IsDimensionName(bad)) << bad;
  }
  EXPECT_TRUE(IsDimensionName(std::string(255, 'n')));
  EXPECT_FALSE(IsDimensionName(std::string(256, 'n')));
}

TEST(CloudWatchWire, ANamespaceIsOneThatCloudWatchTakesFromACustomer) {
  for (const char* const good : {"KinesisProducerLibrary", "a/b #1:_x.y-z", "AWS"}) {
    EXPECT_TRUE(IsMetricsNamespace(good)) << good;
  }
  for (const char* const bad : {"", "  ", "AWS/Kinesis", ":a", "a,b", "\xC3\xBC"}) {
    EXPECT_FALSE(IsMetricsNamespace(bad)) << bad;
  }
  EXPECT_TRUE(IsMetricsNamespace(std::string(255, 'n')));
  EXPECT_FALSE(IsMetricsNamespace(std::string(256, 'n')));
}

}  // namespace
}  // namespace weir::kinesis
