// TransactWriteItems and TransactGetItems.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>

#include "weir/sim/dynamodb/dynamo_fixture.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using std::chrono::minutes;
using testing::HasSubstr;

std::string Key(const std::string& sk) { return R"({"PK":{"S":"a"},"SK":{"S":")" + sk + R"("}})"; }

/// Takes n tokens of item a/sk if it has them.
std::string Take(const std::string& sk, int n) {
  const std::string number = std::to_string(n);
  return R"({"Update":{"TableName":"t","Key":)" + Key(sk) +
         R"(,"UpdateExpression":"ADD tk :minus","ConditionExpression":"tk >= :n",
            "ReturnValuesOnConditionCheckFailure":"ALL_OLD",
            "ExpressionAttributeValues":{":minus":{"N":"-)" +
         number + R"("},":n":{"N":")" + number + R"("}}}})";
}

class SimDynamoTransaction : public DynamoFixture {
 protected:
  SimDynamoTransaction() {
    Put("a", "1", R"("tk":{"N":"5"})");
    Put("a", "2", R"("tk":{"N":"1"})");
  }

  static std::string Body(const std::vector<std::string>& items, const std::string& token = "") {
    std::string joined;
    for (const std::string& item : items) joined += (joined.empty() ? "" : ",") + item;
    const std::string with_token = token.empty() ? "" : R"(,"ClientRequestToken":")" + token + '"';
    return R"({"TransactItems":[)" + joined + "]" + with_token + "}";
  }
  std::string Tokens(const std::string& sk) { return Get("a", sk)["tk"]["N"]; }
};

TEST_F(SimDynamoTransaction, AppliesAllFourKindsTogether) {
  Ok("TransactWriteItems",
     Body({R"j({"Put":{"TableName":"t","Item":{"PK":{"S":"a"},"SK":{"S":"3"}},
               "ConditionExpression":"attribute_not_exists(PK)"}})j",
           Take("1", 2), R"({"Delete":{"TableName":"t","Key":)" + Key("2") + "}}",
           R"j({"ConditionCheck":{"TableName":"t","Key":)j" + Key("4") +
               R"j(,"ConditionExpression":"attribute_not_exists(PK)"}})j"}));
  EXPECT_EQ(Everything(), json::parse(R"([{"PK":{"S":"a"},"SK":{"S":"1"},"tk":{"N":"3"}},
                                          {"PK":{"S":"a"},"SK":{"S":"3"}}])"));
}

TEST_F(SimDynamoTransaction, OneFailedConditionUndoesAllAndEachItemHasItsReason) {
  const auto response =
      Refused("TransactWriteItems", Body({Take("1", 2), Take("2", 2), Take("3", 1), Take("4", 0)}),
              "TransactionCanceledException");
  EXPECT_THAT(response.message, HasSubstr("[None, ConditionalCheckFailed, ConditionalCheckFailed, "
                                          "ConditionalCheckFailed]"));
  const json& reasons = response.body["CancellationReasons"];
  ASSERT_EQ(reasons.size(), 4U);
  EXPECT_EQ(reasons[0], json::parse(R"({"Code":"None"})"));
  EXPECT_EQ(reasons[1]["Code"], "ConditionalCheckFailed");
  EXPECT_EQ(reasons[1]["Item"], Get("a", "2"));
  EXPECT_FALSE(reasons[2].contains("Item")) << "there is none";
}

TEST_F(SimDynamoTransaction, AnItemIsShownOnlyWhereItWasAskedFor) {
  const auto response = Refused("TransactWriteItems",
                                Body({R"j({"ConditionCheck":{"TableName":"t","Key":)j" + Key("1") +
                                      R"j(,"ConditionExpression":"attribute_not_exists(PK)"}})j"}),
                                "TransactionCanceledException");
  EXPECT_FALSE(response.body["CancellationReasons"][0].contains("Item"));
}

TEST_F(SimDynamoTransaction, WhatDoesNotFitAnItemIsAReasonToo) {
  const auto response =
      Refused("TransactWriteItems",
              Body({Take("1", 1), R"({"Update":{"TableName":"t","Key":)" + Key("2") +
                                      R"(,"UpdateExpression":"SET x = absent"}})"}),
              "TransactionCanceledException");
  EXPECT_EQ(response.body["CancellationReasons"][1]["Code"], "ValidationError");
  EXPECT_THAT(response.body["CancellationReasons"][1]["Message"].get<std::string>(),
              HasSubstr("does not exist"));
}

TEST_F(SimDynamoTransaction, RefusesWhatAwsRefuses) {
  std::vector<std::string> many;
  for (int i = 0; i < 101; ++i) many.push_back(Take(std::to_string(i), 0));
  const auto refused = [this](const std::vector<std::string>& items) {
    return Refused("TransactWriteItems", Body(items), "ValidationException").message;
  };
  EXPECT_THAT(refused({}), HasSubstr("greater than or equal to 1"));
  EXPECT_THAT(refused(many), HasSubstr("less than or equal to 100"));
  EXPECT_THAT(refused({Take("1", 1), Take("1", 2)}),
              HasSubstr("cannot include multiple operations on one item"));
  EXPECT_THAT(refused({"{}"}), HasSubstr("one of"));
  EXPECT_THAT(refused({R"({"Get":{}})"}), HasSubstr("not simulated: the field Get"));
  EXPECT_THAT(refused({R"({"Update":{"TableName":"t","Key":)" + Key("1") + "}}"}),
              HasSubstr("'UpdateExpression'"));
  EXPECT_THAT(refused({R"({"ConditionCheck":{"TableName":"t","Key":)" + Key("1") + "}}"}),
              HasSubstr("'ConditionExpression'"));
  EXPECT_THAT(refused({R"({"Delete":{"TableName":"t","Key":)" + Key("1") +
                       R"(,"ConditionExpression":"tk >"}})"}),
              HasSubstr("Syntax error"));
  Refused("TransactWriteItems", Body({Take("1", 1)}, std::string(37, 't')), "ValidationException");
}

TEST_F(SimDynamoTransaction, AHundredItemsAreNotTooMany) {
  std::vector<std::string> items;
  for (int i = 0; i < 100; ++i) {
    items.push_back(R"({"Put":{"TableName":"t","Item":)" + Key("n" + std::to_string(i)) + "}}");
  }
  Ok("TransactWriteItems", Body(items));
  EXPECT_EQ(dynamo.Table("t")->CountItems(), 102U);
}

TEST_F(SimDynamoTransaction, ATokenIsAppliedOnceWithinTenMinutes) {
  const std::string body = Body({Take("1", 1)}, "token-1");
  Ok("TransactWriteItems", body);
  clock.Advance(minutes(9));
  Ok("TransactWriteItems", body);
  EXPECT_EQ(Tokens("1"), "4");
  clock.Advance(minutes(2));
  Ok("TransactWriteItems", body);
  EXPECT_EQ(Tokens("1"), "3");
  Ok("TransactWriteItems", Body({Take("1", 1)}, "token-2"));
  EXPECT_EQ(Tokens("1"), "2");
}

TEST_F(SimDynamoTransaction, ATokenWithOtherItemsIsRefused) {
  Ok("TransactWriteItems", Body({Take("1", 1)}, "token"));
  Refused("TransactWriteItems", Body({Take("1", 2)}, "token"),
          "IdempotentParameterMismatchException");
}

TEST_F(SimDynamoTransaction, ATokenWhoseTransactionFailedIsTriedAnew) {
  const std::string body = Body({Take("2", 3)}, "token");
  Refused("TransactWriteItems", body, "TransactionCanceledException");
  Put("a", "2", R"("tk":{"N":"3"})");
  Ok("TransactWriteItems", body);
  EXPECT_EQ(Tokens("2"), "0");
}

TEST_F(SimDynamoTransaction, CostsTwice) {
  double before = dynamo.counts().write_units;
  json body = json::parse(Body({Take("1", 1), Take("2", 1)}, "token"));
  body["ReturnConsumedCapacity"] = "TOTAL";
  EXPECT_EQ(Ok("TransactWriteItems", body.dump())["ConsumedCapacity"][0]["CapacityUnits"], 4.0);
  EXPECT_EQ(dynamo.counts().write_units, before + 4);

  before = dynamo.counts().write_units;
  Ok("TransactWriteItems", body.dump());
  EXPECT_EQ(dynamo.counts().write_units, before) << "a repeated token only reads";
  EXPECT_EQ(dynamo.counts().read_units, 4);

  body["ClientRequestToken"] = "other";
  Refused("TransactWriteItems", body.dump(), "TransactionCanceledException");
  EXPECT_EQ(dynamo.counts().write_units, before + 4) << "a cancelled one is billed";
}

TEST_F(SimDynamoTransaction, GetsItemsInOrderAndCostsTwice) {
  const auto get = [](const std::string& sk) {
    return R"({"Get":{"TableName":"t","ProjectionExpression":"tk","Key":)" + Key(sk) + "}}";
  };
  const double before = dynamo.counts().read_units;
  const json response = Ok("TransactGetItems", Body({get("2"), get("9"), get("1")}));
  EXPECT_EQ(response["Responses"],
            json::parse(R"([{"Item":{"tk":{"N":"1"}}},{},{"Item":{"tk":{"N":"5"}}}])"));
  EXPECT_EQ(dynamo.counts().read_units, before + 6);
}

// Fails if: a transaction is applied in part, or one item is judged after another one was changed.
RC_GTEST_FIXTURE_PROP(SimDynamoTransaction, AllOrNothingWhateverIsTaken, ()) {
  const auto amounts = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::inRange(0, 3)));
  int first = 5;
  int second = 1;
  for (const auto& [a, b] : amounts) {
    const auto response = Call("TransactWriteItems", Body({Take("1", a), Take("2", b)}));
    const bool fits = a <= first && b <= second;
    RC_ASSERT((response.status == 200) == fits);
    if (fits) first -= a, second -= b;
    RC_ASSERT(Tokens("1") == std::to_string(first));
    RC_ASSERT(Tokens("2") == std::to_string(second));
  }
}

}  // namespace
}  // namespace weir::sim
