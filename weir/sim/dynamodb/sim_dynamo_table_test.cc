// Tables and their settings, ttl, the stream, and the wire form.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "weir/sim/dynamodb/dynamo_fixture.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using testing::HasSubstr;

using SimDynamoTable = DynamoFixture;

TEST_F(SimDynamoTable, IsDescribedAsItWasMade) {
  Put("a", "1");
  const json table = Ok("DescribeTable", "{}")["Table"];
  EXPECT_EQ(table["TableStatus"], "ACTIVE");
  EXPECT_EQ(table["ItemCount"], 1);
  EXPECT_EQ(table["KeySchema"], LimitsTable()["KeySchema"]);
  EXPECT_EQ(table["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST");
  ASSERT_EQ(table["GlobalSecondaryIndexes"].size(), 4U);
  EXPECT_EQ(table["GlobalSecondaryIndexes"][2]["Projection"]["ProjectionType"], "KEYS_ONLY");
  EXPECT_EQ(table["GlobalSecondaryIndexes"][2]["IndexStatus"], "ACTIVE");
  EXPECT_EQ(table["StreamSpecification"]["StreamViewType"], "NEW_AND_OLD_IMAGES");
}

TEST_F(SimDynamoTable, CannotBeUsedBeforeItIsMade) {
  dynamo.faults.table_creation = seconds(5);
  json other = LimitsTable();
  other["TableName"] = "other";
  EXPECT_EQ(Ok("CreateTable", other.dump())["TableDescription"]["TableStatus"], "CREATING");
  const std::string get = R"({"TableName":"other","Key":{"PK":{"S":"a"},"SK":{"S":"1"}}})";
  Refused("GetItem", get, "ResourceNotFoundException");
  EXPECT_EQ(Ok("DescribeTable", R"({"TableName":"other"})")["Table"]["TableStatus"], "CREATING");
  clock.Advance(seconds(5));
  Ok("GetItem", get);
  EXPECT_EQ(Ok("DescribeTable", R"({"TableName":"other"})")["Table"]["TableStatus"], "ACTIVE");
}

TEST_F(SimDynamoTable, IsMadeOnceAndDeletedOnceUnlessProtected) {
  Refused("CreateTable", LimitsTable().dump(), "ResourceInUseException");
  json kept = LimitsTable();
  kept["TableName"] = "kept";
  kept["DeletionProtectionEnabled"] = true;
  Ok("CreateTable", kept.dump());
  Refused("DeleteTable", R"({"TableName":"kept"})", "ValidationException");
  EXPECT_EQ(Ok("DeleteTable", "{}")["TableDescription"]["TableStatus"], "DELETING");
  EXPECT_EQ(Call("DeleteTable", "{}").error, "ResourceNotFoundException");
  EXPECT_EQ(Call("DescribeTable", "{}").error, "ResourceNotFoundException");
  EXPECT_EQ(dynamo.Table("t"), nullptr);
  EXPECT_NE(dynamo.Table("kept"), nullptr);
}

TEST_F(SimDynamoTable, IsRefusedWithAttributesThatDoNotMatchItsKeys) {
  json table = LimitsTable();
  table["TableName"] = "bad";
  const auto refused = [this](const json& body) {
    return Refused("CreateTable", body.dump(), "ValidationException").message;
  };
  json extra = table;
  extra["AttributeDefinitions"].push_back({{"AttributeName", "n"}, {"AttributeType", "N"}});
  EXPECT_THAT(refused(extra), HasSubstr("not used"));
  json fewer = table;
  fewer["AttributeDefinitions"].erase(5);
  EXPECT_THAT(refused(fewer), HasSubstr("not defined in AttributeDefinitions. Keys: [GSI2SK]"));
  json keyless = table;
  keyless["KeySchema"] = json::array();
  EXPECT_THAT(refused(keyless), HasSubstr("HASH"));
  json foreign = table;
  foreign["LocalSecondaryIndexes"][0]["KeySchema"][0]["AttributeName"] = "GSI1PK";
  EXPECT_THAT(refused(foreign), HasSubstr("hash key"));
  json many = table;
  for (int i = 0; i < 17; ++i) {
    many["GlobalSecondaryIndexes"].push_back(table["GlobalSecondaryIndexes"][0]);
  }
  EXPECT_THAT(refused(many), HasSubstr("too many in GlobalSecondaryIndexes"));
  json unknown = table;
  unknown["ResourcePolicy"] = "x";
  EXPECT_THAT(refused(unknown), HasSubstr("not simulated: the field ResourcePolicy"));
}

std::string Ttl(const std::string& enabled) {
  return R"({"TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":)" + enabled + "}}";
}

TEST_F(SimDynamoTable, TimeToLiveIsSwitchedAndDescribed) {
  EXPECT_EQ(Ok("DescribeTimeToLive", "{}")["TimeToLiveDescription"]["TimeToLiveStatus"],
            "DISABLED");
  Refused("UpdateTimeToLive", Ttl("false"), "ValidationException");
  Ok("UpdateTimeToLive", Ttl("true"));
  EXPECT_EQ(Ok("DescribeTimeToLive", "{}")["TimeToLiveDescription"],
            json::parse(R"({"TimeToLiveStatus":"ENABLED","AttributeName":"ttl"})"));
  EXPECT_THAT(Refused("UpdateTimeToLive", Ttl("true"), "ValidationException").message,
              HasSubstr("already enabled"));
  Ok("UpdateTimeToLive", Ttl("false"));
}

TEST_F(SimDynamoTable, ASweepDeletesOnlyWhatIsOverByANumber) {
  const std::int64_t now = clock.WallNow().value / 1000;
  const auto ttl = [](std::int64_t at) { return R"("ttl":{"N":")" + std::to_string(at) + R"("})"; };
  Put("a", "over", ttl(now - 1) + R"(,"GSI2PK":{"S":"r"},"GSI2SK":{"S":"k"})");
  Put("a", "now", ttl(now));
  Put("a", "ahead", ttl(now + 100));
  Put("a", "none");
  Put("a", "text", R"("ttl":{"S":"1"})");
  Put("a", "ancient", ttl(now - 6 * 365 * 86'400));
  EXPECT_EQ(dynamo.SweepTtl(), 0U) << "not enabled";
  Ok("UpdateTimeToLive", Ttl("true"));
  EXPECT_NE(Get("a", "over"), json()) << "stays until a sweep";
  EXPECT_EQ(dynamo.SweepTtl(), 1U);
  EXPECT_EQ(Get("a", "over"), json());
  EXPECT_EQ(dynamo.Table("t")->CountItems(), 5U);
  EXPECT_EQ(Ok("Query", R"({"IndexName":"GSI2","KeyConditionExpression":"GSI2PK = :r",
                            "ExpressionAttributeValues":{":r":{"S":"r"}}})")["Count"],
            0);
  clock.Advance(seconds(101));
  EXPECT_EQ(dynamo.SweepTtl(), 2U);
}

TEST_F(SimDynamoTable, BackupsAreSwitchedAndDescribed) {
  const auto recovery = [](const json& response) {
    return response["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
  };
  EXPECT_EQ(recovery(Ok("DescribeContinuousBackups", "{}"))["PointInTimeRecoveryStatus"],
            "DISABLED");
  Ok("UpdateContinuousBackups", R"({"PointInTimeRecoverySpecification":
      {"PointInTimeRecoveryEnabled":true,"RecoveryPeriodInDays":7}})");
  EXPECT_EQ(recovery(Ok("DescribeContinuousBackups", "{}")),
            json::parse(R"({"PointInTimeRecoveryStatus":"ENABLED","RecoveryPeriodInDays":7})"));
  Refused("UpdateContinuousBackups", R"({"PointInTimeRecoverySpecification":
      {"PointInTimeRecoveryEnabled":true,"RecoveryPeriodInDays":36}})",
          "ValidationException");
}

TEST_F(SimDynamoTable, TheStreamHoldsBothImagesOfWhatChanged) {
  Ok("UpdateTimeToLive", Ttl("true"));
  Put("a", "1", R"("ttl":{"N":"1700000000"})");
  Put("a", "1", R"("ttl":{"N":"1700000000"})");
  Put("a", "1", R"("ttl":{"N":"1700000001"})");
  dynamo.SweepTtl();
  const auto& stream = dynamo.Table("t")->stream();
  ASSERT_EQ(stream.size(), 3U) << "a write that changes nothing leaves no record";
  EXPECT_FALSE(stream[0].before.has_value());
  EXPECT_EQ(stream[0].key, ReadItem(json::parse(R"({"PK":{"S":"a"},"SK":{"S":"1"}})")).value());
  EXPECT_EQ(stream[1].before, stream[0].after);
  EXPECT_EQ(WriteItem(*stream[1].after)["ttl"]["N"], "1700000001");
  EXPECT_FALSE(stream[1].by_ttl);
  EXPECT_EQ(stream[2].before, stream[1].after);
  EXPECT_FALSE(stream[2].after.has_value());
  EXPECT_TRUE(stream[2].by_ttl);
  EXPECT_EQ(stream[2].sequence, 3U);
}

TEST_F(SimDynamoTable, AnswersInAwsWireForm) {
  HttpRequest request = DynamoRequest("DescribeTable", {{"TableName", "t"}});
  const HttpResponse good = dynamo.Handle(request);
  EXPECT_EQ(good.status, 200);
  EXPECT_THAT(good.headers,
              testing::Contains(HttpHeader{"content-type", "application/x-amz-json-1.0"}));

  request.body = R"({"TableName":"other"})";
  const HttpResponse bad = dynamo.Handle(request);
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(json::parse(bad.body)["__type"],
            "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException");

  request.body = "{\"TableName\":";
  EXPECT_EQ(ReadResponse(dynamo.Handle(request)).error, "SerializationException");
  request.body = "{}";
  const auto missing = ReadResponse(dynamo.Handle(request));
  EXPECT_EQ(missing.error, "ValidationException");
  EXPECT_EQ(missing.body["__type"], "com.amazon.coral.validate#ValidationException");
}

TEST_F(SimDynamoTable, UnknownOperationsAreRefused) {
  EXPECT_EQ(Call("ExecuteStatement", "{}").error, "UnknownOperationException");
  HttpRequest request = DynamoRequest("GetItem", json::object());
  request.headers[1].value = "Kinesis_20131202.GetItem";
  EXPECT_EQ(ReadResponse(dynamo.Handle(request)).error, "UnknownOperationException");
  request.headers.clear();
  EXPECT_EQ(ReadResponse(dynamo.Handle(request)).error, "UnknownOperationException");
}

}  // namespace
}  // namespace weir::sim
