#include "weir/kinesis/wire/read_wire.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::kinesis {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const StreamAddress kByName{.name = "s", .arn = {}};
const StreamAddress kByArn{.name = {}, .arn = "arn:s"};

TEST(ReadWire, K1AListingNamesTheStreamOnItsFirstPageOnly) {
  EXPECT_EQ(json::parse(ListAllShardsBody(kByName, "")),
            json::parse(R"({"MaxResults":1000,"StreamName":"s"})"));
  EXPECT_EQ(json::parse(ListAllShardsBody(kByName, "t")),
            json::parse(R"({"MaxResults":1000,"NextToken":"t"})"));
  EXPECT_EQ(json::parse(ListAllShardsBody(kByArn, "t")),
            json::parse(R"({"MaxResults":1000,"NextToken":"t"})"));
}

TEST(ReadWire, AnIteratorBeginsWhereItIsTold) {
  EXPECT_EQ(json::parse(GetShardIteratorBody(kByName, {12}, {})), json::parse(R"({
    "StreamName":"s","ShardId":"shardId-000000000012","ShardIteratorType":"TRIM_HORIZON"})"));
  EXPECT_EQ(json::parse(GetShardIteratorBody(kByArn, {0}, {Position::At::kLatest})),
            json::parse(R"({
    "StreamARN":"arn:s","ShardId":"shardId-000000000000","ShardIteratorType":"LATEST"})"));
  EXPECT_EQ(json::parse(GetShardIteratorBody(kByName, {0}, {Position::At::kAfter, "77"})),
            json::parse(R"({"StreamName":"s","ShardId":"shardId-000000000000",
    "ShardIteratorType":"AFTER_SEQUENCE_NUMBER","StartingSequenceNumber":"77"})"));
  EXPECT_EQ(json::parse(GetShardIteratorBody(kByName, {0}, {Position::At::kAt, "77"})),
            json::parse(R"({"StreamName":"s","ShardId":"shardId-000000000000",
    "ShardIteratorType":"AT_SEQUENCE_NUMBER","StartingSequenceNumber":"77"})"));
  const Position time{.at = Position::At::kTime, .time = {1'700'000'000'045}};
  EXPECT_THAT(
      GetShardIteratorBody(kByName, {0}, time),
      testing::EndsWith(R"("ShardIteratorType":"AT_TIMESTAMP","Timestamp":1700000000.045})"));
}

TEST(ReadWire, RecordsAreAskedForByIteratorAndAlsoByArn) {
  EXPECT_EQ(json::parse(GetRecordsBody(kByName, "i\"", 10)),
            json::parse(R"({"ShardIterator":"i\"","Limit":10})"));
  EXPECT_EQ(json::parse(GetRecordsBody(kByArn, "i", 10)),
            json::parse(R"({"ShardIterator":"i","Limit":10,"StreamARN":"arn:s"})"));
}

TEST(ReadWire, ReadsShardsWithTheirParentsOpenAndClosed) {
  const auto page = ReadListAllShards(R"({"NextToken":"t","Shards":[
    {"ShardId":"shardId-000000000001","HashKeyRange":{"StartingHashKey":"0","EndingHashKey":"9"},
     "SequenceNumberRange":{"StartingSequenceNumber":"1","EndingSequenceNumber":"5"}},
    {"ShardId":"shardId-000000000003","ParentShardId":"shardId-000000000001",
     "AdjacentParentShardId":"shardId-000000000002","Unknown":{"a":[1]},
     "HashKeyRange":{"StartingHashKey":"0","EndingHashKey":"19"},
     "SequenceNumberRange":{"StartingSequenceNumber":"6","EndingSequenceNumber":null}}]})");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->next_token, "t");
  EXPECT_THAT(page->shards, ElementsAre(ReadShard{{1}, {0, 9}, {}, true},
                                        ReadShard{{3}, {0, 19}, {{1}, {2}}, false}));
}

TEST(ReadWire, ReadsRecordsAndWhatFollows) {
  const auto page = ReadGetRecords(R"({"MillisBehindLatest":1500,"NextShardIterator":"i","Records":[
    {"SequenceNumber":"7","PartitionKey":"k","Data":"aGVsbG8=","ApproximateArrivalTimestamp":1.5}]})");
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_THAT(page->records, SizeIs(1));
  EXPECT_EQ(page->records[0].sequence_number, "7");
  EXPECT_EQ(page->records[0].partition_key, "k");
  EXPECT_EQ(page->records[0].data, "hello");
  EXPECT_EQ(page->next_iterator, "i");
  EXPECT_EQ(page->behind, milliseconds(1500));
  EXPECT_THAT(page->children, SizeIs(0));
}

TEST(ReadWire, TheEndOfAShardMayTellItsChildren) {
  const auto page = ReadGetRecords(R"({"NextShardIterator":null,"Records":[],"ChildShards":[
    {"ShardId":"shardId-000000000003","HashKeyRange":{"StartingHashKey":"0","EndingHashKey":"19"},
     "ParentShards":["shardId-000000000001","shardId-000000000002"]}]})");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->next_iterator, "");
  EXPECT_THAT(page->children, ElementsAre(ReadShard{{3}, {0, 19}, {{1}, {2}}, false}));
}

TEST(ReadWire, WhatIsNoSuchAnswerIsDamaged) {
  for (const char* body :
       {"", "[]", "{", "{}", R"({"NextToken":"t"})", R"({"Shards":null})",
        R"({"Shards":[{"ShardId":"x"}]})", R"({"Shards":[{"ShardId":"shardId-000000000001"}]})"}) {
    const auto page = ReadListAllShards(body);
    ASSERT_FALSE(page) << body;
    EXPECT_EQ(page.error().code, Code::kUnknown);
    EXPECT_THAT(page.error().message, HasSubstr("ListShards"));
  }
  EXPECT_FALSE(ReadGetShardIterator("{}"));
  EXPECT_FALSE(ReadGetShardIterator(R"({"ShardIterator":7})"));
  EXPECT_EQ(ReadGetShardIterator(R"({"ShardIterator":"i"})"), "i");
  EXPECT_FALSE(ReadGetRecords("{}"));
  EXPECT_FALSE(ReadGetRecords(R"({"Records":[{"Data":"?"}]})"));
  EXPECT_FALSE(ReadGetRecords(R"({"Records":[],"MillisBehindLatest":"soon"})"));
}

// Fails if: a record that lacks a member is delivered with an empty one, or reading continues after
// it.
TEST(ReadWire, I14ARecordWithoutDataOrSequenceNumberIsDamaged) {
  for (const char* record : {R"({"SequenceNumber":"7","PartitionKey":"k"})",
                             R"({"SequenceNumber":"7","PartitionKey":"k","Data":null})",
                             R"({"PartitionKey":"k","Data":"aGVsbG8="})",
                             R"({"SequenceNumber":null,"PartitionKey":"k","Data":"aGVsbG8="})"}) {
    const auto page = ReadGetRecords(fmt::format(R"({{"Records":[{}]}})", record));
    ASSERT_FALSE(page) << record;
    EXPECT_EQ(page.error().code, Code::kUnknown);
    EXPECT_THAT(page.error().message, HasSubstr("GetRecords"));
  }
  EXPECT_TRUE(ReadGetRecords(R"({"Records":[{"SequenceNumber":"7","Data":""}]})"))
      << "data may be empty";
}

}  // namespace
}  // namespace weir::kinesis
