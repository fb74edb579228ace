#include "weir/kinesis/metrics/metric_dimensions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::kinesis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Granularity = MetricsGranularity;

std::string NamesOf(const std::vector<MetricDimension>& dimensions) {
  std::string text;
  for (const auto& [name, value] : dimensions) text += name + "=" + value + " ";
  return text;
}

std::string MessageFor(std::string_view text) {
  const auto parsed = ParseAdditionalDimensions(text);
  return parsed ? "" : parsed.error().message;
}

TEST(AdditionalDimensions, AreReadWithTheirGranularity) {
  EXPECT_THAT(*ParseAdditionalDimensions("Service=check out:global,Url = http://h:1/x=y : shard"),
              ElementsAre(AdditionalDimension{"Service", "check out", Granularity::kGlobal},
                          AdditionalDimension{"Url", "http://h:1/x=y", Granularity::kShard}));
  EXPECT_THAT(*ParseAdditionalDimensions(""), IsEmpty());
  EXPECT_THAT(*ParseAdditionalDimensions("  "), IsEmpty());
}

TEST(AdditionalDimensions, ARefusalSaysWhichAndWhatWouldBeRight) {
  EXPECT_THAT(MessageFor("A=b:global, C"), HasSubstr("'C': give NAME=VALUE:GRANULARITY"));
  EXPECT_THAT(MessageFor("A=b"), HasSubstr("give NAME=VALUE:GRANULARITY"));
  EXPECT_THAT(MessageFor("a:global=b"), HasSubstr("give NAME=VALUE:GRANULARITY"));
  EXPECT_THAT(MessageFor("A=b:region"), HasSubstr("global, stream or shard"));
  EXPECT_THAT(MessageFor("=b:shard"), HasSubstr("1 to 255 printable"));
  EXPECT_THAT(MessageFor("A=:shard"), HasSubstr("1 to 1024 printable"));
  EXPECT_THAT(MessageFor("A=\xC3\xBC:shard"), HasSubstr("1 to 1024 printable"));
  EXPECT_THAT(MessageFor("A=" + std::string(1'025, 'x') + ":shard"), HasSubstr("1 to 1024"));
  EXPECT_THAT(MessageFor("ShardId=1:shard"), HasSubstr("the producer itself sets this name"));
  EXPECT_THAT(MessageFor("A=1:shard,A=2:global"), HasSubstr("given twice"));
}

TEST(AdditionalDimensions, AreAsManyAsCloudWatchAllowsWithTheLibrarysOwn) {
  std::string text = "D0=v:global";
  for (int i = 1; i < 27; ++i) text += fmt::format(",D{}=v:global", i);
  EXPECT_THAT(*ParseAdditionalDimensions(text), SizeIs(27));
  EXPECT_THAT(MessageFor(text + ",E=v:global"), HasSubstr("at most 27"));
}

// The order of the library's tree: name, additional global dimensions, error code, stream, its
// additional ones, shard, its additional ones.
TEST(DimensionsOfAMetric, AreThoseOfItsNodeAndOfAllAboveIt) {
  const auto additional = *ParseAdditionalDimensions("S=s:shard,T=t:stream,G=g:global");
  EXPECT_EQ(NamesOf(DimensionsOf({}, additional)), "G=g ");
  EXPECT_EQ(NamesOf(DimensionsOf({.code = "E"}, additional)), "G=g ErrorCode=E ");
  EXPECT_EQ(NamesOf(DimensionsOf({.stream = "a"}, additional)), "G=g StreamName=a T=t ");
  EXPECT_EQ(NamesOf(DimensionsOf({.code = "E", .stream = "a", .shard = "1"}, additional)),
            "G=g ErrorCode=E StreamName=a T=t ShardId=1 S=s ");
  EXPECT_THAT(DimensionsOf({}, {}), IsEmpty());
}

}  // namespace
}  // namespace weir::kinesis
