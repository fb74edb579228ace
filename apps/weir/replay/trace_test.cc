#include "apps/weir/replay/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "apps/weir/files.h"

namespace weir::app {
namespace {

using testing::StartsWith;

const std::string kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

std::string TraceError(const std::string& text) {
  const auto rows = ParseTrace(text, "t.csv");
  return rows ? "no error" : rows.error().message;
}

TEST(ParseTrace, ReadsRows) {
  const auto rows = ParseTrace(kHeader +
                                   "2023-11-16 18:15:46.6805900,374,44\n"
                                   "2023-11-16 18:15:50.9951690,396,0\n",
                               "t.csv");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(*rows, (std::vector<TraceRow>{{UnixMillis{1'700'158'546'680}, 374, 44},
                                          {UnixMillis{1'700'158'550'995}, 396, 0}}));
}

TEST(ParseTrace, TakesCarriageReturnsAndALastLineWithoutEnd) {
  const auto rows = ParseTrace(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 "
      "18:15:46.6805900,374,44\r\n"
      "2023-11-16 18:15:46.6805900,1,2",
      "t.csv");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->size(), 2U);
  EXPECT_EQ(rows->back().generated_tokens, 2);
}

TEST(ParseTrace, ReadsFieldsInQuotes) {
  const auto rows = ParseTrace(
      "\xef\xbb\xbf\"TIMESTAMP\",\"ContextTokens\",\"GeneratedTokens\"\n"
      "\"2023-11-16 18:15:46.6805900\",\"374\",44\n",
      "t.csv");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(*rows, (std::vector<TraceRow>{{UnixMillis{1'700'158'546'680}, 374, 44}}));
}

TEST(ParseTrace, NamesTheLineThatIsWrong) {
  const std::string good = "2023-11-16 18:15:46.6805900,374,44\n";
  EXPECT_THAT(TraceError("a,b\n"), StartsWith("t.csv:1: not a trace"));
  EXPECT_THAT(TraceError(""), StartsWith("t.csv:1: not a trace"));
  EXPECT_THAT(TraceError(kHeader), StartsWith("t.csv:1: no requests"));
  // U14: the error names the field.
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"\n", "1 fields"},
      {"2023-11-16 18:15:46.6,374\n", "2 fields"},
      {"2023-11-16 18:15:46.6,374,44,1\n", "4 fields"},
      {"2023-11-16 18:15:46.6,-1,44\n", "ContextTokens '-1' is not valid; write"},
      {"2023-11-16 18:15:46.6,1,x\n", "GeneratedTokens 'x' is not valid; write"},
      {"yesterday,1,1\n", "TIMESTAMP 'yesterday' is not valid; write"},
      {"2023-11-16 18:15:46.6,1000000001,1\n", "ContextTokens '1000000001' is not valid; write"},
      {",,\n", "TIMESTAMP '' is not valid; write"}};
  for (const auto& [row, what] : bad) {
    EXPECT_THAT(TraceError(kHeader + good + row + good), StartsWith("t.csv:3: " + what)) << row;
  }
}

TEST(ParseTrace, ATimeMayHaveAZoneOrBeANumber) {
  for (const std::string at : {"2023-11-16 18:15:46.680", "2023-11-16T18:15:46.680Z",
                               "2023-11-16T19:15:46.680+01:00", "1700158546680"}) {
    const auto rows = ParseTrace(kHeader + at + ",1,1\n", "t.csv");
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->front().at, UnixMillis{1'700'158'546'680}) << at;
  }
}

TEST(ParseTrace, RefusesRowsOutOfOrder) {
  EXPECT_THAT(TraceError(kHeader + "2023-11-16 18:15:46.681,1,1\n2023-11-16 18:15:46.680,1,1\n"),
              StartsWith("t.csv:3: earlier than the row above"));
}

TEST(ParseTrace, ReadsTheTraceThatComesWithTheSources) {
  const auto text = ReadFile(WEIR_SOURCE_DIR "/examples/data/azure_llm_2023_conv.csv");
  ASSERT_TRUE(text) << text.error().message;
  const auto rows = ParseTrace(*text, "trace");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->size(), 19'366U);
  EXPECT_EQ(rows->back(), (TraceRow{UnixMillis{1'700'162'048'402}, 197, 183}));
}

}  // namespace
}  // namespace weir::app
