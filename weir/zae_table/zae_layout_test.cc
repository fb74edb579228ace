#include "weir/zae_table/zae_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::dynamo {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

// Returns the parts of DescribeTable's response that are read, for a table with this layout.
json DescriptionOf(const TableLayout& layout) {
  json table = json::parse(CreateTableBody("limits", layout));
  table["BillingModeSummary"]["BillingMode"] = table["BillingMode"];
  table["TableStatus"] = "ACTIVE";
  return {{"Table", table}};
}

json IndexNamed(const json& indexes, const std::string& name) {
  for (const json& index : indexes) {
    if (index["IndexName"] == name) return index;
  }
  return nullptr;
}

std::vector<std::string> DifferencesOf(const json& description) {
  const auto read = ReadDescription(description.dump());
  EXPECT_TRUE(read) << read.error().message;
  return Differences(read->layout, ZaeLayout());
}

// Compared with get_table_definition of zae-limiter 0.17.0.
TEST(TableLayout, IsThatOfZaeLimiter) {
  const json body = json::parse(CreateTableBody("limits", ZaeLayout()));
  EXPECT_EQ(body["TableName"], "limits");
  EXPECT_EQ(body["BillingMode"], "PAY_PER_REQUEST");
  EXPECT_EQ(body["StreamSpecification"],
            (json{{"StreamEnabled", true}, {"StreamViewType", "NEW_AND_OLD_IMAGES"}}));
  EXPECT_EQ(body["KeySchema"], json::parse(R"([{"AttributeName":"PK","KeyType":"HASH"},
                                               {"AttributeName":"SK","KeyType":"RANGE"}])"));
  EXPECT_EQ(body["AttributeDefinitions"].size(), 15U);
  for (const json& attribute : body["AttributeDefinitions"]) {
    EXPECT_EQ(attribute["AttributeType"], "S");
  }
  EXPECT_EQ(body["GlobalSecondaryIndexes"].size(), 4U);
  EXPECT_EQ(body["LocalSecondaryIndexes"].size(), 5U);
}

TEST(TableLayout, EachIndexHasItsKeysAndItsProjection) {
  const json body = json::parse(CreateTableBody("limits", ZaeLayout()));
  const std::map<std::string, std::string> projections = {
      {"GSI1", "ALL"},       {"GSI2", "ALL"},       {"GSI3", "KEYS_ONLY"},
      {"GSI4", "KEYS_ONLY"}, {"LSI1", "ALL"},       {"LSI2", "KEYS_ONLY"},
      {"LSI3", "ALL"},       {"LSI4", "KEYS_ONLY"}, {"LSI5", "ALL"}};
  for (const auto& [name, projection] : projections) {
    const bool global = name.starts_with('G');
    const json index =
        IndexNamed(body[global ? "GlobalSecondaryIndexes" : "LocalSecondaryIndexes"], name);
    ASSERT_FALSE(index.is_null()) << name;
    EXPECT_EQ(index["Projection"]["ProjectionType"], projection) << name;
    EXPECT_EQ(index["KeySchema"][0]["AttributeName"], global ? name + "PK" : "PK");
    EXPECT_EQ(index["KeySchema"][1]["AttributeName"], name + "SK");
  }
}

TEST(TableLayout, ATableMadeAsItSaysHasNoDifferences) {
  EXPECT_THAT(DifferencesOf(DescriptionOf(ZaeLayout())), IsEmpty());
}

TEST(TableLayout, EachDifferenceIsToldWithWhatItShouldBe) {
  TableLayout other = ZaeLayout();
  other.keys.range = "SORT";
  other.global_indexes.erase("GSI4");
  other.global_indexes["GSI9"] = {"a", "b", "ALL"};
  other.global_indexes["GSI3"].projection = "ALL";
  other.local_indexes["LSI1"].range = "LSI2SK";
  other.key_types["PK"] = "N";
  other.billing = "PROVISIONED";
  other.stream = "";
  EXPECT_THAT(DifferencesOf(DescriptionOf(other)),
              ElementsAre("sort key of the table: SORT, should be SK",
                          "projection of global index GSI3: ALL, should be KEYS_ONLY",
                          "global index GSI4: missing", "global index GSI9: should not be there",
                          "sort key of local index LSI1: LSI2SK, should be LSI1SK",
                          "type of key PK: N, should be S",
                          "billing: PROVISIONED, should be PAY_PER_REQUEST",
                          "stream: none, should be NEW_AND_OLD_IMAGES"));
}

TEST(TableLayout, WithoutASummaryATableIsPaidByCapacity) {
  json description = DescriptionOf(ZaeLayout());
  description["Table"].erase("BillingModeSummary");
  EXPECT_THAT(DifferencesOf(description),
              ElementsAre("billing: PROVISIONED, should be PAY_PER_REQUEST"));
}

TEST(TableLayout, AStreamThatIsOffIsNone) {
  json description = DescriptionOf(ZaeLayout());
  description["Table"]["StreamSpecification"]["StreamEnabled"] = false;
  EXPECT_THAT(DifferencesOf(description),
              ElementsAre("stream: none, should be NEW_AND_OLD_IMAGES"));
}

TEST(TableLayout, StatusAndSizesAreRead) {
  json description = DescriptionOf(ZaeLayout());
  description["Table"]["TableStatus"] = "UPDATING";
  description["Table"]["ItemCount"] = 12;
  description["Table"]["TableSizeBytes"] = 3456;
  description["Table"]["TableArn"] = "arn:aws:dynamodb:eu-west-1:1:table/limits";
  const auto read = ReadDescription(description.dump());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status, "UPDATING");
  EXPECT_EQ(read->items, 12);
  EXPECT_EQ(read->bytes, 3456);
  EXPECT_EQ(read->arn, "arn:aws:dynamodb:eu-west-1:1:table/limits");
}

TEST(TableLayout, AnythingButADescriptionIsAnError) {
  for (const char* body : {"", "[]", "{}", R"({"Table":{}})", R"({"Table":{"KeySchema":[{}]}})"}) {
    const auto read = ReadDescription(body);
    ASSERT_FALSE(read) << body;
    EXPECT_EQ(read.error().code, Code::kUnknown);
  }
}

}  // namespace
}  // namespace weir::dynamo
