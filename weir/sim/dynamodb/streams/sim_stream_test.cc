// The stream of a simulated table.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/sim/dynamodb/dynamo_fixture.h"
#include "weir/sim/dynamodb/streams/dynamo_stream.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class SimStream : public DynamoFixture {
 protected:
  const std::string arn = Ok("DescribeTable", "{}")["Table"]["LatestStreamArn"];

  DynamoResponse Ask(const std::string& operation, json body) {
    HttpRequest request = DynamoRequest(operation, body);
    request.headers.back().value = "DynamoDBStreams_20120810." + operation;
    return ReadResponse(dynamo.Handle(request));
  }
  json Shards() {
    return Ask("DescribeStream", {{"StreamArn", arn}}).body["StreamDescription"]["Shards"];
  }
  DynamoResponse AskIterator(const std::string& shard, const std::string& type,
                             const std::string& number = "") {
    json body = {{"StreamArn", arn}, {"ShardId", shard}, {"ShardIteratorType", type}};
    if (!number.empty()) body["SequenceNumber"] = number;
    return Ask("GetShardIterator", body);
  }
  std::string Iterator(const std::string& shard, const std::string& type,
                       const std::string& number = "") {
    return AskIterator(shard, type, number).body.at("ShardIterator");
  }
  /// Returns the numbers of a page; stores its next iterator.
  std::vector<std::string> Read(const std::string& iterator, int limit = 1000) {
    clock.Advance(seconds(1));
    const auto page = Ask("GetRecords", {{"ShardIterator", iterator}, {"Limit", limit}});
    EXPECT_EQ(page.status, 200) << page.error;
    std::vector<std::string> numbers;
    for (const json& record : page.body["Records"]) {
      numbers.push_back(record["dynamodb"]["SequenceNumber"]);
    }
    next = page.body.value("NextShardIterator", "");
    return numbers;
  }
  std::string ShardAt(std::size_t index) { return dynamo.Stream("t")->shards().at(index).id; }

  std::string next;
};

TEST_F(SimStream, RecordsAreReadInTheirOrderFromAnyPosition) {
  for (const char* key : {"1", "2", "3"}) Put("a", key);
  const std::string shard = ShardAt(0);
  EXPECT_THAT(Read(Iterator(shard, "TRIM_HORIZON"), 2),
              ElementsAre(ToSequenceText(1), ToSequenceText(2)));
  EXPECT_THAT(Read(next), ElementsAre(ToSequenceText(3)));
  EXPECT_THAT(Read(next), IsEmpty());
  EXPECT_NE(next, "");
  EXPECT_THAT(Read(Iterator(shard, "AT_SEQUENCE_NUMBER", ToSequenceText(3))),
              ElementsAre(ToSequenceText(3)));
  EXPECT_THAT(Read(Iterator(shard, "AFTER_SEQUENCE_NUMBER", ToSequenceText(2))),
              ElementsAre(ToSequenceText(3)));
  EXPECT_THAT(Read(Iterator(shard, "LATEST")), IsEmpty());
  EXPECT_EQ(AskIterator("shard", "LATEST").error, "ResourceNotFoundException");
}

TEST_F(SimStream, ASplitShardEndsAndItsChildrenHaveTheLaterRecords) {
  Put("a", "1");
  dynamo.ReplaceShard("t", 0, true);
  for (int i = 0; i < 20; ++i) Put(fmt::format("key{}", i), "1");
  EXPECT_THAT(Read(Iterator(ShardAt(0), "TRIM_HORIZON")), ElementsAre(ToSequenceText(1)));
  EXPECT_EQ(next, "");
  const auto low = Read(Iterator(ShardAt(1), "TRIM_HORIZON"));
  const auto high = Read(Iterator(ShardAt(2), "TRIM_HORIZON"));
  EXPECT_EQ(low.size() + high.size(), 20U);
  EXPECT_FALSE(low.empty() || high.empty());
  const json shards = Shards();
  ASSERT_EQ(shards.size(), 3U);
  EXPECT_TRUE(shards[0]["SequenceNumberRange"].contains("EndingSequenceNumber"));
  EXPECT_EQ(shards[1]["ParentShardId"], ShardAt(0));
}

TEST_F(SimStream, ShardsAreListedInPages) {
  dynamo.ReplaceShard("t", 0, true);
  dynamo.faults.stream_page = 2;
  const auto first = Ask("DescribeStream", {{"StreamArn", arn}}).body["StreamDescription"];
  EXPECT_EQ(first["Shards"].size(), 2U);
  const auto rest =
      Ask("DescribeStream",
          {{"StreamArn", arn}, {"ExclusiveStartShardId", first["LastEvaluatedShardId"]}})
          .body["StreamDescription"];
  EXPECT_EQ(rest["Shards"].size(), 1U);
  EXPECT_FALSE(rest.contains("LastEvaluatedShardId"));
}

TEST_F(SimStream, OldRecordsAndShardsAreGone) {
  for (const char* key : {"1", "2"}) Put("a", key);
  const std::string shard = ShardAt(0);
  const std::string early = Iterator(shard, "TRIM_HORIZON");
  clock.Advance(minutes(14));
  clock.SetWall(clock.WallNow() + milliseconds(86'400'000));
  Put("a", "3");
  EXPECT_EQ(Ask("GetRecords", {{"ShardIterator", early}}).error, "TrimmedDataAccessException");
  for (const char* type : {"AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"}) {
    EXPECT_EQ(AskIterator(shard, type, ToSequenceText(2)).error, "TrimmedDataAccessException");
  }
  EXPECT_THAT(Read(Iterator(shard, "TRIM_HORIZON")), ElementsAre(ToSequenceText(3)));
  dynamo.ReplaceShard("t", 0, false);
  clock.Advance(hours(24));
  EXPECT_EQ(AskIterator(shard, "TRIM_HORIZON").error, "ResourceNotFoundException");
  EXPECT_EQ(Shards().size(), 1U);
}

TEST_F(SimStream, IteratorsExpire) {
  const std::string iterator = Iterator(ShardAt(0), "TRIM_HORIZON");
  clock.Advance(minutes(15));
  EXPECT_EQ(Ask("GetRecords", {{"ShardIterator", iterator}}).error, "ExpiredIteratorException");
  EXPECT_EQ(dynamo.counts().expired_iterators, 1U);
}

TEST_F(SimStream, AShardIsReadFiveTimesInASecond) {
  const std::string iterator = Iterator(ShardAt(0), "TRIM_HORIZON");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(Ask("GetRecords", {{"ShardIterator", iterator}}).status, 200);
  EXPECT_EQ(Ask("GetRecords", {{"ShardIterator", iterator}}).error, "LimitExceededException");
  EXPECT_EQ(dynamo.counts().limited_reads, 1U);
}

TEST_F(SimStream, PagesMayBeEmptyBeforeTheEnd) {
  Put("a", "1");
  dynamo.faults.empty_stream_page = 1;
  EXPECT_THAT(Read(Iterator(ShardAt(0), "TRIM_HORIZON")), IsEmpty());
  dynamo.faults.empty_stream_page = 0;
  EXPECT_THAT(Read(next), ElementsAre(ToSequenceText(1)));
}

}  // namespace
}  // namespace weir::sim
