// The writes of zae-limiter 0.17 on a bucket, as it sends them to a shared table.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/sim/dynamodb/dynamo_fixture.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr const char* kBucket = R"("PK":{"S":"ns/BUCKET#acme#gpt-4#0"},"SK":{"S":"#STATE"})";
constexpr const char* kMeta = R"("PK":{"S":"ns/ENTITY#acme"},"SK":{"S":"#META"})";

std::string Milli(std::int64_t tokens) { return R"({"N":")" + std::to_string(tokens) + R"("})"; }

class SimDynamoLimiter : public DynamoFixture {
 protected:
  SimDynamoLimiter() { Create(); }

  /// Creates the bucket with 10 of 10 tokens, and checks its owner, in one transaction.
  DynamoResponse Create() {
    return Call("TransactWriteItems", R"j({"TransactItems":[
        {"Put":{"TableName":"t","ConditionExpression":"attribute_not_exists(PK)","Item":{)j" +
                                          std::string(kBucket) + R"j(,
          "b_rpm_tk":{"N":"10000"},"b_rpm_tc":{"N":"0"},"b_rpm_cp":{"N":"10000"},
          "b_wcu_tk":{"N":"1000000"},"b_wcu_tc":{"N":"0"},"rf":{"N":"1000"},"shard_count":{"N":"1"},
          "GSI2PK":{"S":"ns/RESOURCE#gpt-4"},"GSI2SK":{"S":"BUCKET#acme#0"},
          "GSI3PK":{"S":"ns/ENTITY#acme"},"GSI3SK":{"S":"BUCKET#gpt-4#0"},
          "GSI4PK":{"S":"ns"},"GSI4SK":{"S":"BUCKET#acme#gpt-4#0"}}}},
        {"ConditionCheck":{"TableName":"t","Key":{)j" +
                                          std::string(kMeta) + R"j(},
          "ConditionExpression":"attribute_not_exists(PK)"}}]})j");
  }

  DynamoResponse Update(const std::string& update, const std::string& condition,
                        const std::string& names, const std::string& values) {
    json body = {{"UpdateExpression", update}, {"ReturnValues", "ALL_NEW"}};
    body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD";
    body["Key"] = json::parse("{" + std::string(kBucket) + "}");
    body["ConditionExpression"] = condition;
    if (!names.empty()) body["ExpressionAttributeNames"] = json::parse("{" + names + "}");
    body["ExpressionAttributeValues"] = json::parse("{" + values + "}");
    return Call("UpdateItem", body.dump());
  }

  /// Takes n millitokens in one write without a read, if the stored balance has them.
  DynamoResponse Speculate(std::int64_t n, std::int64_t now_ms = 5000) {
    return Update(
        "ADD #b0tk :n0, #b0tc :p0, #wtk :wn, #wtc :wp",
        "attribute_exists(PK) AND "
        "(#bypass > :now OR (#b0soft > :now AND attribute_exists(#b0cp) AND "
        "attribute_exists(#b0tk)) OR #b0tk >= :p0) AND "
        "(attribute_not_exists(#b0soft) OR #b0soft > :now) AND "
        "(attribute_not_exists(#bypass) OR #bypass > :now) AND #wtk >= :wp AND "
        "(attribute_not_exists(#ttl) OR #ttl > :now_s) AND attribute_not_exists(#disabled) AND "
        "(#bypass > :now OR attribute_not_exists(#vu) OR #vu > :now)",
        R"("#b0tk":"b_rpm_tk","#b0tc":"b_rpm_tc","#b0cp":"b_rpm_cp","#b0soft":"b_rpm_soft",
           "#wtk":"b_wcu_tk","#wtc":"b_wcu_tc","#bypass":"bypass","#ttl":"ttl",
           "#disabled":"disabled","#vu":"vu")",
        R"(":n0":)" + Milli(-n) + R"(,":p0":)" + Milli(n) + R"(,":wn":{"N":"-1000"},
           ":wp":{"N":"1000"},":now":)" +
            Milli(now_ms) + R"(,":now_s":)" + Milli(now_ms / 1000));
  }

  /// Sets an attribute of the bucket without a condition on its value.
  void Set(const std::string& name, const std::string& value) {
    Update("SET #n = :v", "attribute_exists(PK)", R"("#n":")" + name + '"', R"(":v":)" + value);
  }
  json Bucket() { return Get("ns/BUCKET#acme#gpt-4#0", "#STATE"); }
};

TEST_F(SimDynamoLimiter, ASpeculativeTakeAnswersTheWholeNewImage) {
  const DynamoResponse response = Speculate(4000);
  EXPECT_EQ(response.status, 200) << response.message;
  EXPECT_EQ(response.body["Attributes"], Bucket());
  EXPECT_EQ(Bucket()["b_rpm_tk"]["N"], "6000");
  EXPECT_EQ(Bucket()["b_rpm_tc"]["N"], "4000");
  EXPECT_EQ(Bucket()["b_wcu_tk"]["N"], "999000");
  EXPECT_EQ(Bucket()["GSI2SK"]["S"], "BUCKET#acme#0");
}

TEST_F(SimDynamoLimiter, ARefusedTakeAnswersTheWholeOldImage) {
  const json before = Bucket();
  const DynamoResponse response = Speculate(10'001);
  EXPECT_EQ(response.error, "ConditionalCheckFailedException");
  EXPECT_EQ(response.body["Item"], before);
  EXPECT_EQ(Bucket(), before);
}

TEST_F(SimDynamoLimiter, StampsOnTheBucketStopOrFreeATake) {
  const std::string refused = "ConditionalCheckFailedException";
  Set("ttl", Milli(5));
  EXPECT_EQ(Speculate(1000).error, refused) << "expired, though not yet swept";
  Set("ttl", Milli(6));
  EXPECT_EQ(Speculate(1000).error, "");
  Set("vu", Milli(5000));
  EXPECT_EQ(Speculate(1000).error, refused);
  Set("vu", Milli(5001));
  EXPECT_EQ(Speculate(1000).error, "");
  Set("bypass", Milli(6000));
  EXPECT_EQ(Speculate(50'000).error, "") << "into debt";
  EXPECT_EQ(Bucket()["b_rpm_tk"]["N"], "-42000");
  Set("disabled", R"({"BOOL":true})");
  EXPECT_EQ(Speculate(1000).error, refused);
}

TEST_F(SimDynamoLimiter, ABucketIsMadeOnceAndTheReasonNamesTheItem) {
  const DynamoResponse again = Create();
  EXPECT_EQ(again.error, "TransactionCanceledException");
  EXPECT_EQ(again.body["CancellationReasons"][0]["Code"], "ConditionalCheckFailed");
  EXPECT_EQ(again.body["CancellationReasons"][1]["Code"], "None");

  Ok("DeleteItem", R"({"Key":{)" + std::string(kBucket) + "}}");
  Ok("PutItem", R"({"Item":{)" + std::string(kMeta) + "}}");
  EXPECT_EQ(Create().body["CancellationReasons"][1]["Code"], "ConditionalCheckFailed")
      << "its owner has come in between";
  EXPECT_EQ(Bucket(), json());
}

TEST_F(SimDynamoLimiter, ARefillHoldsOnlyWhileRfIsAsItWasRead) {
  const auto refill = [this](std::int64_t rf_read, std::int64_t rf_new) {
    return Update("SET rf = :new REMOVE vu ADD b_rpm_tk :delta, b_rpm_tc :c",
                  "rf = :read AND b_rpm_tk <= :tk AND attribute_not_exists(vu) AND "
                  "(attribute_not_exists(pinc) OR (pinc = :mine AND "
                  "(attribute_not_exists(pgen) OR pgen <= :gen)))",
                  "",
                  R"(":new":)" + Milli(rf_new) + R"(,":read":)" + Milli(rf_read) +
                      R"(,":tk":{"N":"10000"},":delta":{"N":"-3000"},":c":{"N":"3000"},
                             ":mine":{"S":"-"},":gen":{"N":"0"})");
  };
  EXPECT_EQ(refill(1000, 2000).error, "");
  EXPECT_EQ(refill(1000, 3000).error, "ConditionalCheckFailedException");
  EXPECT_EQ(Bucket()["rf"]["N"], "2000");
  EXPECT_EQ(Bucket()["b_rpm_tk"]["N"], "7000");
  Set("pinc", R"({"S":"another"})");
  EXPECT_EQ(refill(2000, 3000).error, "ConditionalCheckFailedException");
}

TEST_F(SimDynamoLimiter, ACreditStopsAtItsCeiling) {
  const auto credit = [this](std::int64_t n) {
    return Update("ADD b_rpm_tk :d, b_rpm_tc :minus",
                  "attribute_exists(PK) AND b_rpm_tk <= :room AND b_rpm_cp = :cp AND "
                  "attribute_not_exists(b_rpm_gc) AND shard_count = :shards AND #vu = :never",
                  R"("#vu":"vu")",
                  R"(":d":)" + Milli(n) + R"(,":minus":)" + Milli(-n) + R"(,":room":)" +
                      Milli(10'000 - n) +
                      R"(,":cp":{"N":"10000"},":shards":{"N":"1"},
                                          ":never":{"N":"0"})");
  };
  Speculate(4000);
  EXPECT_EQ(credit(1000).error, "ConditionalCheckFailedException") << "no vu";
  Set("vu", Milli(0));
  EXPECT_EQ(credit(1000).error, "");
  EXPECT_EQ(credit(3000).error, "");
  EXPECT_EQ(credit(1).error, "ConditionalCheckFailedException");
  EXPECT_EQ(Bucket()["b_rpm_tk"]["N"], "10000");
  EXPECT_EQ(Bucket()["b_rpm_tc"]["N"], "0");
}

TEST_F(SimDynamoLimiter, AWindowFanOutNeverGoesBack) {
  const auto fan_out = [this](std::int64_t start) {
    return Update(
        "SET b_rpm_ws = :ws, vu = :zero, b_rpm_wtc = if_not_exists(b_rpm_tc, :zero)",
        "attribute_exists(PK) AND (attribute_exists(b_rpm_wa) OR rf < :ws) AND "
        "(attribute_not_exists(b_rpm_ws) OR b_rpm_ws <= :before)",
        "", R"(":zero":{"N":"0"},":ws":)" + Milli(start) + R"(,":before":)" + Milli(start - 1000));
  };
  Speculate(2000);
  EXPECT_EQ(fan_out(3000).error, "");
  EXPECT_EQ(Bucket()["b_rpm_wtc"]["N"], "2000");
  EXPECT_EQ(fan_out(3999).error, "ConditionalCheckFailedException");
  EXPECT_EQ(fan_out(4000).error, "");
  EXPECT_EQ(Bucket()["b_rpm_ws"]["N"], "4000");
}

TEST_F(SimDynamoLimiter, ShardsAreDoubledByOneOfTwoPeers) {
  const auto bump = [this] {
    return Update("SET shard_count = :new", "shard_count = :old", "",
                  R"(":new":{"N":"2"},":old":{"N":"1"})");
  };
  EXPECT_EQ(bump().error, "");
  const DynamoResponse second = bump();
  EXPECT_EQ(second.error, "ConditionalCheckFailedException");
  EXPECT_EQ(second.body["Item"]["shard_count"]["N"], "2") << "the loser sees the winner";
}

TEST_F(SimDynamoLimiter, AnUpdateOfTokensCostsTheTableAndTheIndexesThatShowThem) {
  const double before = dynamo.counts().write_units;
  Speculate(1000);
  EXPECT_EQ(dynamo.counts().write_units, before + 2) << "table and GSI2; GSI3 and 4 hold keys";
}

TEST_F(SimDynamoLimiter, TheBucketIsFoundThroughEachIndexItStandsIn) {
  const auto count = [this](const std::string& index, const std::string& value) {
    json body = {{"IndexName", index},
                 {"KeyConditionExpression", "#p = :p AND begins_with(#s, :s)"}};
    body["ExpressionAttributeNames"] = {{"#p", index + "PK"}, {"#s", index + "SK"}};
    body["ExpressionAttributeValues"][":p"] = {{"S", value}};
    body["ExpressionAttributeValues"][":s"] = {{"S", "BUCKET#"}};
    return Ok("Query", body.dump())["Count"].get<int>();
  };
  EXPECT_EQ(count("GSI1", "ns/ENTITY#acme"), 0);
  EXPECT_EQ(count("GSI2", "ns/RESOURCE#gpt-4"), 1);
  EXPECT_EQ(count("GSI3", "ns/ENTITY#acme"), 1);
  EXPECT_EQ(count("GSI4", "ns"), 1);
}

}  // namespace
}  // namespace weir::sim
