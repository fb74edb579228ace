#include "apps/weir/kinesis/record_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace weir::app {
namespace {

using testing::HasSubstr;

std::string ErrorOf(const Result<std::string>& key) {
  return key ? "none: " + *key : key.error().message;
}

TEST(RecordKeys, RandomOnesSpreadAndReplay) {
  RecordKeys keys = RecordKeys::Random(7);
  RecordKeys same = RecordKeys::Random(7);
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto key = keys.KeyOf("x");
    ASSERT_TRUE(key);
    EXPECT_EQ(key, same.KeyOf("y"));
    seen.insert(*key);
  }
  EXPECT_GT(seen.size(), 990U);
}

TEST(RecordKeys, AMemberIsTakenAsItIs) {
  RecordKeys keys = RecordKeys::Field("user");
  EXPECT_EQ(keys.KeyOf(R"({"user":"ann \u00e9"})"), "ann é");
  EXPECT_EQ(keys.KeyOf(R"({"a":1,"user":42})"), "42");
  EXPECT_EQ(keys.KeyOf(R"({"user":-1.5})"), "-1.5");
  EXPECT_EQ(keys.KeyOf(R"({"user":true})"), "true");
}

TEST(RecordKeys, ALineWithoutTheMemberHasNoKey) {
  RecordKeys keys = RecordKeys::Field("user");
  EXPECT_THAT(ErrorOf(keys.KeyOf(R"({"name":"ann"})")), HasSubstr("no member 'user'"));
  EXPECT_THAT(ErrorOf(keys.KeyOf(R"({"user":["ann"]})")), HasSubstr("not a string, number"));
  EXPECT_THAT(ErrorOf(keys.KeyOf(R"({"user":null})")), HasSubstr("not a string, number"));
  for (const char* line : {"", "[1]", "\"user\"", R"({"user":"ann")"}) {
    EXPECT_THAT(ErrorOf(keys.KeyOf(line)), HasSubstr("not a JSON object")) << line;
  }
}

TEST(RecordKeys, AnExpressionGivesItsFirstGroupOrAllOfIt) {
  RecordKeys group = *RecordKeys::Matching("^[a-z]+ ([0-9]+) (.*)$");
  EXPECT_EQ(group.KeyOf("user 17 x"), "17");
  RecordKeys whole = *RecordKeys::Matching("[0-9]+");
  EXPECT_EQ(whole.KeyOf("a 17 18"), "17");
  EXPECT_EQ(whole.KeyOf(std::string("a\0b 18", 6)), "18");
}

TEST(RecordKeys, WhereTheExpressionMatchesNotThereIsNoKey) {
  RecordKeys keys = *RecordKeys::Matching("a(b)?");
  EXPECT_THAT(ErrorOf(keys.KeyOf("x")), HasSubstr("does not match the line"));
  EXPECT_THAT(ErrorOf(keys.KeyOf("a")), HasSubstr("takes no part in the match"));
  EXPECT_EQ(keys.KeyOf("ab"), "b");
}

TEST(RecordKeys, OnlyTheLineIsLookedAt) {
  RecordKeys keys = *RecordKeys::Matching("b");
  EXPECT_FALSE(keys.KeyOf(std::string_view("ab").substr(0, 1)));
}

TEST(RecordKeys, ALongLineDoesNoHarm) {
  RecordKeys keys = *RecordKeys::Matching("^(.*)z$");
  const std::string line(200'000, 'a');
  EXPECT_EQ(keys.KeyOf(line + "z"), line);
  EXPECT_FALSE(keys.KeyOf(line));
}

TEST(RecordKeys, WhatIsNoExpressionIsRefusedByName) {
  const auto keys = RecordKeys::Matching("a(");
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().code, Code::kInvalidArgument);
  EXPECT_THAT(keys.error().message, HasSubstr("'a('"));
}

}  // namespace
}  // namespace weir::app
