#include "weir/kinesis/wire/wire.h"

#include <absl/strings/escaping.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::kinesis {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

constexpr WireFormat kFormats[] = {WireFormat::kJson, WireFormat::kCbor};

KinesisRecord KeyedRecord(std::string key, std::optional<std::string> hash, std::string data) {
  return {.partition_key = std::move(key),
          .explicit_hash_key = std::move(hash),
          .data = std::move(data)};
}

/// Parses the body with another library, as a service would.
json Decoded(WireFormat format, const std::string& body) {
  return format == WireFormat::kCbor ? json::from_cbor(body) : json::parse(body);
}

std::string Encoded(WireFormat format, const json& response) {
  if (format == WireFormat::kJson) return response.dump();
  const std::vector<std::uint8_t> bytes = json::to_cbor(response);
  return {bytes.begin(), bytes.end()};
}

std::string DataOf(WireFormat format, const json& entry) {
  if (format == WireFormat::kCbor) {
    const auto& bytes = entry["Data"].get_binary();
    return {bytes.begin(), bytes.end()};
  }
  std::string data;
  EXPECT_TRUE(absl::Base64Unescape(entry["Data"].get<std::string>(), &data));
  return data;
}

class Wire : public ::testing::TestWithParam<WireFormat> {
 protected:
  json PutRecords(const StreamAddress& stream, const std::vector<KinesisRecord>& records) const {
    return Decoded(GetParam(), PutRecordsBody(GetParam(), stream, records));
  }
  json ListShards(const StreamAddress& stream, std::string_view token) const {
    return Decoded(GetParam(), ListShardsBody(GetParam(), stream, token));
  }
  auto Entries(const json& response) const {
    return ReadPutRecords(GetParam(), Encoded(GetParam(), response));
  }
  auto Shards(const json& response) const {
    return ReadListShards(GetParam(), Encoded(GetParam(), response));
  }
};

INSTANTIATE_TEST_SUITE_P(Formats, Wire, ::testing::ValuesIn(kFormats), [](const auto& format) {
  return format.param == WireFormat::kJson ? "Json" : "Cbor";
});

TEST_P(Wire, WritesPutRecordsAsTheServiceWantsIt) {
  json body =
      PutRecords({.name = "s"}, {KeyedRecord("k\"1", "42", "hello"), KeyedRecord("k2", {}, "")});
  EXPECT_EQ(DataOf(GetParam(), body["Records"][0]), "hello");
  EXPECT_EQ(DataOf(GetParam(), body["Records"][1]), "");
  for (json& entry : body["Records"]) entry.erase("Data");
  EXPECT_EQ(body, json::parse(R"({"StreamName":"s","Records":[
      {"PartitionKey":"k\"1","ExplicitHashKey":"42"},{"PartitionKey":"k2"}]})"));
}

TEST_P(Wire, NamesAStreamByItsArn) {
  EXPECT_EQ(PutRecords({.arn = "arn:aws:kinesis:x"}, {}),
            json::parse(R"({"StreamARN":"arn:aws:kinesis:x","Records":[]})"));
}

TEST_P(Wire, TakesOneAllocationOfTheSizeOfTheBody) {
  const std::vector<KinesisRecord> records(500, KeyedRecord("key", "1", std::string(200, 'x')));
  const std::string body = PutRecordsBody(GetParam(), {.name = "s"}, records);
  EXPECT_EQ(body.capacity(), body.size());
}

TEST_P(Wire, ReadsEachEntryOfAnAnswer) {
  const auto entries = Entries(json::parse(R"({
      "FailedRecordCount":1,"EncryptionType":"NONE","Records":[
      {"SequenceNumber":"495","ShardId":"shardId-000000000001"},
      {"ErrorCode":"ProvisionedThroughputExceededException","ErrorMessage":"slow \"down\" \u00fc"},
      {"SequenceNumber":"496","ShardId":"shardId-000000000002","ErrorCode":null,
       "ErrorMessage":null,"Later":[{"x":[1.5,true]}]}]})"));
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_THAT(*entries, SizeIs(3));
  EXPECT_EQ((*entries)[0].sequence_number, "495");
  EXPECT_EQ((*entries)[0].shard, "shardId-000000000001");
  EXPECT_EQ((*entries)[1].code, "ProvisionedThroughputExceededException");
  EXPECT_EQ((*entries)[1].message, "slow \"down\" \u00fc");
  EXPECT_EQ((*entries)[2].sequence_number, "496");
  EXPECT_EQ((*entries)[2].code, "");
}

TEST_P(Wire, RefusesAnAnswerThatIsNone) {
  for (const char* const response :
       {"[]", "7", R"({"FailedRecordCount":0})", R"({"Records":[{}]})", R"({"Records":[1]})",
        R"({"Records":[{"SequenceNumber":5}]})", R"({"Records":{}})", R"({"Records":null})"}) {
    const auto entries = Entries(json::parse(response));
    ASSERT_FALSE(entries) << response;
    EXPECT_EQ(entries.error().code, Code::kUnknown);
    EXPECT_THAT(entries.error().message, HasSubstr("response to PutRecords: "));
  }
}

TEST_P(Wire, SaysWhereAnAnswerIsDamaged) {
  const std::string whole = Encoded(GetParam(), {{"Records", {{{"SequenceNumber", "1"}}}}});
  ASSERT_TRUE(ReadPutRecords(GetParam(), whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = ReadPutRecords(GetParam(), whole.substr(0, size));
    ASSERT_FALSE(cut) << size;
    EXPECT_THAT(cut.error().message, MatchesRegex("response to PutRecords: byte [0-9]+: .*"))
        << size;
  }
  EXPECT_FALSE(ReadPutRecords(GetParam(), whole + whole));
  EXPECT_THAT(
      Entries({{"Records", {{{"SequenceNumber", "1"}}, {{"ShardId", "s"}}}}}).error().message,
      HasSubstr("entry 1 "));
}

TEST_P(Wire, RefusesAnAnswerInTheOtherFormat) {
  const json response{{"Records", {{{"SequenceNumber", "1"}}}}};
  const WireFormat other = GetParam() == WireFormat::kJson ? WireFormat::kCbor : WireFormat::kJson;
  EXPECT_FALSE(ReadPutRecords(GetParam(), Encoded(other, response)));
}

TEST_P(Wire, AsksForPagesOfShards) {
  EXPECT_EQ(ListShards({.name = "s"}, ""), json::parse(R"({"MaxResults":1000,"StreamName":"s",
                                                           "ShardFilter":{"Type":"AT_LATEST"}})"));
  EXPECT_EQ(ListShards({.name = "s"}, "t"), json::parse(R"({"MaxResults":1000,"NextToken":"t"})"));
  EXPECT_EQ(ListShards({.arn = "a"}, "t"), json::parse(R"({"MaxResults":1000,"NextToken":"t"})"))
      << "K1: the service refuses a token together with an ARN";
}

TEST_P(Wire, ReadsShards) {
  const auto page = Shards(json::parse(R"({"NextToken":"more","Shards":[
      {"ShardId":"shardId-000000000003","ParentShardId":"shardId-000000000001",
       "HashKeyRange":{"StartingHashKey":"0",
                       "EndingHashKey":"340282366920938463463374607431768211455"},
       "SequenceNumberRange":{"StartingSequenceNumber":"49"}}]})"));
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->next_token, "more");
  ASSERT_THAT(page->shards, SizeIs(1));
  EXPECT_EQ(page->shards[0].id, ShardId{3});
  EXPECT_EQ(page->shards[0].range, HashRange());
}

TEST_P(Wire, RefusesShardsThatCannotBe) {
  for (const char* const shard :
       {R"({"ShardId":"x","HashKeyRange":{"StartingHashKey":"0","EndingHashKey":"1"}})",
        R"({"ShardId":"shardId-1","HashKeyRange":{"StartingHashKey":"-1","EndingHashKey":"1"}})",
        R"({"ShardId":"shardId-1"})"}) {
    const auto page = Shards({{"Shards", {json::parse(shard)}}});
    ASSERT_FALSE(page) << shard;
    EXPECT_EQ(page.error().code, Code::kUnknown);
    EXPECT_THAT(page.error().message, HasSubstr("response to ListShards: shard 0: "));
  }
}

// Fails if: a response of another program is taken for a listing without shards.
TEST_P(Wire, RefusesAListingWithoutShards) {
  for (const char* const response : {"{}", R"({"NextToken":"t"})", R"({"Shards":null})"}) {
    const auto page = Shards(json::parse(response));
    ASSERT_FALSE(page) << response;
    EXPECT_THAT(page.error().message, HasSubstr("response to ListShards: "));
  }
  EXPECT_TRUE(Shards(json::parse(R"({"NextToken":"t","Shards":[]})"))) << "a page may be empty";
}

// The service writes maps and arrays of unknown length, and long texts in chunks.
TEST(CborWire, ReadsLengthsThatAreNotTold) {
  const std::string body =
      "\xbf\x67Records\x9f\xbf\x6eSequenceNumber\x7f\x62"
      "49\x61"
      "5\xff\x67ShardId\x63s-1\xff\xff\x6a"
      "CreatedAt_\xc1\xfb\x41\xd4\x52\xd9\xec\x20" +
      std::string(2, '\0') + "\xff";
  const auto entries = ReadPutRecords(WireFormat::kCbor, body);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_THAT(*entries, SizeIs(1));
  EXPECT_EQ((*entries)[0].sequence_number, "495");
  EXPECT_EQ((*entries)[0].shard, "s-1");
}

// Fails if: the last letters of base64 are written without their padding; a byte string has a
// length of another width.
RC_GTEST_PROP(WireProperty, RecordsSurviveTheBodyInBothFormats,
              (const std::vector<std::string>& many)) {
  std::vector<KinesisRecord> records;
  for (const std::string& data : many) {
    std::string key = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
    records.push_back(KeyedRecord(std::move(key), {}, data));
  }
  if (!records.empty()) records[0].data.resize(*rc::gen::element<std::size_t>(1, 255, 256, 65'536));
  for (const WireFormat format : kFormats) {
    const json read = Decoded(format, PutRecordsBody(format, {.name = "s"}, records))["Records"];
    RC_ASSERT(read.size() == records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      RC_ASSERT(read[i]["PartitionKey"] == records[i].partition_key);
      RC_ASSERT(DataOf(format, read[i]) == records[i].data);
    }
  }
}

// Fails if: one of the readers confuses two members, or drops one.
RC_GTEST_PROP(WireProperty, AnswersAreTheSameInBothFormats, (const std::vector<bool>& stored)) {
  const auto text =
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)));
  json response{{"Records", json::array()}};
  for (const bool is_stored : stored) {
    response["Records"].push_back(is_stored ? json{{"SequenceNumber", *text}, {"ShardId", *text}}
                                            : json{{"ErrorCode", *text}, {"ErrorMessage", *text}});
  }
  for (const WireFormat format : kFormats) {
    const auto entries = ReadPutRecords(format, Encoded(format, response));
    RC_ASSERT(entries.has_value());
    RC_ASSERT(entries->size() == stored.size());
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const json& told = response["Records"][i];
      const EntryResponse& entry = (*entries)[i];
      RC_ASSERT(entry.sequence_number == told.value("SequenceNumber", ""));
      RC_ASSERT(entry.shard == told.value("ShardId", ""));
      RC_ASSERT(entry.code == told.value("ErrorCode", ""));
      RC_ASSERT(entry.message == told.value("ErrorMessage", ""));
    }
  }
}

}  // namespace
}  // namespace weir::kinesis
