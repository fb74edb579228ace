// Listing, splitting and merging shards, and reading them to their end.

#include <gmock/gmock.h>

#include "weir/sim/kinesis/kinesis_fixture.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;

class SimKinesisStream : public KinesisFixture {
 protected:
  std::vector<std::uint64_t> Listed(const json& body) {
    std::vector<std::uint64_t> numbers;
    const json response = Ok("ListShards", body);
    for (const json& shard : response["Shards"]) {
      numbers.push_back(*ReadShardName(shard["ShardId"].get<std::string>()));
    }
    token = response.value("NextToken", "");
    return numbers;
  }
  void Split(std::uint64_t shard, const std::string& start) {
    Ok("SplitShard", {{"ShardToSplit", ShardName(shard)}, {"NewStartingHashKey", start}});
  }
  json Read(const std::string& iterator, int limit = 10'000) {
    return Ok("GetRecords", {{"ShardIterator", iterator}, {"Limit", limit}});
  }

  std::string token;
};

const json kOpen = {{"ShardFilter", {{"Type", "AT_LATEST"}}}};

TEST_F(SimKinesisStream, IsCreatedOnceAndDescribed) {
  Ok("CreateStream", {{"StreamName", "t"}, {"ShardCount", 3}});
  const json summary =
      Ok("DescribeStreamSummary", {{"StreamName", "t"}})["StreamDescriptionSummary"];
  EXPECT_EQ(summary["OpenShardCount"], 3);
  EXPECT_EQ(summary["StreamStatus"], "ACTIVE");
  EXPECT_EQ(summary["StreamARN"], "arn:aws:kinesis:us-east-1:123456789012:stream/t");
  Refused("CreateStream", {{"StreamName", "t"}, {"ShardCount", 1}}, "ResourceInUseException");
  Refused("CreateStream", {{"StreamName", "u"}, {"ShardCount", 501}}, "LimitExceededException");
  Refused("CreateStream", {{"StreamName", "u"}, {"ShardCount", 0}}, "ValidationException");
  Refused("CreateStream", {{"StreamName", "a:b"}, {"ShardCount", 1}}, "ValidationException");
  Refused("DescribeStreamSummary", {{"StreamName", "u"}}, "ResourceNotFoundException");
}

TEST_F(SimKinesisStream, ASplitClosesTheParent) {
  Split(0, "1000");
  EXPECT_THAT(Listed(json::object()), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Listed(kOpen), ElementsAre(1, 2, 3));
  const json shards = Ok("ListShards", json::object())["Shards"];
  EXPECT_TRUE(shards[0]["SequenceNumberRange"].contains("EndingSequenceNumber"));
  EXPECT_FALSE(shards[1]["SequenceNumberRange"].contains("EndingSequenceNumber"));
  EXPECT_EQ(shards[2]["ParentShardId"], "shardId-000000000000");
  EXPECT_EQ(shards[2]["HashKeyRange"]["StartingHashKey"], "0");
  EXPECT_EQ(shards[2]["HashKeyRange"]["EndingHashKey"], "999");
  EXPECT_EQ(shards[3]["HashKeyRange"]["StartingHashKey"], "1000");
  const json put = PutAll({PutEntry("k", "", "999"), PutEntry("k", "", "1000")});
  EXPECT_EQ(put["Records"][0]["ShardId"], "shardId-000000000002");
  EXPECT_EQ(put["Records"][1]["ShardId"], "shardId-000000000003");
}

TEST_F(SimKinesisStream, AMergeClosesBoth) {
  Ok("MergeShards", {{"ShardToMerge", ShardName(1)}, {"AdjacentShardToMerge", ShardName(0)}});
  EXPECT_THAT(Listed(kOpen), ElementsAre(2));
  const json merged = Ok("ListShards", kOpen)["Shards"][0];
  EXPECT_EQ(merged["ParentShardId"], "shardId-000000000001");
  EXPECT_EQ(merged["AdjacentParentShardId"], "shardId-000000000000");
  EXPECT_EQ(merged["HashKeyRange"]["EndingHashKey"], WriteHash(kLastHash));
}

TEST_F(SimKinesisStream, WhatCannotBeSplitOrMergedIsRefused) {
  const auto split = [&](std::uint64_t shard, const std::string& start, const char* error) {
    Refused("SplitShard", {{"ShardToSplit", ShardName(shard)}, {"NewStartingHashKey", start}},
            error);
  };
  split(0, "0", "InvalidArgumentException");
  split(0, WriteHash(kLastHash), "InvalidArgumentException");
  split(0, "x", "InvalidArgumentException");
  split(9, "1000", "ResourceNotFoundException");
  Split(0, "1000");
  split(0, "1000", "InvalidArgumentException");
  const auto merge = [&](std::uint64_t one, std::uint64_t other, const char* error) {
    Refused("MergeShards",
            {{"ShardToMerge", ShardName(one)}, {"AdjacentShardToMerge", ShardName(other)}}, error);
  };
  merge(2, 1, "InvalidArgumentException");
  merge(2, 2, "InvalidArgumentException");
  merge(0, 1, "InvalidArgumentException");
  merge(2, 9, "ResourceNotFoundException");
  EXPECT_THAT(kinesis.Stream("s")->shards(), SizeIs(4));
}

TEST_F(SimKinesisStream, SplitsAndMergesByHand) {
  kinesis.Split("s", 0);
  kinesis.Merge("s", 3, 1);
  EXPECT_THAT(Listed(kOpen), ElementsAre(2, 4));
}

TEST_F(SimKinesisStream, IsListedPageByPage) {
  Split(0, "1000");
  json first = kOpen;
  first["MaxResults"] = 2;
  EXPECT_THAT(Listed(first), ElementsAre(1, 2));
  EXPECT_THAT(Listed({{"NextToken", token}, {"MaxResults", 2}}), ElementsAre(3))
      << "the token knows stream and filter";
  EXPECT_EQ(token, "");
}

TEST_F(SimKinesisStream, AChildIsListedBesideItsParentIfItSplitsBetweenPages) {
  EXPECT_THAT(Listed({{"MaxResults", 1}, {"ShardFilter", kOpen["ShardFilter"]}}), ElementsAre(0));
  Split(0, "1000");
  EXPECT_THAT(Listed({{"NextToken", token}}), ElementsAre(1, 2, 3));
}

TEST_F(SimKinesisStream, ATokenExcludesTheStreamAndExpires) {
  Listed({{"MaxResults", 1}});
  const std::string good = token;
  Refused("ListShards", {{"NextToken", good}, {"StreamName", "s"}}, "InvalidArgumentException");
  Refused("ListShards", {{"NextToken", "t0:none"}}, "InvalidArgumentException");
  Refused("ListShards", {{"NextToken", "anything"}}, "InvalidArgumentException");
  // K1: KPL #481.
  Refused("ListShards", {{"NextToken", good}, {"StreamARN", kinesis.Stream("s")->arn()}},
          "InvalidArgumentException");
  clock.Advance(seconds(301));
  Refused("ListShards", {{"NextToken", good}}, "ExpiredNextTokenException");
}

TEST_F(SimKinesisStream, ListingTakesItsNumbersInBounds) {
  Refused("ListShards", {{"MaxResults", 0}}, "ValidationException");
  Refused("ListShards", {{"MaxResults", 10'001}}, "ValidationException");
  Refused("ListShards", {{"MaxResults", -1}}, "ValidationException");
  Refused("ListShards", {{"MaxResults", "9"}}, "SerializationException");
  Refused("ListShards", {{"ShardFilter", {{"Type", "AT_TIMESTAMP"}}}}, "ValidationException");
}

TEST_F(SimKinesisStream, IsReadBackInOrder) {
  for (int i = 0; i < 5; ++i) PutAll({PutEntry("key", std::to_string(i), "0")});
  const json page = Read(IteratorOf(0, "TRIM_HORIZON"), 3);
  ASSERT_THAT(page["Records"], SizeIs(3));
  EXPECT_EQ(page["Records"][1]["Data"], "MQ==");
  EXPECT_EQ(page["Records"][1]["PartitionKey"], "key");
  EXPECT_NEAR(page["Records"][1]["ApproximateArrivalTimestamp"].get<double>(), 1'767'225'600.013,
              0.0005);
  const json rest = Read(page["NextShardIterator"]);
  ASSERT_THAT(rest["Records"], SizeIs(2));
  EXPECT_EQ(rest["Records"][0]["Data"], "Mw==");
  EXPECT_THAT(Read(rest["NextShardIterator"])["Records"], SizeIs(0));
  PutAll({PutEntry("key", "more", "0")});
  EXPECT_THAT(Read(rest["NextShardIterator"])["Records"], SizeIs(1)) << "an open shard goes on";
}

TEST_F(SimKinesisStream, IsReadFromWhereTheReaderWants) {
  const std::string latest = IteratorOf(0, "LATEST");
  const json put = PutAll({PutEntry("k", "a", "0"), PutEntry("k", "b", "0")});
  const std::string first = put["Records"][0]["SequenceNumber"];
  EXPECT_THAT(Read(latest)["Records"], SizeIs(2));
  EXPECT_THAT(Read(IteratorOf(0, "LATEST"))["Records"], SizeIs(0));
  EXPECT_EQ(Read(IteratorOf(0, "AT_SEQUENCE_NUMBER", first))["Records"][0]["Data"], "YQ==");
  EXPECT_EQ(Read(IteratorOf(0, "AFTER_SEQUENCE_NUMBER", first))["Records"][0]["Data"], "Yg==");
  json body = {{"ShardId", ShardName(0)}, {"ShardIteratorType", "AT_SEQUENCE_NUMBER"}};
  for (const char* none : {"", "7", "4964"}) {
    body["StartingSequenceNumber"] = none;
    Refused("GetShardIterator", body, "InvalidArgumentException");
  }
  body["ShardIteratorType"] = "SOMEWHERE";
  Refused("GetShardIterator", body, "ValidationException");
  body["ShardId"] = "shardId-000000000009";
  Refused("GetShardIterator", body, "ResourceNotFoundException");
}

TEST_F(SimKinesisStream, AClosedShardEndsWithItsChildren) {
  PutAll({PutEntry("k", "a", "0")});
  const std::string from_start = IteratorOf(0, "TRIM_HORIZON");
  Split(0, "1000");
  const json end = Read(from_start);
  EXPECT_THAT(end["Records"], SizeIs(1));
  EXPECT_FALSE(end.contains("NextShardIterator"));
  ASSERT_THAT(end["ChildShards"], SizeIs(2));
  EXPECT_EQ(end["ChildShards"][0]["ShardId"], "shardId-000000000002");
  EXPECT_EQ(end["ChildShards"][0]["ParentShards"], json::array({"shardId-000000000000"}));
  EXPECT_EQ(end["ChildShards"][1]["HashKeyRange"]["StartingHashKey"], "1000");
}

TEST_F(SimKinesisStream, AnIteratorExpiresAndMayBeNone) {
  const std::string iterator = IteratorOf(0, "TRIM_HORIZON");
  clock.Advance(minutes(5));
  Read(iterator);
  clock.Advance(milliseconds(1));
  Refused("GetRecords", {{"ShardIterator", iterator}}, "ExpiredIteratorException");
  for (const char* none : {"", "i:", "i:0:1", "i:0:x:1:s", "j:0:0:0:s"}) {
    Refused("GetRecords", {{"ShardIterator", none}}, "InvalidArgumentException");
  }
}

TEST_F(SimKinesisStream, APageEndsAtTenMebibytes) {
  for (int i = 0; i < 12; ++i) {
    PutMany(1, 1 << 20);
    clock.Advance(seconds(1));
  }
  const json page = Read(IteratorOf(0, "TRIM_HORIZON"));
  EXPECT_THAT(page["Records"], SizeIs(10));
  EXPECT_EQ(page["MillisBehindLatest"], 2000);
  EXPECT_THAT(Read(page["NextShardIterator"])["Records"], SizeIs(2));
}

TEST_F(SimKinesisStream, TellsWhatAConsumerWouldHaveDelivered) {
  PutAll({PutEntry("high", "a", WriteHash(kLastHash)), PutEntry("low", "b", "0")});
  Split(0, "1000");
  PutAll({PutEntry("child", "c", "0")});
  std::vector<std::string> keys;
  for (const Delivery& delivery : kinesis.Delivered("s")) keys.push_back(delivery.partition_key);
  EXPECT_THAT(keys, ElementsAre("low", "high", "child")) << "shard by shard, parents first";
}

}  // namespace
}  // namespace weir::sim
