#include "weir/model/yaml_brackets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace weir {
namespace {

/// Returns the bracket and its index, or "closed".
std::string OpenIn(std::string_view text) {
  const auto open = FindOpenBracket(text);
  return open ? fmt::format("{}{}", open->bracket, open->at) : "closed";
}

TEST(FindOpenBracketTest, TheInnermostBracketIsFound) {
  EXPECT_EQ(OpenIn("{a: {b: 1}"), "{0");
  EXPECT_EQ(OpenIn("{a: {b: 1"), "{4");
  EXPECT_EQ(OpenIn("[[[["), "[3");
  EXPECT_EQ(OpenIn("{a: [1}"), "[4");
  EXPECT_EQ(OpenIn("{a: [1, 2]}"), "closed");
  EXPECT_EQ(OpenIn("{}: {"), "closed");
}

TEST(FindOpenBracketTest, QuotesAndCommentsMayContainBrackets) {
  for (const std::string text :
       {R"({a: "}]", b: 'it''s {'})", R"({"a\"{": 1})", "{a: b # {\n}", "{a: it's, b: 5\"}",
        "{a: &x \"{\", b: !!str '['}", "{a: x#, b: 1}", "{a: \"never closed }", "{a: !x}", "[&a]",
        "{a: !!int, b: &c}", "{k: x:\"c}", R"({"a":"}"})"}) {
    EXPECT_EQ(OpenIn(text), "closed") << text;
  }
  EXPECT_EQ(OpenIn(R"({a: "}", b: 1)"), "{0");
}

// Fails if: a file of brackets takes many times its size.
TEST(FindOpenBracketTest, TheNumberOfOpenBracketsIsBounded) {
  EXPECT_EQ(OpenIn(std::string(1'000, '[')), "[999");
  EXPECT_EQ(OpenIn(std::string(1'002, '[')), "closed");
}

// Fails if: a text without quotes and comments is judged by anything but its brackets.
RC_GTEST_PROP(FindOpenBracketProperty, AClosedMappingMinusItsEndIsOpen, ()) {
  std::string text = "[";
  std::string closing = "]";
  for (const char c : *rc::gen::container<std::string>(rc::gen::element('{', '[', 'x', ','))) {
    text += c;
    if (c == '{') closing.insert(0, 1, '}');
    if (c == '[') closing.insert(0, 1, ']');
  }
  RC_ASSERT(!FindOpenBracket(text + closing));
  RC_ASSERT(FindOpenBracket(text + closing.substr(0, closing.size() - 1))->at == 0U);
}

}  // namespace
}  // namespace weir
