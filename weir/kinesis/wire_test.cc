#include "weir/kinesis/wire.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::kinesis {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

KinesisRecord Record(std::string key, std::optional<std::string> hash, std::string data) {
  return {.partition_key = std::move(key),
          .explicit_hash_key = std::move(hash),
          .data = std::move(data)};
}

TEST(Wire, WritesPutRecordsAsTheServiceWantsIt) {
  const std::string body =
      PutRecordsBody({.name = "s"}, {Record("k\"1", "42", "hello"), Record("k2", {}, "")});
  EXPECT_EQ(json::parse(body), json::parse(R"({"StreamName":"s","Records":[
      {"Data":"aGVsbG8=","PartitionKey":"k\"1","ExplicitHashKey":"42"},
      {"Data":"","PartitionKey":"k2"}]})"));
}

TEST(Wire, NamesAStreamByItsArn) {
  const json body = json::parse(PutRecordsBody({.arn = "arn:aws:kinesis:x"}, {}));
  EXPECT_EQ(body["StreamARN"], "arn:aws:kinesis:x");
  EXPECT_FALSE(body.contains("StreamName"));
}

// Against another JSON library and its base64.
RC_GTEST_PROP(WireProperty, BytesSurviveTheBody, (const std::string& data)) {
  const json body = json::parse(PutRecordsBody({.name = "s"}, {Record("k", {}, data)}));
  std::string decoded;
  RC_ASSERT(absl::Base64Unescape(body["Records"][0]["Data"].get<std::string>(), &decoded));
  RC_ASSERT(decoded == data);
}

TEST(Wire, ReadsEachEntryOfAnAnswer) {
  const auto entries = ReadPutRecords(R"({"FailedRecordCount":1,"EncryptionType":"NONE","Records":[
      {"SequenceNumber":"495","ShardId":"shardId-000000000001"},
      {"ErrorCode":"ProvisionedThroughputExceededException","ErrorMessage":"slow \"down\""},
      {"SequenceNumber":"496","ShardId":"shardId-000000000002","ErrorCode":null,"ErrorMessage":null}
      ]})");
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_THAT(*entries, SizeIs(3));
  EXPECT_EQ((*entries)[0].sequence_number, "495");
  EXPECT_EQ((*entries)[0].shard, "shardId-000000000001");
  EXPECT_EQ((*entries)[1].code, "ProvisionedThroughputExceededException");
  EXPECT_EQ((*entries)[1].message, "slow \"down\"");
  EXPECT_EQ((*entries)[2].code, "");
}

TEST(Wire, RefusesAnAnswerThatIsNone) {
  for (const std::string_view body :
       {"", "[]", "{", R"({"FailedRecordCount":0})", R"({"Records":[{}]})", R"({"Records":[1]})",
        R"({"Records":[{"SequenceNumber":5}]})", R"({"Records":{}})"}) {
    const auto entries = ReadPutRecords(body);
    ASSERT_FALSE(entries) << body;
    EXPECT_EQ(entries.error().code, Code::kDataLoss);
    EXPECT_THAT(entries.error().message, HasSubstr("PutRecords"));
  }
}

TEST(Wire, AsksForPagesOfShards) {
  EXPECT_EQ(json::parse(ListShardsBody({.name = "s"}, "")),
            json::parse(R"({"MaxResults":1000,"StreamName":"s",
                            "ShardFilter":{"Type":"AT_LATEST"}})"));
  EXPECT_EQ(json::parse(ListShardsBody({.name = "s"}, "t")),
            json::parse(R"({"MaxResults":1000,"NextToken":"t"})"));
  EXPECT_EQ(json::parse(ListShardsBody({.arn = "a"}, "t")),
            json::parse(R"({"MaxResults":1000,"NextToken":"t","StreamARN":"a"})"));
}

TEST(Wire, ReadsShards) {
  const auto page = ReadListShards(R"({"NextToken":"more","Shards":[
      {"ShardId":"shardId-000000000003","ParentShardId":"shardId-000000000001",
       "HashKeyRange":{"StartingHashKey":"0","EndingHashKey":"340282366920938463463374607431768211455"},
       "SequenceNumberRange":{"StartingSequenceNumber":"49"}}]})");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->next_token, "more");
  ASSERT_THAT(page->shards, SizeIs(1));
  EXPECT_EQ(page->shards[0].id, ShardId{3});
  EXPECT_EQ(page->shards[0].range, HashRange());
}

TEST(Wire, RefusesShardsThatCannotBe) {
  for (const std::string_view shard :
       {R"({"ShardId":"x","HashKeyRange":{"StartingHashKey":"0","EndingHashKey":"1"}})",
        R"({"ShardId":"shardId-1","HashKeyRange":{"StartingHashKey":"-1","EndingHashKey":"1"}})",
        R"({"ShardId":"shardId-1"})"}) {
    const auto page = ReadListShards(fmt::format(R"({{"Shards":[{}]}})", shard));
    ASSERT_FALSE(page) << shard;
    EXPECT_EQ(page.error().code, Code::kDataLoss);
  }
}

}  // namespace
}  // namespace weir::kinesis
