#include "weir/dynamodb/streams/stream_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/dynamodb/table_layout.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using At = ShardPosition::At;

// The shape of the example in the API reference of DescribeStream.
constexpr char kAwsStream[] = R"({"StreamDescription":{
  "CreationRequestDateTime":1437780000000,
  "KeySchema":[{"AttributeName":"ForumName","KeyType":"HASH"}],
  "LastEvaluatedShardId":"shardId-00000001415575208348-98d954b6",
  "Shards":[
    {"SequenceNumberRange":{"EndingSequenceNumber":"20500000000000000910398",
                            "StartingSequenceNumber":"20500000000000000910398"},
     "ShardId":"shardId-00000001414562045508-2bac9cd2"},
    {"ParentShardId":"shardId-00000001414562045508-2bac9cd2",
     "SequenceNumberRange":{"StartingSequenceNumber":"820400000000000001192334"},
     "ShardId":"shardId-00000001414576573621-f55eea83"}],
  "StreamArn":"arn:aws:dynamodb:us-west-2:111122223333:table/Forum/stream/2015-05-20T20:51:10.252",
  "StreamLabel":"2015-05-20T20:51:10.252","StreamStatus":"ENABLED",
  "StreamViewType":"KEYS_ONLY","TableName":"Forum"}})";

TEST(DescribeTable, NamesTheLatestStream) {
  const std::string table =
      R"({"Table":{"TableStatus":"ACTIVE","AttributeDefinitions":[],"KeySchema":[{"AttributeName":)"
      R"("PK","KeyType":"HASH"}])";
  EXPECT_EQ(ReadDescription(table + R"(,"LatestStreamArn":"arn:stream"}})")->stream_arn,
            "arn:stream");
  EXPECT_EQ(ReadDescription(table + "}}")->stream_arn, "");
}

TEST(DescribeStream, ReadsTheShardsOfAPage) {
  const auto page = ReadDescribeStream(kAwsStream);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->status, "ENABLED");
  EXPECT_EQ(page->last_shard, "shardId-00000001415575208348-98d954b6");
  EXPECT_THAT(page->shards, ElementsAre(StreamShard{"shardId-00000001414562045508-2bac9cd2", "",
                                                    "20500000000000000910398"},
                                        StreamShard{"shardId-00000001414576573621-f55eea83",
                                                    "shardId-00000001414562045508-2bac9cd2",
                                                    "820400000000000001192334"}));
}

// Recorded from dynoxide 1.2.1 before the first write.
TEST(DescribeStream, AShardMayHaveNoSequenceNumber) {
  const auto page = ReadDescribeStream(
      R"({"StreamDescription":{"StreamArn":"a","StreamLabel":"1","StreamStatus":"ENABLED",)"
      R"("TableName":"abc","Shards":[{"ShardId":"shardId-00000001-abc","SequenceNumberRange":{}}],)"
      R"("CreationRequestDateTime":1795696395.0}})");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(page->shards, ElementsAre(StreamShard{"shardId-00000001-abc", "", ""}));
  EXPECT_EQ(page->last_shard, "");
}

TEST(DescribeStream, AnotherBodyIsAnError) {
  for (const char* body :
       {"", "[]", "{}", R"({"StreamDescription":{"Shards":[{}]}})",
        R"({"StreamDescription":{"Shards":[{"ShardId":"s","SequenceNumberRange":)"
        R"({"StartingSequenceNumber":"x"}}]}})"}) {
    const auto page = ReadDescribeStream(body);
    ASSERT_FALSE(page) << body;
    EXPECT_EQ(page.error().code, Code::kUnknown);
    EXPECT_THAT(page.error().message, HasSubstr("DescribeStream"));
  }
}

TEST(DescribeStream, TheNextPageBeginsAfterAShard) {
  EXPECT_EQ(DescribeStreamBody("arn", ""), R"({"StreamArn":"arn"})");
  EXPECT_EQ(DescribeStreamBody("arn", "s-1"),
            R"({"StreamArn":"arn","ExclusiveStartShardId":"s-1"})");
}

TEST(GetShardIterator, NamesThePosition) {
  const auto body = [](const ShardPosition& position) {
    return ShardIteratorBody("arn", "s", position);
  };
  EXPECT_EQ(body({At::kTrimHorizon}),
            R"({"StreamArn":"arn","ShardId":"s","ShardIteratorType":"TRIM_HORIZON"})");
  EXPECT_THAT(body({At::kLatest}), HasSubstr(R"("LATEST"})"));
  EXPECT_THAT(body({At::kAt, "7"}),
              HasSubstr(R"("AT_SEQUENCE_NUMBER","SequenceNumber":"000000000000000000007"})"));
  EXPECT_THAT(body({At::kAfter, "7"}),
              HasSubstr(R"("AFTER_SEQUENCE_NUMBER","SequenceNumber":"000000000000000000007"})"));
}

TEST(GetShardIterator, ReadsTheIterator) {
  EXPECT_EQ(ReadShardIterator(R"({"ShardIterator":"arn:aws:dynamodb|1|AAAA"})"),
            "arn:aws:dynamodb|1|AAAA");
  EXPECT_FALSE(ReadShardIterator("{}"));
  EXPECT_FALSE(ReadShardIterator(R"({"ShardIterator":1})"));
}

TEST(GetRecords, LimitsThePage) {
  EXPECT_EQ(GetRecordsBody("arn|\"1", 1000), R"({"ShardIterator":"arn|\"1","Limit":1000})");
}

}  // namespace
}  // namespace weir::dynamo
