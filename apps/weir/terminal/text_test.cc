#include "apps/weir/terminal/text.h"

#include <gtest/gtest.h>

#include "apps/weir/terminal/json.h"

namespace weir::app {
namespace {

TEST(Table, SetsColumnsAsWideAsTheirWidestCell) {
  Table table({"name", ">tokens", "note"});
  table.Row({"a", "5", "x"});
  table.Row({"longer", "12345678", ""});
  EXPECT_EQ(table.Text(),
            "name      tokens  note\n"
            "a              5  x\n"
            "longer  12345678\n");
}

TEST(Table, KnowsWhetherItHasRows) {
  Table table({"name"});
  EXPECT_TRUE(table.empty());
  table.Row({"a"});
  EXPECT_FALSE(table.empty());
}

// Fails if: a byte that no terminal can show is printed unchanged.
TEST(EscapeControls, WhatIsNoTextIsShownAsHexadecimal) {
  EXPECT_EQ(EscapeControls("M\xc3\xbcnchen \xe2\x82\xac\n"), "M\xc3\xbcnchen \xe2\x82\xac\n");
  EXPECT_EQ(EscapeControls("\x1b[2J\x7f\xc2\x85"), "\\x1b[2J\\x7f\\xc2\\x85");
  EXPECT_EQ(EscapeControls("a\xe2\x80\xae"
                           "b\xe2\x80\xa8"),
            "a\\xe2\\x80\\xae"
            "b\\xe2\\x80\\xa8")
      << "right to left, and a separator of lines";
  EXPECT_EQ(EscapeControls("M\xfcnchen"), "M\\xfcnchen");
  EXPECT_EQ(EscapeControls("=\xed\xa0\x80="), "=\\xed\\xa0\\x80=");
  EXPECT_EQ(EscapeControls("\xe2\x82"), "\\xe2\\x82");
}

TEST(FormatTime, WritesRfc3339) {
  EXPECT_EQ(FormatTime(UnixMillis{0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatTime(UnixMillis{1'700'158'546'680}), "2023-11-16T18:15:46.680Z");
  EXPECT_EQ(FormatTime(UnixMillis{-1}), "1969-12-31T23:59:59.999Z");
}

TEST(FormatSeconds, DropsNeedlessZeros) {
  EXPECT_EQ(FormatSeconds(milliseconds(250)), "0.25s");
  EXPECT_EQ(FormatSeconds(milliseconds(60'000)), "60s");
}

TEST(FormatMillis, GoesDownToAMicrosecond) {
  EXPECT_EQ(FormatMillis(nanoseconds(12'500'999)), "12.5");
  EXPECT_EQ(FormatMillis(nanoseconds(999)), "0");
}

TEST(FormatLimits, WritesWhatParseLimitsReads) {
  const Result<std::vector<Limit>> limits = ParseLimits("rpm:100,tpm:10000/hour:15000.5");
  ASSERT_TRUE(limits);
  EXPECT_EQ(*ParseLimits(FormatLimits(*limits)), *limits);
  EXPECT_EQ(FormatLimits({}), "-");
}

TEST(TokensJson, IsWholeWhereWhole) {
  EXPECT_EQ(TokensJson(3000).dump(), "3");
  EXPECT_EQ(TokensJson(-3000).dump(), "-3");
  EXPECT_EQ(TokensJson(0).dump(), "0");
}

TEST(TokensJson, HasUpToThreeDecimals) {
  EXPECT_EQ(TokensJson(1500).dump(), "1.5");
  EXPECT_EQ(TokensJson(1).dump(), "0.001");
  EXPECT_EQ(TokensJson(-1).dump(), "-0.001");
  EXPECT_EQ(TokensJson(123'456'789'012'345).dump(), "123456789012.345");
  EXPECT_EQ(TokensJson(kMaxMillitokens).dump(), "10000000000000");
  EXPECT_EQ(TokensJson(8'796'093'022'207'999).dump(), "8796093022207.999");
}

// Fails if: an amount is rounded to a double.
TEST(TokensJson, IsTextWhereADoubleHasFewerThanThreeDecimals) {
  EXPECT_EQ(TokensJson(8'796'093'022'208'001).dump(), R"("8796093022208.001")");
  EXPECT_EQ(TokensJson(-9'999'999'999'999'999).dump(), R"("-9999999999999.999")");
  EXPECT_EQ(TokensJson(8'796'093'022'209'000).dump(), "8796093022209");
}

TEST(ToJson, ADecisionHasEachLimitOfEachBucket) {
  const Decision decision{
      .admitted = false,
      .retry_after = milliseconds(1500),
      .limits = {{"acme", "llm", "rpm", 10'000, -500, 1'000, true, milliseconds(1500)},
                 {"acme", "llm", "tpm", 5'000, 5'000, 0, false, milliseconds(0)}}};
  EXPECT_EQ(ToJson(decision).dump(),
            R"({"admitted":false,"retry_after_ms":1500,"limits":[)"
            R"({"entity":"acme","name":"rpm","capacity":10,"available":-0.5,"requested":1,)"
            R"("exceeded":true,"retry_after_ms":1500},)"
            R"({"entity":"acme","name":"tpm","capacity":5,"available":5,"requested":0,)"
            R"("exceeded":false,"retry_after_ms":0}]})");
}

TEST(ToJson, ALevelNamesOnlyWhatItHas) {
  const LevelRecord system{Level::System(), {{}, OnUnavailable::kAllow, true}};
  EXPECT_EQ(ToJson(system).dump(),
            R"({"level":"system","limits":[],"on_unavailable":"allow","managed":true})");
  const LevelRecord entity{Level::Entity("acme", "llm"), {{{"rpm", PerMinute(5)}}, {}, false}};
  EXPECT_EQ(ToJson(entity).dump(),
            R"({"level":"entity","entity":"acme","resource":"llm","limits":[{"name":"rpm",)"
            R"("capacity":5,"refill_amount":5,"refill_period_ms":60000}],"managed":false})");
}

TEST(ToJson, AnEntityWithoutParentSaysNull) {
  EntityRecord record;
  record.entity.id = "acme";
  record.entity.name = "Acme";
  EXPECT_EQ(ToJson(record).dump(),
            R"({"entity":"acme","name":"Acme","parent":null,"cascade":false,"metadata":{},)"
            R"("created_at":"1970-01-01T00:00:00.000Z","managed":false})");
}

}  // namespace
}  // namespace weir::app
