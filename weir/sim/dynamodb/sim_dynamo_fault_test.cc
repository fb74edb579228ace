// The faults of the service itself: throttles, conflicts, partial batches, stale reads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "weir/sim/dynamodb/dynamo_fixture.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using testing::HasSubstr;

using SimDynamoFault = DynamoFixture;

const std::string kAdd = R"({"Key":{"PK":{"S":"a"},"SK":{"S":"1"}},"UpdateExpression":"ADD n :1",
                             "ExpressionAttributeValues":{":1":{"N":"1"}}})";
const std::string kTransaction = R"({"ClientRequestToken":"token","TransactItems":[
    {"Put":{"TableName":"t","Item":{"PK":{"S":"a"},"SK":{"S":"1"}}}},
    {"Put":{"TableName":"t","Item":{"PK":{"S":"a"},"SK":{"S":"2"}}}}]})";
const std::string kGet = R"({"Key":{"PK":{"S":"a"},"SK":{"S":"1"}}})";

TEST_F(SimDynamoFault, AThrottledRequestIsNotApplied) {
  dynamo.faults.throttle = 1;
  Refused("UpdateItem", kAdd, "ProvisionedThroughputExceededException");
  Refused("GetItem", kGet, "ProvisionedThroughputExceededException");
  const auto cancelled =
      Refused("TransactWriteItems", kTransaction, "TransactionCanceledException");
  EXPECT_THAT(cancelled.message, HasSubstr("ThrottlingError"));
  EXPECT_EQ(cancelled.body["CancellationReasons"].size(), 2U);
  EXPECT_EQ(dynamo.counts().throttled, 3U);
  EXPECT_EQ(dynamo.counts().write_units, 0) << "and costs nothing";
  Ok("DescribeTable", "{}");
}

TEST_F(SimDynamoFault, D8AThrottleGivesItsReason) {
  dynamo.faults.throttle = 1;
  EXPECT_FALSE(Call("UpdateItem", kAdd).body.contains("ThrottlingReasons"));
  dynamo.faults.throttling_reason = "TableWriteKeyRangeThroughputExceeded";
  const auto refused = Refused("UpdateItem", kAdd, "ProvisionedThroughputExceededException");
  ASSERT_EQ(refused.body["ThrottlingReasons"].size(), 1U);
  EXPECT_EQ(refused.body["ThrottlingReasons"][0]["reason"], "TableWriteKeyRangeThroughputExceeded");
  EXPECT_TRUE(refused.body["ThrottlingReasons"][0]["resource"].is_string());
}

TEST_F(SimDynamoFault, ThrottlesComeAsOftenAsTheyShould) {
  dynamo.faults.throttle = 0.25;
  int applied = 0;
  for (int i = 0; i < 400; ++i) applied += Call("UpdateItem", kAdd).status == 200 ? 1 : 0;
  EXPECT_EQ(dynamo.counts().throttled, 400U - static_cast<unsigned>(applied));
  EXPECT_GT(applied, 250);
  EXPECT_LT(applied, 350);
  dynamo.faults.throttle = 0;
  EXPECT_EQ(Get("a", "1")["n"]["N"], std::to_string(applied));
}

TEST_F(SimDynamoFault, AWriteMayMeetATransaction) {
  dynamo.faults.conflict = 1;
  Refused("UpdateItem", kAdd, "TransactionConflictException");
  Ok("GetItem", kGet);
  const auto response = Refused("TransactWriteItems", kTransaction, "TransactionCanceledException");
  const json& reasons = response.body["CancellationReasons"];
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_NE(reasons[0]["Code"], reasons[1]["Code"]) << "one of them, drawn";
  EXPECT_THAT(response.message, HasSubstr("TransactionConflict"));
  EXPECT_EQ(dynamo.counts().conflicts, 2U);
}

TEST_F(SimDynamoFault, ARepeatedTokenMayFindItsTransactionUnderWay) {
  dynamo.faults.in_progress = 1;
  Ok("TransactWriteItems", kTransaction);
  Refused("TransactWriteItems", kTransaction, "TransactionInProgressException");
  EXPECT_EQ(dynamo.counts().in_progress, 1U);
}

std::string BatchOfPuts(int count) {
  json puts = json::array();
  for (int i = 0; i < count; ++i) {
    puts.push_back(json::parse(R"({"PutRequest":{"Item":{"PK":{"S":"a"},"SK":{"S":")" +
                               std::to_string(i) + R"("}}}})"));
  }
  return json({{"RequestItems", {{"t", puts}}}}).dump();
}

TEST_F(SimDynamoFault, ABatchOfWritesMayBeDoneInPart) {
  dynamo.faults.unprocessed = 0.5;
  json left = Ok("BatchWriteItem", BatchOfPuts(25))["UnprocessedItems"];
  ASSERT_TRUE(left.contains("t"));
  const std::size_t unprocessed = left["t"].size();
  EXPECT_EQ(dynamo.Table("t")->CountItems(), 25 - unprocessed);
  EXPECT_EQ(dynamo.counts().unprocessed, unprocessed);
  dynamo.faults.unprocessed = 0;
  Ok("BatchWriteItem", json({{"RequestItems", left}}).dump());
  EXPECT_EQ(dynamo.Table("t")->CountItems(), 25U);
}

TEST_F(SimDynamoFault, ABatchOfGetsMayBeDoneInPart) {
  Ok("BatchWriteItem", BatchOfPuts(25));
  dynamo.faults.unprocessed = 0.5;
  json request = json::parse(R"({"RequestItems":{"t":{"ConsistentRead":true,"Keys":[]}}})");
  for (int i = 0; i < 25; ++i) {
    request["RequestItems"]["t"]["Keys"].push_back(
        json::parse(R"({"PK":{"S":"a"},"SK":{"S":")" + std::to_string(i) + R"("}})"));
  }
  const json response = Ok("BatchGetItem", request.dump());
  const json& left = response["UnprocessedKeys"]["t"];
  EXPECT_EQ(left["ConsistentRead"], true) << "what is left can be asked for as it is";
  EXPECT_GT(left["Keys"].size(), 0U);
  EXPECT_EQ(response["Responses"]["t"].size(), 25 - left["Keys"].size());
}

TEST_F(SimDynamoFault, ABatchOfWhichNothingIsDoneIsAThrottle) {
  dynamo.faults.unprocessed = 1;
  Refused("BatchWriteItem", BatchOfPuts(3), "ProvisionedThroughputExceededException");
  Refused("BatchGetItem", R"({"RequestItems":{"t":{"Keys":[{"PK":{"S":"a"},"SK":{"S":"1"}}]}}})",
          "ProvisionedThroughputExceededException");
}

TEST_F(SimDynamoFault, AReadMayShowTheImageBeforeTheLastWrite) {
  Put("a", "1", R"("n":{"N":"1"})");
  Put("a", "1", R"("n":{"N":"2"})");
  Put("a", "2");
  dynamo.faults.stale_read = 1;
  EXPECT_EQ(Ok("GetItem", kGet)["Item"]["n"]["N"], "1");
  EXPECT_EQ(Get("a", "1")["n"]["N"], "2") << "a consistent read never does";
  const std::string query = R"("KeyConditionExpression":"PK = :p",
                               "ExpressionAttributeValues":{":p":{"S":"a"}})";
  const json found = Ok("Query", "{" + query + "}")["Items"];
  ASSERT_EQ(found.size(), 1U) << "the other was not there before";
  EXPECT_EQ(found[0]["n"]["N"], "1");
  EXPECT_EQ(Ok("Query", "{" + query + R"(,"ConsistentRead":true})")["Count"], 2);
  Ok("DeleteItem", kGet);
  EXPECT_EQ(Ok("GetItem", kGet)["Item"]["n"]["N"], "2") << "deleted, and still seen";
  EXPECT_EQ(dynamo.counts().stale_reads, 4U);
}

TEST_F(SimDynamoFault, AWriteOfLongAgoIsSeenByEveryone) {
  Put("a", "1", R"("n":{"N":"1"})");
  Put("a", "1", R"("n":{"N":"2"})");
  dynamo.faults.stale_read = 1;
  dynamo.faults.longest_staleness = seconds(2);
  clock.Advance(seconds(2));
  EXPECT_EQ(Ok("GetItem", kGet)["Item"]["n"]["N"], "1");
  clock.Advance(seconds(1));
  EXPECT_EQ(Ok("GetItem", kGet)["Item"]["n"]["N"], "2");
}

/// Returns all responses of a run of mixed requests.
std::string Trace(std::uint64_t seed, const DynamoFaults& faults) {
  SimClock clock;
  SimDynamo dynamo(clock, seed);
  std::string trace = dynamo.Handle(DynamoRequest("CreateTable", LimitsTable())).body;
  dynamo.faults = faults;
  for (int i = 0; i < 50; ++i) {
    json get = json::parse(kGet);
    json add = json::parse(kAdd);
    get["TableName"] = add["TableName"] = "t";
    trace += dynamo.Handle(DynamoRequest("UpdateItem", add)).body;
    trace += dynamo.Handle(DynamoRequest("GetItem", get)).body;
    trace += dynamo.Handle(DynamoRequest("BatchWriteItem", json::parse(BatchOfPuts(10)))).body;
    trace += dynamo.Handle(DynamoRequest("TransactWriteItems", json::parse(kTransaction))).body;
    clock.Advance(milliseconds(7));
  }
  return trace;
}

TEST(SimDynamoSeed, ReplaysARunAndAnotherSeedGivesAnother) {
  const DynamoFaults faults{.throttle = 0.1,
                            .conflict = 0.1,
                            .in_progress = 0.1,
                            .unprocessed = 0.1,
                            .stale_read = 0.1,
                            .longest_index_lag = seconds(1)};
  EXPECT_EQ(Trace(1, faults), Trace(1, faults));
  EXPECT_NE(Trace(1, faults), Trace(2, faults));
}

}  // namespace
}  // namespace weir::sim
