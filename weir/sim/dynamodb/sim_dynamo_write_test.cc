// Writes of one item, batches of writes, and their cost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/sim/dynamodb/dynamo_fixture.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using SimDynamoWrite = DynamoFixture;

const std::string kKey = R"("Key":{"PK":{"S":"a"},"SK":{"S":"1"}})";

TEST_F(SimDynamoWrite, PutReplacesTheWholeItem) {
  Put("a", "1", R"("n":{"N":"1.0"},"x":{"S":"old"})");
  Put("a", "1", R"("n":{"N":"2"})");
  EXPECT_EQ(Get("a", "1"), json::parse(R"({"PK":{"S":"a"},"SK":{"S":"1"},"n":{"N":"2"}})"));
  EXPECT_EQ(Get("a", "2"), json());
  EXPECT_EQ(Get("b", "1"), json());
}

TEST_F(SimDynamoWrite, PutReturnsTheOldItemIfAsked) {
  const std::string put = R"({"ReturnValues":"ALL_OLD","Item":{"PK":{"S":"a"},"SK":{"S":"1"}}})";
  EXPECT_EQ(Ok("PutItem", put), json::object());
  EXPECT_EQ(Ok("PutItem", put)["Attributes"], json::parse(R"({"PK":{"S":"a"},"SK":{"S":"1"}})"));
  Refused("PutItem", R"({"ReturnValues":"ALL_NEW","Item":{"PK":{"S":"a"},"SK":{"S":"1"}}})",
          "ValidationException");
}

TEST_F(SimDynamoWrite, AFailedConditionChangesNothingAndShowsTheItemOnlyIfAsked) {
  Put("a", "1", R"("tk":{"N":"5"})");
  const std::string update = kKey + R"(,
      "UpdateExpression":"ADD tk :minus","ConditionExpression":"tk >= :least",
      "ExpressionAttributeValues":{":minus":{"N":"-6"},":least":{"N":"6"}})";
  const auto plain = Refused("UpdateItem", "{" + update + "}", "ConditionalCheckFailedException");
  EXPECT_EQ(plain.message, "The conditional request failed");
  EXPECT_FALSE(plain.body.contains("Item"));
  const std::string all_old = R"(,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"})";
  const auto shown =
      Refused("UpdateItem", "{" + update + all_old, "ConditionalCheckFailedException");
  EXPECT_EQ(shown.body["Item"], Get("a", "1"));
  EXPECT_EQ(shown.body["__type"],
            "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException");
  EXPECT_EQ(dynamo.counts().failed_conditions, 2U);
}

TEST_F(SimDynamoWrite, WhereNoItemIsThereNoneIsShown) {
  const auto response =
      Refused("DeleteItem", "{" + kKey + R"j(,"ConditionExpression":"attribute_exists(PK)",
                      "ReturnValuesOnConditionCheckFailure":"ALL_OLD"})j",
              "ConditionalCheckFailedException");
  EXPECT_FALSE(response.body.contains("Item"));
}

TEST_F(SimDynamoWrite, UpdateMakesAnItemThatIsNotThere) {
  Ok("UpdateItem", "{" + kKey + R"(,"UpdateExpression":"ADD tk :n SET s = :s",
      "ExpressionAttributeValues":{":n":{"N":"-5"},":s":{"S":"x"}}})");
  EXPECT_EQ(Get("a", "1"),
            json::parse(R"({"PK":{"S":"a"},"SK":{"S":"1"},"tk":{"N":"-5"},"s":{"S":"x"}})"));
  Ok("UpdateItem", R"({"Key":{"PK":{"S":"a"},"SK":{"S":"2"}}})");
  EXPECT_EQ(Get("a", "2"), json::parse(R"({"PK":{"S":"a"},"SK":{"S":"2"}})"));
}

TEST_F(SimDynamoWrite, UpdateReturnsWhatIsAsked) {
  const auto update = [this](const std::string& returned) {
    Put("a", "1", R"("n":{"N":"1"},"gone":{"S":"x"},"m":{"M":{"i":{"N":"1"},"j":{"N":"2"}}})");
    return Ok("UpdateItem", "{" + kKey + R"(,"ReturnValues":")" + returned + R"(",
                 "UpdateExpression":"ADD n :1, m.i :1 REMOVE gone SET fresh = :1",
                 "ExpressionAttributeValues":{":1":{"N":"1"}}})");
  };
  EXPECT_EQ(update("NONE"), json::object());
  EXPECT_EQ(update("ALL_OLD")["Attributes"],
            json::parse(R"({"PK":{"S":"a"},"SK":{"S":"1"},"n":{"N":"1"},"gone":{"S":"x"},
                            "m":{"M":{"i":{"N":"1"},"j":{"N":"2"}}}})"));
  EXPECT_EQ(update("ALL_NEW")["Attributes"],
            json::parse(R"({"PK":{"S":"a"},"SK":{"S":"1"},"n":{"N":"2"},"fresh":{"N":"1"},
                            "m":{"M":{"i":{"N":"2"},"j":{"N":"2"}}}})"));
  EXPECT_EQ(update("UPDATED_OLD")["Attributes"],
            json::parse(R"({"n":{"N":"1"},"gone":{"S":"x"},"m":{"M":{"i":{"N":"1"}}}})"));
  EXPECT_EQ(update("UPDATED_NEW")["Attributes"],
            json::parse(R"({"n":{"N":"2"},"fresh":{"N":"1"},"m":{"M":{"i":{"N":"2"}}}})"));
}

TEST_F(SimDynamoWrite, DeleteReturnsWhatWasThereAndMayBeRepeated) {
  Put("a", "1", R"("n":{"N":"1"})");
  const std::string request = "{" + kKey + R"(,"ReturnValues":"ALL_OLD"})";
  EXPECT_EQ(Ok("DeleteItem", request)["Attributes"]["n"], json::parse(R"({"N":"1"})"));
  EXPECT_EQ(Ok("DeleteItem", request), json::object());
  EXPECT_EQ(Get("a", "1"), json());
  EXPECT_EQ(dynamo.Table("t")->CountItems(), 0U);
}

struct BadRequest {
  std::string operation;
  std::string body;
  std::string why;
};

TEST_F(SimDynamoWrite, RefusesWhatAwsRefuses) {
  Put("a", "1", R"("s":{"S":"x"})");
  const std::string long_key(1025, 'k');
  const std::string huge(400 * 1024, 'h');
  const BadRequest requests[] = {
      {"PutItem", R"({})", "'Item'"},
      {"PutItem", R"({"Item":{"PK":{"S":"a"}}})", "Missing the key SK"},
      {"PutItem", R"({"Item":{"PK":{"S":"a"},"SK":{"N":"1"}}})", "Type mismatch for key SK"},
      {"PutItem", R"({"Item":{"PK":{"S":""},"SK":{"S":"1"}}})", "empty string value. Key: PK"},
      {"PutItem", R"({"Item":{"PK":{"S":"a"},"SK":{"S":")" + long_key + R"("}}})", "1024 bytes"},
      {"PutItem", R"({"Item":{"PK":{"S":"a"},"SK":{"S":"1"},"h":{"S":")" + huge + R"("}}})",
       "Item size has exceeded"},
      {"PutItem", R"({"Item":{"PK":{"S":"a"},"SK":{"S":"1"},"GSI2PK":{"N":"1"}}})",
       "Type mismatch for Index Key GSI2PK Expected: S Actual: N IndexName: GSI2"},
      {"PutItem", R"({"Item":{"PK":{"S":"a"},"SK":{"S":"1"},"GSI1SK":{"S":""}}})",
       "IndexName: GSI1, IndexKey: GSI1SK"},
      {"PutItem", R"({"Item":{"PK":{"S":"a"},"SK":{"S":"1"},"n":{"N":"x"}}})", "numeric value"},
      {"PutItem", R"({"Item":{"PK":{"S":"a"},"SK":{"S":"1"}},"Expected":{}})",
       "not simulated: the field Expected"},
      {"PutItem", R"({"Item":{"PK":{"S":"a"},"SK":{"S":"1"}},"ConditionExpression":""})",
       "can not be empty"},
      {"PutItem",
       R"({"Item":{"PK":{"S":"a"},"SK":{"S":"1"}},"ExpressionAttributeValues":{":a":{"N":"1"}}})",
       "unused in expressions"},
      {"PutItem", R"({"Item":{"PK":{"S":"a"},"SK":{"S":"1"}},"ExpressionAttributeNames":{}})",
       "must not be empty"},
      {"PutItem", R"({"Item":{"PK":{"S":"a"},"SK":{"S":"1"}},"ReturnConsumedCapacity":"ALL"})",
       "enum value set"},
      {"UpdateItem", R"({"Key":{"PK":{"S":"a"}}})", "does not match the schema"},
      {"UpdateItem", R"({"Key":{"PK":{"S":"a"},"SK":{"N":"1"}}})", "does not match the schema"},
      {"UpdateItem", R"({"Key":{"PK":{"S":"a"},"SK":{"S":"1"},"n":{"N":"1"}}})", "schema"},
      {"UpdateItem", "{" + kKey + R"(,"UpdateExpression":"SET PK = s"})",
       "Cannot update attribute PK. This attribute is part of the key"},
      {"UpdateItem", "{" + kKey + R"(,"UpdateExpression":"REMOVE SK"})", "part of the key"},
      {"UpdateItem", "{" + kKey + R"(,"UpdateExpression":"SET a = absent"})", "does not exist"},
      {"UpdateItem", "{" + kKey + R"(,"UpdateExpression":"SET GSI1PK = :n",
                       "ExpressionAttributeValues":{":n":{"N":"1"}}})",
       "Index Key GSI1PK"},
      {"UpdateItem", "{" + kKey + R"(,"UpdateExpression":"SET #s = s",
                       "ExpressionAttributeNames":{"s":"x"}})",
       "ExpressionAttributeNames contains invalid key"},
      {"UpdateItem", "{" + kKey + R"(,"UpdateExpression":"SET t = :s",
                       "ExpressionAttributeValues":{"s":{"S":"x"}}})",
       "ExpressionAttributeValues contains invalid key"},
      {"DeleteItem", R"({"Key":{"PK":{"S":"a"},"SK":{"S":""}}})", "empty string value"},
      {"DeleteItem", "{" + kKey + R"(,"ReturnValues":"UPDATED_OLD"})", "enum value set"},
  };
  for (const auto& [operation, body, why] : requests) {
    EXPECT_THAT(Refused(operation, body, "ValidationException").message, HasSubstr(why)) << body;
  }
}

TEST_F(SimDynamoWrite, AnUnknownTableIsNotFound) {
  Refused("PutItem", R"({"TableName":"other","Item":{"PK":{"S":"a"},"SK":{"S":"1"}}})",
          "ResourceNotFoundException");
}

TEST_F(SimDynamoWrite, WritesAreBilledByTheLargerImageAndByTheIndexesTheyChange) {
  const auto put = [this](const std::string& attributes) {
    return Ok("PutItem", R"({"ReturnConsumedCapacity":"INDEXES",
                             "Item":{"PK":{"S":"a"},"SK":{"S":"1"})" +
                             attributes + "}}")["ConsumedCapacity"];
  };
  const std::string indexed = R"(,"GSI2PK":{"S":"r"},"GSI2SK":{"S":"k"},
                                  "GSI4PK":{"S":"ns"},"GSI4SK":{"S":"k"})";
  EXPECT_EQ(put(""), json::parse(R"({"TableName":"t","CapacityUnits":1.0,
                                     "Table":{"CapacityUnits":1.0}})"));
  EXPECT_EQ(put(indexed), json::parse(R"({"TableName":"t","CapacityUnits":3.0,
      "Table":{"CapacityUnits":1.0},
      "GlobalSecondaryIndexes":{"GSI2":{"CapacityUnits":1.0},"GSI4":{"CapacityUnits":1.0}}})"));
  EXPECT_EQ(put(indexed + R"(,"n":{"N":"1"})")["GlobalSecondaryIndexes"],
            json::parse(R"({"GSI2":{"CapacityUnits":1.0}})"))
      << "an index of keys alone does not change";
  EXPECT_EQ(put(indexed + R"(,"n":{"N":"1"})")["CapacityUnits"], 1.0) << "nothing changes";
  EXPECT_EQ(put(R"(,"GSI2PK":{"S":"other"},"GSI2SK":{"S":"k"})")["GlobalSecondaryIndexes"],
            json::parse(R"({"GSI2":{"CapacityUnits":2.0},"GSI4":{"CapacityUnits":1.0}})"))
      << "another index key: out and in again";
  const std::string big(3000, 'x');
  EXPECT_EQ(put(R"(,"big":{"S":")" + big + R"("})")["Table"]["CapacityUnits"], 3.0);
  EXPECT_EQ(put("")["Table"]["CapacityUnits"], 3.0) << "the old image was larger";
}

TEST_F(SimDynamoWrite, AFailedConditionIsBilledToo) {
  const std::string big(1500, 'x');
  Put("a", "1", R"("big":{"S":")" + big + R"("})");
  const double before = dynamo.counts().write_units;
  Refused("UpdateItem", "{" + kKey + R"j(,"ConditionExpression":"attribute_not_exists(PK)"})j",
          "ConditionalCheckFailedException");
  EXPECT_EQ(dynamo.counts().write_units, before + 2);
}

TEST_F(SimDynamoWrite, ReadsAreBilledByFourKilobytesAndHalfIfTheyMayBeStale) {
  const std::string big(5000, 'x');
  Put("a", "1", R"("big":{"S":")" + big + R"("})");
  const auto units = [this](const std::string& consistent) {
    return Ok("GetItem", "{" + kKey + R"(,"ReturnConsumedCapacity":"TOTAL","ConsistentRead":)" +
                             consistent + "}")["ConsumedCapacity"]["CapacityUnits"]
        .get<double>();
  };
  EXPECT_EQ(units("true"), 2.0);
  EXPECT_EQ(units("false"), 1.0);
  EXPECT_EQ(dynamo.counts().read_units, 3.0);
}

TEST_F(SimDynamoWrite, EveryRequestIsCountedByItsKind) {
  Put("a", "1");
  Get("a", "1");
  Get("a", "2");
  Refused("DeleteItem", "{}", "ValidationException");
  EXPECT_EQ(dynamo.counts().Requests("PutItem"), 1U);
  EXPECT_EQ(dynamo.counts().Requests("GetItem"), 2U);
  EXPECT_EQ(dynamo.counts().Requests("DeleteItem"), 1U);
  EXPECT_EQ(dynamo.counts().Requests("Query"), 0U);
  EXPECT_EQ(dynamo.counts().AllRequests(), 5U) << "with CreateTable";
}

TEST_F(SimDynamoWrite, ABatchPutsAndDeletes) {
  Put("a", "1");
  const json response = Ok("BatchWriteItem", R"({"RequestItems":{"t":[
      {"DeleteRequest":{"Key":{"PK":{"S":"a"},"SK":{"S":"1"}}}},
      {"PutRequest":{"Item":{"PK":{"S":"a"},"SK":{"S":"2"},"n":{"N":"7"}}}}]},
      "ReturnConsumedCapacity":"TOTAL"})");
  EXPECT_EQ(response["UnprocessedItems"], json::object());
  EXPECT_EQ(response["ConsumedCapacity"][0]["CapacityUnits"], 2.0);
  EXPECT_EQ(Everything(), json::parse(R"([{"PK":{"S":"a"},"SK":{"S":"2"},"n":{"N":"7"}}])"));
}

std::string Deletes(int count) {
  std::string requests;
  for (int i = 0; i < count; ++i) {
    requests += std::string(i == 0 ? "" : ",") + R"({"DeleteRequest":{"Key":{"PK":{"S":"a"},)" +
                R"("SK":{"S":")" + std::to_string(i) + R"("}}}})";
  }
  return R"({"RequestItems":{"t":[)" + requests + "]}}";
}

TEST_F(SimDynamoWrite, ABatchHasOneToTwentyFiveWritesOfDifferentItems) {
  Put("a", "1");
  Refused("BatchWriteItem", Deletes(0), "ValidationException");
  Refused("BatchWriteItem", Deletes(26), "ValidationException");
  EXPECT_THAT(Refused("BatchWriteItem", R"({"RequestItems":{"t":[
                        {"DeleteRequest":{"Key":{"PK":{"S":"a"},"SK":{"S":"1"}}}},
                        {"PutRequest":{"Item":{"PK":{"S":"a"},"SK":{"S":"1"}}}}]}})",
                      "ValidationException")
                  .message,
              HasSubstr("duplicates"));
  Refused("BatchWriteItem", R"({"RequestItems":{"t":[{}]}})", "ValidationException");
  Ok("BatchWriteItem", Deletes(25));
  EXPECT_EQ(Everything(), json::array());
}

// Fails if: a condition is judged on another image than the current item, or a write is applied
// though its condition failed.
RC_GTEST_FIXTURE_PROP(SimDynamoWrite, TakesNeverExceedWhatWasThere, ()) {
  const auto tokens = *rc::gen::inRange(0, 50);
  const auto amounts = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 10));
  Put("a", "1", R"("tk":{"N":")" + std::to_string(tokens) + R"("})");
  int taken = 0;
  for (const int amount : amounts) {
    const std::string n = std::to_string(amount);
    const auto response = Call("UpdateItem", "{" + kKey + R"(,"UpdateExpression":"ADD tk :minus",
        "ConditionExpression":"tk >= :n","ExpressionAttributeValues":{":minus":{"N":"-)" +
                                                 n + R"("},":n":{"N":")" + n + R"("}}})");
    RC_ASSERT((response.status == 200) == (taken + amount <= tokens));
    if (response.status == 200) taken += amount;
  }
  RC_ASSERT(Get("a", "1")["tk"]["N"] == std::to_string(tokens - taken));
}

}  // namespace
}  // namespace weir::sim
