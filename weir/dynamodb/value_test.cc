#include "weir/dynamodb/value.h"

#include <gtest/gtest.h>

#include "weir/dynamodb/response_parser.h"

namespace weir::dynamo {
namespace {

std::string Json(const Item& item) {
  std::string text;
  AppendJson(text, item);
  return text;
}

Item Everything() {
  return {{"bytes", {Bytes{std::string("\x00\xff\x7f", 3)}}},
          {"flag", Of(true)},
          {"list", {List{Of(1), Of("two")}}},
          {"map", {Item{{"inner", Of("x")}}}},
          {"none", {Null{}}},
          {"number", {Number{"12345678901234567890123456789012345678"}}},
          {"set", {StringSet{{"a", "b"}}}},
          {"text", Of("quote \" backslash \\ newline \n bell \x07 umlaut \xc3\xa4")}};
}

TEST(Value, IsWrittenInTheFormOfTheWire) {
  EXPECT_EQ(Json(Everything()),
            R"({"bytes":{"B":"AP9/"},"flag":{"BOOL":true},"list":{"L":[{"N":"1"},{"S":"two"}]},)"
            R"("map":{"M":{"inner":{"S":"x"}}},"none":{"NULL":true},)"
            R"("number":{"N":"12345678901234567890123456789012345678"},)"
            R"("set":{"SS":["a","b"]},"text":{"S":)"
            "\"quote \\\" backslash \\\\ newline \\u000a bell \\u0007 umlaut \xc3\xa4\"}}");
}

TEST(Value, ReadsBackAsItWasWritten) {
  const auto read = ReadItem(R"({"Item":)" + Json(Everything()) + "}", "Item");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, Everything());
}

TEST(Value, KeepsAttributesOfOtherKindsAsTheyCame) {
  const std::string item = R"({"bytes":{"B":"aGk="},"numbers":{"NS":["1","2"]}})";
  const auto read = ReadItem(R"({"Attributes":)" + item + "}", "Attributes");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(Json(**read), item);
}

TEST(Value, IsGivenOutByItsKindOnly) {
  const Item item = Everything();
  EXPECT_EQ(GetFlag(item, "flag"), true);
  EXPECT_EQ(GetFlag(item, "text"), std::nullopt);
  EXPECT_EQ(*GetText(item, "text"), std::get<std::string>(item.at("text").held));
  EXPECT_EQ(GetText(item, "missing"), nullptr);
  EXPECT_EQ(GetSet(item, "set")->members.size(), 2U);
  EXPECT_EQ(GetMap(item, "map")->size(), 1U);
  EXPECT_EQ(GetList(item, "list")->size(), 2U);
  EXPECT_EQ(GetBytes(item, "bytes")->size(), 3U);
  EXPECT_EQ(GetBytes(item, "text"), nullptr);
}

TEST(Value, ANumberIsGivenOutIfItIsWholeAndFits) {
  const Item item{{"whole", Of(-7)},
                  {"fraction", {Number{"1.5"}}},
                  {"large", {Number{"9223372036854775808"}}},
                  {"least", {Number{"-9223372036854775808"}}}};
  EXPECT_EQ(GetNumber(item, "whole"), -7);
  EXPECT_EQ(GetNumber(item, "least"), INT64_MIN);
  EXPECT_EQ(GetNumber(item, "fraction"), std::nullopt);
  EXPECT_EQ(GetNumber(item, "large"), std::nullopt);
}

TEST(Answer, WhatIsNoneIsAnErrorThatSaysSo) {
  for (const char* body : {"", "not json", "[]", R"({"Item":[]})", R"({"Item":{"a":{}}})",
                           R"({"Item":{"a":{"X":"1"}}})", R"({"Item":{"a":{"S":"1","N":"1"}}})",
                           R"({"Item":{"a":{"N":1}}})", R"({"Item":{"a":{"S":"cut)"}) {
    const auto read = ReadItem(body, "Item");
    ASSERT_FALSE(read.has_value()) << body;
    EXPECT_EQ(read.error().code, Code::kUnknown);
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

TEST(Answer, NestingHasAnEnd) {
  std::string deep = R"({"Item":{"a":)";
  for (int i = 0; i < 100; ++i) deep += R"({"L":[)";
  deep += R"({"S":"x"})";
  for (int i = 0; i < 100; ++i) deep += "]}";
  EXPECT_FALSE(ReadItem(deep + "}}", "Item").has_value());
}

TEST(Answer, AQueryHasItemsAndPerhapsMoreAfterThem) {
  const auto last = ReadQuery(R"({"Count":1,"Items":[{"PK":{"S":"a"}}],"ScannedCount":1})");
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->items.size(), 1U);
  EXPECT_FALSE(last->last_key.has_value());
  const auto more = ReadQuery(R"({"Items":[],"LastEvaluatedKey":{"PK":{"S":"b"}}})");
  ASSERT_TRUE(more.has_value());
  EXPECT_EQ(*GetText(*more->last_key, "PK"), "b");
}

TEST(Answer, ABatchTellsWhatIsLeftToAskFor) {
  const auto read =
      ReadBatchGet(R"({"Responses":{"t":[{"PK":{"S":"a"}},{"PK":{"S":"b"}}]},)"
                   R"("UnprocessedKeys":{"t":{"ConsistentRead":true,"Keys":[{"PK":{"S":"c"}}]}}})");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->items.size(), 2U);
  EXPECT_EQ(*GetText(read->unprocessed_keys.at(0), "PK"), "c");
  const auto written =
      ReadBatchWrite(R"({"UnprocessedItems":{"t":[{"DeleteRequest":{"Key":{"PK":{"S":"d"}}}},)"
                     R"({"PutRequest":{"Item":{"PK":{"S":"e"}}}}]}})");
  ASSERT_TRUE(written.has_value()) << written.error().message;
  EXPECT_EQ(*GetText(written->unprocessed_deletes.at(0), "PK"), "d");
  EXPECT_EQ(*GetText(written->unprocessed_puts.at(0), "PK"), "e");
}

TEST(Answer, ReasonsComeInTheOrderOfTheActions) {
  const auto read = ReadReasons(
      R"({"__type":"x#TransactionCanceledException","CancellationReasons":[{"Code":"None"},)"
      R"({"Code":"ConditionalCheckFailed","Message":"m","Item":{"PK":{"S":"a"}}}],"message":"m"})");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ(read->at(0).code, "None");
  EXPECT_FALSE(read->at(0).item.has_value());
  EXPECT_EQ(*GetText(*read->at(1).item, "PK"), "a");
}

TEST(Answer, ATextIsFoundByItsPath) {
  const std::string body = R"({"Table":{"TableName":"limits","TableStatus":"ACTIVE","N":1}})";
  EXPECT_EQ(ReadText(body, "Table.TableStatus"), "ACTIVE");
  EXPECT_EQ(ReadText(body, "Table.N"), std::nullopt);
  EXPECT_EQ(ReadText(body, "Table.Missing"), std::nullopt);
  EXPECT_EQ(ReadText("", "Table"), std::nullopt);
}

}  // namespace
}  // namespace weir::dynamo
