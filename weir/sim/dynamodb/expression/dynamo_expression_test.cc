#include "weir/sim/dynamodb/expression/dynamo_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weir/sim/dynamodb/expression/dynamo_reserved.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = ExpressionReader::Kind;

Placeholders ReaderPlaceholders() {
  return Placeholders({{"#a", "first"}, {"#0", "second"}, {"#dot", "x.y"}},
                      ReadItem(json::parse(R"({":1":{"N":"1"},":v_2":{"S":"two"}})")).value());
}

std::vector<std::string> Tokens(std::string_view text) {
  Placeholders placeholders = ReaderPlaceholders();
  ExpressionReader reader("FilterExpression", text, placeholders);
  std::vector<std::string> tokens;
  for (; reader.kind() != Kind::kEnd; reader.Next()) tokens.emplace_back(reader.token());
  return tokens;
}

TEST(ExpressionReader, SplitsWhereAwsDoes) {
  EXPECT_THAT(Tokens("a>=:1"), ElementsAre("a", ">=", ":1"));
  EXPECT_THAT(Tokens("#a<>:v_2 "), ElementsAre("#a", "<>", ":v_2"));
  EXPECT_THAT(Tokens("size(a.b[12])<=c"),
              ElementsAre("size", "(", "a", ".", "b", "[", "12", "]", ")", "<=", "c"));
  EXPECT_THAT(Tokens("a=b-c+:1,d"), ElementsAre("a", "=", "b", "-", "c", "+", ":1", ",", "d"));
  EXPECT_THAT(Tokens("a-b"), ElementsAre("a", "-", "b")) << "a dash needs a placeholder";
  EXPECT_THAT(Tokens(" \t\r\n"), ElementsAre());
  EXPECT_THAT(Tokens("a\"é"), ElementsAre("a", "\"", "\xC3", "\xA9"));
}

TEST(ExpressionReader, KnowsWordsInAnyCaseAndSymbolsOnlyExactly) {
  Placeholders placeholders = ReaderPlaceholders();
  ExpressionReader reader("FilterExpression", "bEtWeEn <= :1", placeholders);
  EXPECT_TRUE(reader.At("BETWEEN"));
  EXPECT_FALSE(reader.Take("AND"));
  EXPECT_TRUE(reader.Take("BETWEEN"));
  EXPECT_FALSE(reader.At("<"));
  EXPECT_TRUE(reader.Take("<="));
  EXPECT_EQ(reader.kind(), Kind::kValue);
  EXPECT_EQ(reader.ReadValue().value(), Value(Decimal(1)));
  EXPECT_EQ(reader.kind(), Kind::kEnd);
  EXPECT_FALSE(reader.At(""));
}

TEST(ExpressionReader, AFunctionIsAWordBeforeAParenthesis) {
  Placeholders placeholders = ReaderPlaceholders();
  EXPECT_TRUE(ExpressionReader("X", "size (a)", placeholders).AtFunction());
  EXPECT_FALSE(ExpressionReader("X", "size = a", placeholders).AtFunction());
  EXPECT_FALSE(ExpressionReader("X", "#a (b)", placeholders).AtFunction());
}

std::string PathIn(std::string_view text) {
  Placeholders placeholders = ReaderPlaceholders();
  const auto path = ExpressionReader("X", text, placeholders).ReadPath();
  return path ? ToString(*path) : path.error().message;
}

TEST(ExpressionReader, ReadsPathsThroughPlaceholders) {
  EXPECT_EQ(PathIn("#a"), "[first]");
  EXPECT_EQ(PathIn("#0.b[3][0].#a"), "[second, b, [3], [0], first]");
  EXPECT_EQ(PathIn("#dot"), "[x.y]") << "a dot in a name is not a step";
  EXPECT_EQ(PathIn("a . b [ 1 ]"), "[a, b, [1]]");
  EXPECT_THAT(PathIn("#nowhere"), HasSubstr("attribute name: #nowhere"));
  EXPECT_THAT(PathIn("a.size"), HasSubstr("reserved keyword: size"));
  EXPECT_THAT(PathIn("a[1x]"), HasSubstr("Syntax error; token: \"1x\""));
  EXPECT_THAT(PathIn("a[-1]"), HasSubstr("Syntax error; token: \"-\""));
  EXPECT_THAT(PathIn("a[1234567890]"), HasSubstr("Syntax error"));
}

TEST(ExpressionReader, ErrorsNameTheFieldOfTheRequest) {
  Placeholders placeholders = ReaderPlaceholders();
  const ExpressionReader reader("KeyConditionExpression", "", placeholders);
  EXPECT_EQ(reader.CheckSize().error().message,
            "Invalid KeyConditionExpression: The expression can not be empty;");
  EXPECT_EQ(reader.SyntaxError().value().message,
            "Invalid KeyConditionExpression: Syntax error; token: \"<EOF>\"");
}

TEST(Placeholders, AreUsedWhenAskedFor) {
  Placeholders placeholders = ReaderPlaceholders();
  EXPECT_EQ(placeholders.NameOf("#a"), "first");
  EXPECT_FALSE(placeholders.NameOf("a").has_value());
  EXPECT_EQ(placeholders.ValueOf(":v_2"), Value(std::string("two")));
  EXPECT_FALSE(placeholders.ValueOf(":none").has_value());
  EXPECT_THAT(placeholders.CheckAllUsed().error().message, HasSubstr("keys: {#0, #dot}"));
  EXPECT_TRUE(placeholders.NameOf("#0").has_value());
  EXPECT_TRUE(placeholders.NameOf("#dot").has_value());
  EXPECT_THAT(placeholders.CheckAllUsed().error().message, HasSubstr("keys: {:1}"));
  EXPECT_TRUE(placeholders.ValueOf(":1").has_value());
  EXPECT_TRUE(placeholders.CheckAllUsed().has_value());
}

TEST(ReservedWords, AreThoseOfAwsInAnyCase) {
  for (const char* word : {"ABORT", "ttl", "Name", "capacity", "limit", "items", "shard", "status",
                           "resource", "region", "token", "public", "varchar", "ZONE"}) {
    EXPECT_TRUE(IsReservedWord(word)) << word;
  }
  for (const char* word : {"PK", "SK", "rf", "vu", "shard_count", "b_rpm_tk", "disabled", "bypass",
                           "GSI2PK", "wcu", "", " ", "ABORT ABSOLUTE"}) {
    EXPECT_FALSE(IsReservedWord(word)) << word;
  }
}

}  // namespace
}  // namespace weir::sim
