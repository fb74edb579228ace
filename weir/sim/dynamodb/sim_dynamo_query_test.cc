// Query, BatchGetItem, and the delay of the indexes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "weir/sim/dynamodb/dynamo_fixture.h"
#include "weir/sim/dynamodb/sim_dynamo.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class SimDynamoQuery : public DynamoFixture {
 protected:
  /// Returns the sort keys that a Query finds. `more` is JSON text that follows the key condition.
  std::vector<std::string> Find(const std::string& condition, const std::string& more = "") {
    return SortKeys(Ok("Query", Body(condition, more)));
  }
  static std::string Body(const std::string& condition, const std::string& more) {
    return R"({"KeyConditionExpression":")" + condition + '"' + (more.empty() ? "" : "," + more) +
           "}";
  }
  static std::vector<std::string> SortKeys(const json& response) {
    std::vector<std::string> keys;
    for (const json& item : response["Items"]) keys.push_back(item["SK"]["S"]);
    return keys;
  }
  /// Returns the sort keys of all pages, one page after the other.
  std::vector<std::string> FindInPages(const std::string& condition, const std::string& more,
                                       int limit) {
    json body = json::parse(Body(condition, more));
    body["Limit"] = limit;
    std::vector<std::string> found;
    for (int pages = 0; pages < 100; ++pages) {
      const json page = Ok("Query", body.dump());
      const auto keys = SortKeys(page);
      EXPECT_LE(keys.size(), static_cast<std::size_t>(limit));
      found.insert(found.end(), keys.begin(), keys.end());
      if (!page.contains("LastEvaluatedKey")) return found;
      body["ExclusiveStartKey"] = page["LastEvaluatedKey"];
    }
    ADD_FAILURE() << "the pages do not end";
    return found;
  }
};

const std::string kPk = R"("ExpressionAttributeValues":{":p":{"S":"a"}})";

std::string With(const std::string& values) {
  return R"("ExpressionAttributeValues":{":p":{"S":"a"},)" + values + "}";
}

TEST_F(SimDynamoQuery, FindsOnePartitionInTheOrderOfTheSortKey) {
  Put("a", "10");
  Put("a", "9");
  Put("b", "1");
  Put("a", "é");
  Put("a", "B");
  EXPECT_THAT(Find("PK = :p", kPk), ElementsAre("10", "9", "B", "é"));
  EXPECT_THAT(Find("PK = :p", kPk + R"(,"ScanIndexForward":false)"),
              ElementsAre("é", "B", "9", "10"));
  EXPECT_THAT(Find("PK = :p", R"("ExpressionAttributeValues":{":p":{"S":"none"}})"), ElementsAre());
}

TEST_F(SimDynamoQuery, TakesRangesOfTheSortKey) {
  for (const char* sk : {"a1", "a2", "a3", "b1"}) Put("a", sk);
  const std::string two = With(R"(":s":{"S":"a2"})");
  EXPECT_THAT(Find("PK = :p AND SK = :s", two), ElementsAre("a2"));
  EXPECT_THAT(Find("SK < :s AND PK = :p", two), ElementsAre("a1"));
  EXPECT_THAT(Find("PK = :p AND SK <= :s", two), ElementsAre("a1", "a2"));
  EXPECT_THAT(Find("(PK = :p) AND (SK > :s)", two), ElementsAre("a3", "b1"));
  EXPECT_THAT(Find("PK = :p AND SK BETWEEN :s AND :t", With(R"(":s":{"S":"a2"},":t":{"S":"b"})")),
              ElementsAre("a2", "a3"));
  EXPECT_THAT(Find("PK = :p AND begins_with(SK, :s)", With(R"(":s":{"S":"a"})")),
              ElementsAre("a1", "a2", "a3"));
}

TEST_F(SimDynamoQuery, RefusesOtherKeyConditions) {
  const std::string values = With(R"(":s":{"S":"x"},":n":{"N":"1"})");
  const std::pair<std::string, std::string> cases[] = {
      {"SK = :s AND SK = :n", "type"},
      {"PK > :p AND SK = :s AND SK = :n", "not supported"},
      {"PK = :p AND elsewhere = :s AND SK = :n", "missed key schema element"},
      {"PK = :p OR SK = :s OR SK = :n", "Invalid operator"},
      {"PK = :p AND SK <> :s AND SK = :n", "Invalid operator"},
      {"PK = :p AND contains(SK, :s) AND SK = :n", "Invalid operator"},
  };
  for (const auto& [condition, why] : cases) {
    EXPECT_THAT(Refused("Query", Body(condition, values), "ValidationException").message,
                HasSubstr(why))
        << condition;
  }
  const std::string s = With(R"(":s":{"S":"x"})");
  EXPECT_THAT(Refused("Query", Body("SK = :s AND SK > :p", s), "ValidationException").message,
              HasSubstr("missed key schema element: PK"));
  EXPECT_THAT(Refused("Query", Body("PK > :p AND SK = :s", s), "ValidationException").message,
              HasSubstr("not supported"));
  EXPECT_THAT(
      Refused("Query", Body("PK = :p AND SK > :s AND SK < :s", s), "ValidationException").message,
      HasSubstr("one condition per key"));
  Refused("Query", Body("PK = :p", kPk + R"(,"Limit":0)"), "ValidationException");
  Refused("Query", Body("PK = :p", kPk + R"(,"IndexName":"GSI9")"), "ValidationException");
  Refused("Query", R"({"KeyConditions":{}})", "ValidationException");
}

TEST_F(SimDynamoQuery, AFilterHidesWhatWasReadAndPaid) {
  for (int i = 0; i < 4; ++i) {
    Put("a", std::to_string(i), R"("n":{"N":")" + std::to_string(i) + R"("})");
  }
  const json response =
      Ok("Query",
         Body("PK = :p", With(R"(":n":{"N":"2"})") + R"(,"FilterExpression":"n >= :n","Limit":3)"));
  EXPECT_THAT(SortKeys(response), ElementsAre("2"));
  EXPECT_EQ(response["Count"], 1);
  EXPECT_EQ(response["ScannedCount"], 3);
  EXPECT_EQ(response["LastEvaluatedKey"], json::parse(R"({"PK":{"S":"a"},"SK":{"S":"2"}})"));
  Refused("Query", Body("PK = :p", kPk + R"(,"FilterExpression":"SK = :p")"),
          "ValidationException");
}

TEST_F(SimDynamoQuery, CountsAndProjects) {
  Put("a", "1", R"("n":{"N":"1"},"m":{"S":"x"})");
  const json counted = Ok("Query", Body("PK = :p", kPk + R"(,"Select":"COUNT")"));
  EXPECT_EQ(counted, json::parse(R"({"Count":1,"ScannedCount":1})"));
  EXPECT_EQ(Ok("Query", Body("PK = :p", kPk + R"(,"ProjectionExpression":"n")"))["Items"],
            json::parse(R"([{"n":{"N":"1"}}])"));
}

TEST_F(SimDynamoQuery, AFullPageNamesWhereToGoOnEvenIfNothingFollows) {
  Put("a", "1");
  EXPECT_TRUE(Ok("Query", Body("PK = :p", kPk + R"(,"Limit":1)")).contains("LastEvaluatedKey"));
  EXPECT_FALSE(Ok("Query", Body("PK = :p", kPk + R"(,"Limit":2)")).contains("LastEvaluatedKey"));
}

TEST_F(SimDynamoQuery, APageHoldsAtMostAMegabyte) {
  const std::string big = R"("big":{"S":")" + std::string(100'000, 'x') + R"("})";
  for (int i = 10; i < 25; ++i) Put("a", std::to_string(i), big);
  const json page = Ok("Query", Body("PK = :p", kPk + R"(,"ReturnConsumedCapacity":"TOTAL")"));
  EXPECT_EQ(page["Count"], 10);
  EXPECT_EQ(page["LastEvaluatedKey"]["SK"]["S"], "19");
  EXPECT_EQ(page["ConsumedCapacity"]["CapacityUnits"], 122.5) << "1,000,1xx bytes by 4 KB, halved";
}

TEST_F(SimDynamoQuery, ACursorWorksWhenItsItemIsGone) {
  for (const char* sk : {"1", "2", "3"}) Put("a", sk);
  const json page = Ok("Query", Body("PK = :p", kPk + R"(,"Limit":2)"));
  Ok("DeleteItem", R"({"Key":{"PK":{"S":"a"},"SK":{"S":"2"}}})");
  const std::string start = R"(,"ExclusiveStartKey":)" + page["LastEvaluatedKey"].dump();
  EXPECT_THAT(Find("PK = :p", kPk + start), ElementsAre("3"));
  Refused("Query", Body("PK = :p", kPk + R"(,"ExclusiveStartKey":{"PK":{"S":"b"},"SK":{"S":"1"}})"),
          "ValidationException");
  Refused("Query", Body("PK = :p", kPk + R"(,"ExclusiveStartKey":{"PK":{"S":"a"}})"),
          "ValidationException");
}

// Fails if: a page repeats the last item of the page before, or skips one, in either direction; or
// items with equal index keys are not distinguished by their own keys.
RC_GTEST_FIXTURE_PROP(SimDynamoQuery, PagesTogetherAreTheWhole, ()) {
  const auto numbers = *rc::gen::unique<std::vector<int>>(rc::gen::inRange(10, 60));
  const bool forward = *rc::gen::arbitrary<bool>();
  const int limit = *rc::gen::inRange(1, 8);
  for (const int n : numbers) {
    Put("a", std::to_string(n),
        R"("GSI2PK":{"S":"a"},"GSI2SK":{"S":")" + std::to_string(n % 3) + R"("})");
  }
  const std::string direction =
      std::string(R"(,"ScanIndexForward":)") + (forward ? "true" : "false");
  std::vector<std::string> expected;
  for (const int n : numbers) expected.push_back(std::to_string(n));
  std::ranges::sort(expected);
  if (!forward) std::ranges::reverse(expected);
  RC_ASSERT(FindInPages("PK = :p", kPk + direction, limit) == expected);

  std::ranges::sort(expected, [forward](const std::string& a, const std::string& b) {
    const std::pair left(std::stoi(a) % 3, a);
    const std::pair right(std::stoi(b) % 3, b);
    return forward ? left < right : right < left;
  });
  const std::string index = R"(,"IndexName":"GSI2")";
  RC_ASSERT(FindInPages("GSI2PK = :p", kPk + direction + index, limit) == expected);
}

TEST_F(SimDynamoQuery, AnIndexHoldsOnlyWhatHasItsKeysAndShowsItsProjection) {
  Put("x", "1", R"("GSI3PK":{"S":"a"},"GSI3SK":{"S":"k"},"n":{"N":"1"})");
  Put("x", "2", R"("GSI3PK":{"S":"a"},"n":{"N":"1"})");
  Put("x", "3", R"("GSI1PK":{"S":"a"},"GSI1SK":{"S":"k"},"n":{"N":"1"})");
  EXPECT_EQ(Ok("Query", Body("GSI3PK = :p", kPk + R"(,"IndexName":"GSI3")"))["Items"],
            json::parse(R"([{"PK":{"S":"x"},"SK":{"S":"1"},
                             "GSI3PK":{"S":"a"},"GSI3SK":{"S":"k"}}])"));
  EXPECT_EQ(Ok("Query", Body("GSI1PK = :p", kPk + R"(,"IndexName":"GSI1")"))["Items"][0]["n"],
            json::parse(R"({"N":"1"})"));
  Refused("Query", Body("GSI3PK = :p", kPk + R"(,"IndexName":"GSI3","ConsistentRead":true)"),
          "ValidationException");
  Refused("Query", Body("GSI3PK = :p", kPk + R"(,"IndexName":"GSI3","Select":"ALL_ATTRIBUTES")"),
          "ValidationException");
}

TEST_F(SimDynamoQuery, AnIndexEntryMovesAndGoesWithItsItem) {
  const std::string index = kPk + R"(,"IndexName":"GSI2")";
  Put("x", "1", R"("GSI2PK":{"S":"a"},"GSI2SK":{"S":"k"})");
  EXPECT_THAT(Find("GSI2PK = :p", index), ElementsAre("1"));
  Put("x", "1", R"("GSI2PK":{"S":"other"},"GSI2SK":{"S":"k"})");
  EXPECT_THAT(Find("GSI2PK = :p", index), ElementsAre());
  Put("x", "1", R"("GSI2PK":{"S":"a"},"GSI2SK":{"S":"k2"})");
  EXPECT_THAT(Find("GSI2PK = :p", index), ElementsAre("1"));
  Ok("DeleteItem", R"({"Key":{"PK":{"S":"x"},"SK":{"S":"1"}}})");
  EXPECT_THAT(Find("GSI2PK = :p", index), ElementsAre());
}

TEST_F(SimDynamoQuery, IndexesAreLateButNotForEverAndLocalOnesNever) {
  dynamo.faults.longest_index_lag = seconds(10);
  int late = 0;
  for (int i = 10; i < 50; ++i) {
    const std::string sk = std::to_string(i);
    Put("a", sk, R"("GSI2PK":{"S":"a"},"GSI2SK":{"S":"k"},"LSI1SK":{"S":"k"})");
    EXPECT_THAT(Find("PK = :p", kPk + R"(,"IndexName":"LSI1","ConsistentRead":true)"),
                testing::Contains(sk));
    const auto found = Find("GSI2PK = :p", kPk + R"(,"IndexName":"GSI2")");
    if (!std::ranges::count(found, sk)) ++late;
  }
  EXPECT_GT(late, 30);
  clock.Advance(seconds(10));
  EXPECT_EQ(Find("GSI2PK = :p", kPk + R"(,"IndexName":"GSI2")").size(), 40U);
}

TEST_F(SimDynamoQuery, ALateIndexShowsTheChangesOfAnItemInTheirOrder) {
  dynamo.faults.longest_index_lag = seconds(10);
  for (int i = 10; i < 30; ++i) {
    Put("x", "1", R"("GSI2PK":{"S":"a"},"GSI2SK":{"S":")" + std::to_string(i) + R"("})");
  }
  std::string last;
  for (int step = 0; step <= 40; ++step) {
    const json items = Ok("Query", Body("GSI2PK = :p", kPk + R"(,"IndexName":"GSI2")"))["Items"];
    ASSERT_LE(items.size(), 1U) << "one item is in one place of an index";
    const std::string shown = items.empty() ? "" : items[0]["GSI2SK"]["S"].get<std::string>();
    EXPECT_GE(shown, last);
    last = shown;
    clock.Advance(milliseconds(250));
  }
  EXPECT_EQ(last, "29");
}

std::string Keys(int count) {
  std::string keys;
  for (int i = 0; i < count; ++i) {
    keys += std::string(i == 0 ? "" : ",") + R"({"PK":{"S":"a"},"SK":{"S":")" + std::to_string(i) +
            R"("}})";
  }
  return R"({"RequestItems":{"t":{"Keys":[)" + keys + "]}}}";
}

TEST_F(SimDynamoQuery, ABatchOfGetsAnswersWhatIsThereInAnyOrder) {
  for (int i = 0; i < 50; ++i) Put("a", std::to_string(i));
  const json response = Ok("BatchGetItem", Keys(100));
  EXPECT_EQ(response["UnprocessedKeys"], json::object());
  std::vector<int> found;
  for (const json& item : response["Responses"]["t"]) {
    found.push_back(std::stoi(item["SK"]["S"].get<std::string>()));
  }
  EXPECT_FALSE(std::ranges::is_sorted(found)) << "who relies on an order should fail";
  std::ranges::sort(found);
  ASSERT_EQ(found.size(), 50U);
  EXPECT_EQ(found.front(), 0);
  EXPECT_EQ(found.back(), 49);
}

TEST_F(SimDynamoQuery, ABatchOfGetsIsRefusedAsOnAws) {
  Refused("BatchGetItem", Keys(0), "ValidationException");
  Refused("BatchGetItem", Keys(101), "ValidationException");
  EXPECT_THAT(Refused("BatchGetItem", R"({"RequestItems":{"t":{"Keys":[
                        {"PK":{"S":"a"},"SK":{"S":"1"}},{"PK":{"S":"a"},"SK":{"S":"1"}}]}}})",
                      "ValidationException")
                  .message,
              HasSubstr("duplicates"));
}

TEST_F(SimDynamoQuery, ABatchOfGetsLeavesWhatIsOverSixteenMegabytes) {
  const std::string big = R"("big":{"S":")" + std::string(390'000, 'x') + R"("})";
  for (int i = 0; i < 50; ++i) Put("a", std::to_string(i), big);
  const json response = Ok("BatchGetItem", Keys(50));
  EXPECT_EQ(response["Responses"]["t"].size(), 43U);
  EXPECT_EQ(response["UnprocessedKeys"]["t"]["Keys"].size(), 7U);
}

}  // namespace
}  // namespace weir::sim
