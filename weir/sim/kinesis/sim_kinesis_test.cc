// PutRecords and PutRecord: the accepted entries, their shards, and their delivery.
#include "weir/sim/kinesis/sim_kinesis.h"

#include <absl/strings/escaping.h>
#include <gmock/gmock.h>

#include "weir/sim/kinesis/kinesis_fixture.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;

using SimKinesisPut = KinesisFixture;

const std::string kMiddle = "170141183460469231731687303715884105727";

TEST_F(SimKinesisPut, PutsEachEntryWhereItsHashSays) {
  const json response = PutAll({PutEntry("k", "a", "0"), PutEntry("abcd", "b"),
                                PutEntry("k", "c", "340282366920938463463374607431768211455")});
  EXPECT_EQ(response["FailedRecordCount"], 0);
  EXPECT_EQ(response["Records"][0]["ShardId"], "shardId-000000000000");
  EXPECT_EQ(response["Records"][1]["ShardId"], "shardId-000000000001") << "md5(abcd) is E2FC...";
  EXPECT_EQ(response["Records"][2]["ShardId"], "shardId-000000000001");
  const auto& shards = kinesis.Stream("s")->shards();
  EXPECT_THAT(shards[0].log, SizeIs(1));
  EXPECT_THAT(shards[1].log, SizeIs(2));
  EXPECT_EQ(shards[0].log[0].data, "a");
}

TEST_F(SimKinesisPut, TheTwoShardsMeetWhereOneEnds) {
  const auto& shards = kinesis.Stream("s")->shards();
  EXPECT_EQ(shards[0].range.last + 1, shards[1].range.first);
  EXPECT_EQ(shards[0].range.first, Hash128{0});
  EXPECT_EQ(shards[1].range.last, kLastHash);
}

TEST_F(SimKinesisPut, SequenceNumbersGrow) {
  const json response = PutAll({PutEntry("k", "a", "0"), PutEntry("k", "b", "0")});
  const std::string first = response["Records"][0]["SequenceNumber"];
  const std::string second = response["Records"][1]["SequenceNumber"];
  EXPECT_EQ(first.size(), 56U);
  EXPECT_LT(first, second);
  const std::string third = Ok("PutRecord", PutEntry("k", "c", "0"))["SequenceNumber"];
  EXPECT_LT(second, third);
}

TEST_F(SimKinesisPut, TakesAStreamByNameOrByArnAndNotByBoth) {
  json body = {{"Records", {PutEntry("k", "a")}}};
  body["StreamARN"] = kinesis.Stream("s")->arn();
  Ok("PutRecords", body);
  body["StreamName"] = "s";
  Refused("PutRecords", body, "InvalidArgumentException");
  body.erase("StreamARN");
  body["StreamName"] = "t";
  const auto response = Refused("PutRecords", body, "ResourceNotFoundException");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.message, "Stream t under account 123456789012 not found.");
}

TEST_F(SimKinesisPut, TakesFiveHundredEntriesAndNotOneMore) {
  std::vector<json> entries(500, PutEntry("k", ""));
  Ok("PutRecords", {{"Records", entries}});
  entries.push_back(PutEntry("k", ""));
  Refused("PutRecords", {{"Records", entries}}, "ValidationException");
  Refused("PutRecords", {{"Records", json::array()}}, "ValidationException");
}

TEST_F(SimKinesisPut, TakesFiveMebibytesOfDataAndKeysAndNotOneByteMore) {
  std::vector<json> entries(5, PutEntry("k", std::string((1 << 20) - 1, 'x')));
  Ok("PutRecords", {{"Records", entries}});
  entries.push_back(PutEntry("k", ""));
  Refused("PutRecords", {{"Records", entries}}, "InvalidArgumentException");
}

// Fails if: only the data count (API reference, PutRecordsRequestEntry: data and partition key).
TEST_F(SimKinesisPut, TakesAMebibyteInOneRecordUnlessItsOptionsSayOtherwise) {
  const json large = {{"Records", {PutEntry("kk", std::string((1 << 20) - 1, 'x'))}}};
  Refused("PutRecords", large, "ValidationException");
  SimKinesis roomy(clock, 7, {.max_record_bytes = 10 << 20});
  roomy.CreateStream("s", 1);
  json body = large;
  body["StreamName"] = "s";
  EXPECT_EQ(roomy.Handle(KinesisRequest("PutRecords", body)).status, 200);
}

TEST_F(SimKinesisPut, CountsPartitionKeysInCharacters) {
  std::string key;
  for (int i = 0; i < 256; ++i) key += "é";
  PutAll({PutEntry(key, "")});
  Refused("PutRecords", {{"Records", {PutEntry(key + "e", "")}}}, "ValidationException");
  Refused("PutRecords", {{"Records", {PutEntry("", "")}}}, "ValidationException");
}

TEST_F(SimKinesisPut, RefusesAWholeRequestForOneEntryThatCannotBe) {
  const json good = PutEntry("k", "a");
  for (const char* none : {"-1", "x", "007", "1e3", "1234567890123456789012345678901234567890"}) {
    Refused("PutRecords", {{"Records", {good, PutEntry("k", "", none)}}}, "ValidationException");
  }
  Refused("PutRecords",
          {{"Records", {good, PutEntry("k", "", "340282366920938463463374607431768211456")}}},
          "InvalidArgumentException");
  Refused("PutRecords", {{"Records", {good, {{"PartitionKey", "k"}}}}}, "ValidationException");
  json other = good;
  other["Data"] = "no base64!";
  Refused("PutRecords", {{"Records", {good, other}}}, "SerializationException");
  other["Data"] = 7;
  Refused("PutRecords", {{"Records", {other}}}, "SerializationException");
  EXPECT_EQ(kinesis.counts().invalid, 9U);
}

TEST_F(SimKinesisPut, NamesAFieldThatIsNotSimulated) {
  json body = PutEntry("k", "a");
  body["SequenceNumberForOrdering"] = "1";
  EXPECT_THAT(Refused("PutRecord", body, "ValidationException").message,
              HasSubstr("SequenceNumberForOrdering"));
}

TEST_F(SimKinesisPut, AShardTakesAThousandRecordsASecond) {
  EXPECT_EQ(PutMany(1500, 10), 1000U);
  EXPECT_EQ(kinesis.counts().over_limit, 500U);
  clock.Advance(milliseconds(50));
  EXPECT_EQ(PutMany(60, 10), 50U);
  const json response = PutAll({PutEntry("k", "", "0"), PutEntry("k", "", kMiddle)});
  EXPECT_EQ(response["FailedRecordCount"], 1) << "the other shard has its own";
  EXPECT_EQ(response["Records"][0]["ErrorCode"], "ProvisionedThroughputExceededException");
  EXPECT_THAT(response["Records"][0]["ErrorMessage"].get<std::string>(),
              HasSubstr("shardId-000000000000"));
  EXPECT_FALSE(response["Records"][0].contains("ShardId"));
}

TEST_F(SimKinesisPut, AShardTakesAMebibyteASecondKeysIncluded) {
  EXPECT_EQ(PutMany(5, 1 << 18), 4U) << "a quarter each, of which one byte is the key";
  clock.Advance(milliseconds(1));
  EXPECT_EQ(PutMany(1, 1049), 0U) << "1048.576 bytes in a millisecond";
  EXPECT_EQ(PutMany(1, 1048), 1U);
}

TEST_F(SimKinesisPut, ARefusedEntryDoesNotStopThoseBehindIt) {
  PutMany(4, (1 << 18) - 25);
  const json response =
      PutAll({PutEntry("k", std::string(100, 'x'), "0"), PutEntry("k", "x", "0")});
  EXPECT_TRUE(response["Records"][0].contains("ErrorCode"));
  EXPECT_TRUE(response["Records"][1].contains("SequenceNumber"));
}

TEST_F(SimKinesisPut, OneRecordIsRefusedAsARequest) {
  PutMany(1000, 1);
  const auto response =
      Refused("PutRecord", PutEntry("k", "", "0"), "ProvisionedThroughputExceededException");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(kinesis.counts().invalid, 0U) << "no fault of the client's";
}

TEST_F(SimKinesisPut, WhatNoOperationIsCalledIsUnknown) {
  Refused("PutRecordz", json::object(), "UnknownOperationException");
  HttpRequest request = KinesisRequest("PutRecords", json::object());
  request.headers[1].value = "DynamoDB_20120810.PutRecords";
  EXPECT_THAT(kinesis.Handle(request).body, HasSubstr("UnknownOperationException"));
}

TEST_F(SimKinesisPut, ABodyThatIsNoObjectIsNotRead) {
  for (const char* body : {"", "[]", "7", "{"}) {
    HttpRequest request = KinesisRequest("PutRecords", json());
    request.body = body;
    EXPECT_THAT(kinesis.Handle(request).body, HasSubstr("SerializationException")) << body;
    request.headers[0].value = "text/plain";
    EXPECT_EQ(kinesis.Handle(request).status, 400);
  }
}

HttpRequest InCbor(const std::string& operation, const json& body) {
  HttpRequest request = KinesisRequest(operation, json());
  request.headers[0].value = "application/x-amz-cbor-1.1";
  request.body.clear();
  json::to_cbor(body, request.body);
  return request;
}

TEST_F(SimKinesisPut, CborSaysTheSameWithItsBlobsAsBytes) {
  const json blob = json::binary({0xF3, 0x00, 0xFF});
  json body = {{"StreamName", "s"}, {"Records", json::array()}};
  body["Records"].push_back({{"PartitionKey", "k"}, {"Data", blob}, {"ExplicitHashKey", "0"}});
  const HttpResponse put = kinesis.Handle(InCbor("PutRecords", body));
  EXPECT_EQ(*put.Header("content-type"), "application/x-amz-cbor-1.1");
  EXPECT_EQ(json::from_cbor(put.body)["Records"][0]["ShardId"], "shardId-000000000000");

  const json get = {{"ShardIterator", IteratorOf(0, "TRIM_HORIZON")}};
  json in_cbor = json::from_cbor(kinesis.Handle(InCbor("GetRecords", get)).body);
  EXPECT_EQ(in_cbor["Records"][0]["Data"], blob);
  in_cbor["Records"][0]["Data"] = absl::Base64Escape(std::string("\xF3\x00\xFF", 3));
  EXPECT_EQ(in_cbor, Ok("GetRecords", get)) << "in all else they are equal";
}

TEST_F(SimKinesisPut, CborIsRefusedInCbor) {
  json body = PutEntry("k", "a");
  body["StreamName"] = "s";
  const HttpResponse text = kinesis.Handle(InCbor("PutRecord", body));
  EXPECT_EQ(text.status, 400);
  EXPECT_EQ(json::from_cbor(text.body)["__type"], "SerializationException")
      << "base64 is not a blob there";
  HttpRequest cut = InCbor("PutRecord", body);
  cut.body.pop_back();
  EXPECT_EQ(json::from_cbor(kinesis.Handle(cut).body)["__type"], "SerializationException");
}

}  // namespace
}  // namespace weir::sim
