// Random requests, compared with a plain map of the expected items.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "weir/sim/dynamodb/dynamo_fixture.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/random_fixture.h"

namespace weir::sim {
namespace {

using nlohmann::json;

json Key(int item) { return {{"PK", {{"S", "a"}}}, {"SK", {{"S", std::to_string(item)}}}}; }

json Number(std::int64_t n) { return {{"N", std::to_string(n)}}; }

/// Five items with one number each. GSI2 stores them under the parity of their last put.
class SimDynamoModel : public DynamoFixture {
 protected:
  using Model = std::map<int, std::int64_t>;

  void Step() {
    const int item = Below(5);
    const std::int64_t n = Below(9) - 4;
    switch (Below(6)) {
      case 0:
        return Put(item, n);
      case 1:
        return Delete(item);
      case 2:
        return PutInBatch(item, n);
      case 3:
        return Move(item, (item + 1 + Below(4)) % 5, n);
      default:
        return Add(item, n);
    }
  }

  /// Checks that every way to read returns the model, and that the stream leads to it.
  void Check() {
    json items = json::array();
    for (const auto& [item, n] : model_) items.push_back(ItemOf(item, n));
    RC_ASSERT(Everything() == items);
    RC_ASSERT(Found(R"({"KeyConditionExpression":"PK = :p","ConsistentRead":true,
                        "ExpressionAttributeValues":{":p":{"S":"a"}}})") == items);
    RC_ASSERT(Found(R"({"KeyConditionExpression":"GSI2PK = :p","IndexName":"GSI2",
                        "ExpressionAttributeValues":{":p":{"S":"g"}}})") == items);
    RC_ASSERT(FromStream() == items);
  }

 private:
  static json ItemOf(int item, std::int64_t n) {
    json whole = Key(item);
    whole["n"] = Number(n);
    whole["GSI2PK"]["S"] = "g";
    whole["GSI2SK"]["S"] = std::to_string(item);
    return whole;
  }

  json Found(const std::string& query) { return Ok("Query", query)["Items"]; }

  json FromStream() const {
    std::map<std::string, json> items;
    for (const StreamRecord& record : dynamo.Table("t")->stream()) {
      const std::string key = WriteItem(record.key).dump();
      const auto there = items.find(key);
      RC_ASSERT(record.before.has_value() == (there != items.end()));
      if (record.before) RC_ASSERT(WriteItem(*record.before) == there->second);
      items.erase(key);
      if (record.after) items.emplace(key, WriteItem(*record.after));
    }
    json list = json::array();
    for (const auto& [key, item] : items) list.push_back(item);
    return list;
  }

  void Put(int item, std::int64_t n) {
    Ok("PutItem", json({{"Item", ItemOf(item, n)}}).dump());
    model_[item] = n;
  }

  void PutInBatch(int item, std::int64_t n) {
    json request = json::object();
    request["RequestItems"]["t"][0]["PutRequest"]["Item"] = ItemOf(item, n);
    Ok("BatchWriteItem", request.dump());
    model_[item] = n;
  }

  void Delete(int item) {
    json request = {{"Key", Key(item)}, {"ConditionExpression", "n > :0"}};
    request["ExpressionAttributeValues"][":0"] = Number(0);
    const bool fits = model_.contains(item) && model_[item] > 0;
    RC_ASSERT((Call("DeleteItem", request.dump()).status == 200) == fits);
    if (fits) model_.erase(item);
  }

  /// Adds n to an item if it exists.
  void Add(int item, std::int64_t n) {
    json request = {{"Key", Key(item)}, {"UpdateExpression", "ADD n :n"}};
    request["ConditionExpression"] = "attribute_exists(n)";
    request["ExpressionAttributeValues"][":n"] = Number(n);
    request["ReturnValues"] = "UPDATED_NEW";
    const DynamoResponse response = Call("UpdateItem", request.dump());
    const auto there = model_.find(item);
    RC_ASSERT((response.status == 200) == (there != model_.end()));
    if (there == model_.end()) return;
    there->second += n;
    RC_ASSERT(response.body["Attributes"]["n"] == Number(there->second));
  }

  /// Moves n from one item to another in one transaction with a request token, if the first has at
  /// least n. The transaction is sent twice, as after a lost response.
  void Move(int to, int from, std::int64_t n) {
    json request = json::object();
    for (const auto& [item, amount] : {std::pair(to, n), std::pair(from, -n)}) {
      json update = {
          {"TableName", "t"}, {"Key", Key(item)}, {"UpdateExpression", "SET n = n + :n"}};
      update["ConditionExpression"] = "n >= :least";
      update["ExpressionAttributeValues"] = {{":n", Number(amount)}, {":least", Number(-amount)}};
      request["TransactItems"].push_back({{"Update", update}});
    }
    request["ClientRequestToken"] = "token" + std::to_string(++tokens_);
    const auto least = [this](int item, std::int64_t amount) {
      return model_.contains(item) && model_[item] >= amount;
    };
    const bool fits = least(to, -n) && least(from, n);
    for (int send = 0; send < 2; ++send) {
      RC_ASSERT((Call("TransactWriteItems", request.dump()).status == 200) == fits);
    }
    if (!fits) return;
    model_[to] += n;
    model_[from] -= n;
  }

  Model model_;
  int tokens_ = 0;
};

// Fails if: a refused write changes anything, a token is applied twice, or an index or the stream
// misses a change of a batch, a transaction or a delete.
RC_GTEST_FIXTURE_PROP(SimDynamoModel, EveryWayToReadShowsWhatTheWritesLeft, ()) {
  const int steps = Below(30);
  for (int step = 0; step < steps; ++step) Step();
  Check();
}

TEST_F(SimDynamoModel, AddsThatWereAnsweredAreThoseThatCount) {
  dynamo.faults = {.throttle = 0.2, .conflict = 0.2, .stale_read = 0.5};
  int applied = 0;
  for (int i = 0; i < 200; ++i) {
    const auto response = Call("UpdateItem", R"({"Key":{"PK":{"S":"a"},"SK":{"S":"1"}},
        "UpdateExpression":"ADD n :1","ExpressionAttributeValues":{":1":{"N":"1"}}})");
    if (response.status == 200) ++applied;
  }
  const DynamoCounts& counts = dynamo.counts();
  EXPECT_EQ(counts.throttled + counts.conflicts + static_cast<unsigned>(applied), 200U);
  EXPECT_EQ(counts.write_units, applied);
  EXPECT_EQ(Everything()[0]["n"]["N"], std::to_string(applied));
}

}  // namespace
}  // namespace weir::sim
