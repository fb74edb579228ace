#include "weir/sim/dynamodb/expression/dynamo_condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "weir/sim/dynamodb/dynamo_fixture.h"
#include "weir/sim/dynamodb/expression/dynamo_condition_eval.h"
#include "weir/sim/random_fixture.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Placeholders ConditionPlaceholders() {
  return Placeholders({{"#a", "a"}, {"#dotted", "d.e"}, {"#m", "m"}}, ItemFrom(R"({
      ":1": {"N":"1"}, ":2": {"N":"2"}, ":3": {"N":"3"}, ":x": {"S":"x"}, ":xy": {"S":"xy"},
      ":empty": {"S":""}, ":t": {"BOOL":true}, ":S": {"S":"S"}, ":ss": {"SS":["p","q"]},
      ":p": {"S":"p"}, ":list": {"L":[]}, ":null": {"NULL":true}})"));
}

const char* const kItem = R"({
    "a": {"N":"2"}, "b": {"S":"xyz"}, "t": {"BOOL":true}, "d.e": {"N":"1"},
    "m": {"M":{"n":{"N":"3"},"l":{"L":[{"N":"1"},{"S":"x"}]}}},
    "tags": {"SS":["p","q"]}, "ns": {"NS":["1","2"]}, "nil": {"NULL":true}})";

Result<Condition> ConditionOf(const std::string& text) {
  Placeholders placeholders = ConditionPlaceholders();
  return ParseCondition("ConditionExpression", text, placeholders);
}

struct ConditionCase {
  std::string text;
  bool holds;
};

TEST(Condition, HoldsAsInDynamoDb) {
  const ConditionCase cases[] = {
      {"a = :2", true},
      {"#a = :2", true},
      {":2 = a", true},
      {"a = :1", false},
      {"a <> :1", true},
      {"a <> :2", false},
      {"a < :3", true},
      {"a < :2", false},
      {"a <= :2", true},
      {"a > :1", true},
      {"a > :2", false},
      {"a >= :2", true},
      {"a>=:2", true},
      {" \t\n a = :2 \r\n", true},
      // A value that is missing or of another type is unequal to the operand and not ordered with
      // it.
      {"a = :x", false},
      {"a <> :x", true},
      {"a < :x", false},
      {"b > :1", false},
      {"absent = :1", false},
      {"absent <> :1", true},
      {"absent < :1", false},
      {"NOT absent < :1", true},
      {"absent BETWEEN :1 AND :2", false},
      {"absent IN (:1, :2)", false},
      {"b < :xy", false},
      {"b > :xy", true},
      {"t = :t", true},
      {"nil = :null", true},
      {"tags = :ss", true},
      {"a BETWEEN :1 AND :2", true},
      {"a between :2 and :3", true},
      {"a BETWEEN :3 AND :3", false},
      {"a BETWEEN :1 AND :2 AND t = :t", true},
      {":2 BETWEEN #dotted AND m.n", true},
      {"a IN (:1, :2)", true},
      {"a IN (:1, :3)", false},
      {"a IN (:1)", false},
      {"attribute_exists(a)", true},
      {"attribute_exists (nil)", true},
      {"attribute_exists(absent)", false},
      {"attribute_not_exists(absent)", true},
      {"attribute_not_exists(a)", false},
      {"attribute_type(b, :S)", true},
      {"attribute_type(a, :S)", false},
      {"begins_with(b, :x)", true},
      {"begins_with(b, :empty)", true},
      {"begins_with(b, :p)", false},
      {"begins_with(a, :x)", false},
      {"begins_with(absent, :x)", false},
      {"contains(b, :xy)", true},
      {"contains(b, :p)", false},
      {"contains(tags, :p)", true},
      {"contains(tags, :x)", false},
      {"contains(ns, :2)", true},
      {"contains(ns, :3)", false},
      {"contains(ns, :x)", false},
      {"contains(m.l, :x)", true},
      {"contains(m.l, :3)", false},
      {"contains(absent, :x)", false},
      {"size(b) = :3", true},
      {"size(tags) = :2", true},
      {"size(m) = :2", true},
      {"size(m.l) < :3", true},
      {"size(a) = :1", false},
      {"size(absent) < :3", false},
      {"m.n = :3", true},
      {"#m.n = :3", true},
      {"m.l[0] = :1", true},
      {"m.l[1] = :x", true},
      {"attribute_exists(m.l[2])", false},
      {"attribute_exists(a.b)", false},
      {"attribute_exists(m[0])", false},
      {"attribute_not_exists(a[0])", true},
      {"#dotted = :1", true},
      {"m.d.e = :1", false},
      // NOT binds closest, then AND, then OR.
      {"a = :1 AND a = :1 OR t = :t", true},
      {"t = :t OR a = :1 AND a = :1", true},
      {"(t = :t OR a = :1) AND a = :1", false},
      {"NOT a = :1 AND a = :1", false},
      {"NOT (a = :1 AND a = :1)", true},
      {"not a = :2 or t = :t", true},
      {"(a = :2)", true},
      {"(a = :2) AND (t = :t)", true},
      {"((a = :1) OR (t = :t))", true},
  };
  const Item item = ItemFrom(kItem);
  for (const auto& [text, holds] : cases) {
    const auto condition = ConditionOf(text);
    ASSERT_TRUE(condition.has_value()) << text << ": " << condition.error().message;
    EXPECT_EQ(Holds(*condition, item), holds) << text;
  }
}

TEST(Condition, OnAMissingItemNothingExists) {
  EXPECT_TRUE(Holds(ConditionOf("attribute_not_exists(PK)").value(), {}));
  EXPECT_FALSE(Holds(ConditionOf("attribute_exists(PK) OR a >= :1").value(), {}));
}

TEST(Condition, RefusesWhatAwsRefuses) {
  const RefusedExpression cases[] = {
      {"", "The expression can not be empty;"},
      {"a", "Syntax error; token: \"<EOF>\""},
      {"a =", "Syntax error; token: \"<EOF>\""},
      {"a = :1 AND", "<EOF>"},
      {"a = :1 b = :2", "Syntax error; token: \"b\""},
      {"a == :1", "Syntax error; token: \"=\""},
      {"a != :1", "Syntax error; token: \"!\""},
      {"a = 1", "Syntax error; token: \"1\""},
      {"a = 'x'", "Syntax error"},
      {"(a = :1", "<EOF>"},
      {"a = :1)", "Syntax error; token: \")\""},
      {"a BETWEEN :1", "<EOF>"},
      {"a BETWEEN :1 OR :2", "Syntax error; token: \"OR\""},
      {"a IN :1", "Syntax error; token: \":1\""},
      {"a IN ()", "Syntax error; token: \")\""},
      {"a[x] = :1", "Syntax error"},
      {"a[] = :1", "Syntax error"},
      {"a[0 = :1", "Syntax error"},
      {"a. = :1", "Syntax error"},
      {"[0] = :1", "Syntax error"},
      {"_a = :1", "Syntax error; token: \"_a\""},
      {"NOT NOT a = :1", "NOT"},
      {"((a = :1))", "redundant parentheses"},
      {"((a = :1)) AND a = :2", "redundant parentheses"},
      {"ttl = :1", "Attribute name is a reserved keyword; reserved keyword: ttl"},
      {"a.Name = :1", "reserved keyword: Name"},
      {"a = :nowhere", "attribute value: :nowhere"},
      {"#nowhere = :1", "attribute name: #nowhere"},
      {"exists(a)", "Invalid function name; function: exists"},
      {"if_not_exists(a, :1)", "Invalid function name"},
      {"attribute_exists(a, b)", "Incorrect number of operands"},
      {"begins_with(b)", "Incorrect number of operands"},
      {"attribute_exists(:1)", "requires a document path"},
      {"contains(:x, a)", "requires a document path"},
      {"begins_with(b, :1)", "operator or function: begins_with, operand type: N"},
      {"begins_with(size(b), :x)", "operand type: N"},
      {"attribute_type(a, :1)", "operand type: N"},
      {"a < :t", "operator or function: <, operand type: BOOL"},
      {"a >= :list", "operand type: L"},
      {"a BETWEEN :t AND :t", "operand type: BOOL"},
      {"a BETWEEN :2 AND :1", "upper bound to be greater"},
      {"a BETWEEN :1 AND :x", "same data type"},
      {"a = a", "must be distinct"},
      {"#a = a", "must be distinct"},
      {"contains(b, b)", "must be distinct"},
      {"a = begins_with(b, :x)", "not allowed to be used this way"},
      {"size(a)", "Syntax error; token: \"<EOF>\""},
      {"(a) = :1", "Syntax error"},
  };
  for (const auto& [text, why] : cases) {
    const auto condition = ConditionOf(text);
    ASSERT_FALSE(condition.has_value()) << text;
    EXPECT_EQ(condition.error().code, Code::kInvalidArgument);
    EXPECT_THAT(condition.error().message, HasSubstr("Invalid ConditionExpression: ")) << text;
    EXPECT_THAT(condition.error().message, HasSubstr(why)) << text;
  }
}

/// Joins `count` equal comparisons by AND.
std::string Chain(std::size_t count) {
  std::string text = "a = :2";
  for (std::size_t i = 1; i < count; ++i) text += " AND a = :2";
  return text;
}

TEST(Condition, SizeAndOperatorsAreLimitedAsOnAws) {
  const std::string longest = "a = :2" + std::string(4096 - 6, ' ');
  EXPECT_TRUE(ConditionOf(longest).has_value());
  EXPECT_THAT(ConditionOf(longest + " ").error().message, HasSubstr("expression size: 4097"));
  // 150 comparisons have 149 ANDs between them; the 151st comparison and its AND are too many.
  EXPECT_TRUE(ConditionOf(Chain(150)).has_value());
  EXPECT_THAT(ConditionOf(Chain(151)).error().message, HasSubstr("operator count: 301"));
  std::string in = "a IN (:1";
  for (int i = 1; i < 100; ++i) in += ",:1";
  EXPECT_TRUE(ConditionOf(in + ")").has_value());
  EXPECT_THAT(ConditionOf(in + ",:1)").error().message, HasSubstr("IN operator"));
}

TEST(Condition, PlaceholdersThatNothingUsesAreRefused) {
  Placeholders placeholders({{"#a", "a"}, {"#b", "b"}}, ItemFrom(R"({":1":{"N":"1"}})"));
  ASSERT_TRUE(ParseCondition("FilterExpression", "#a = :1", placeholders).has_value());
  EXPECT_THAT(placeholders.CheckAllUsed().error().message,
              HasSubstr("ExpressionAttributeNames unused in expressions: keys: {#b}"));
  ASSERT_TRUE(ParseProjection("#b", placeholders).has_value());
  EXPECT_TRUE(placeholders.CheckAllUsed().has_value());
  Placeholders values({}, ItemFrom(R"({":1":{"N":"1"},":2":{"N":"1"}})"));
  ASSERT_TRUE(ParseCondition("FilterExpression", "a = :1", values).has_value());
  EXPECT_THAT(values.CheckAllUsed().error().message,
              HasSubstr("ExpressionAttributeValues unused in expressions: keys: {:2}"));
}

TEST(Condition, KnowsItsPaths) {
  std::vector<std::string> names;
  for (const Path& path :
       PathsIn(ConditionOf("a = :1 AND (size(b) > :2 OR NOT m.n = tags)").value())) {
    names.push_back(ToString(path));
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("[a]", "[b]", "[m, n]", "[tags]"));
}

/// A boolean expression over three flags: its text and its meaning, built together.
struct Formula {
  std::string text;
  int binding = 0;  ///< the binding strength of the outermost operator: 0 OR, 1 AND, 2 NOT, 3 none
  std::function<bool(unsigned)> meaning;
};

/// Adds parentheses if the formula binds less closely than the operator around it, or by chance.
std::string Inside(const Formula& formula, int around) {
  const bool parentheses = formula.binding < around || (formula.binding < 3 && Below(2) == 0);
  return parentheses ? "(" + formula.text + ")" : formula.text;
}

Formula AnyFormula(int depth) {
  const int kind = depth == 0 ? 0 : Below(6);
  if (kind == 0) {
    const unsigned flag = static_cast<unsigned>(Below(3));
    return {"f" + std::to_string(flag) + " = :t", 3,
            [flag](unsigned flags) { return (flags >> flag & 1U) != 0; }};
  }
  const Formula left = AnyFormula(depth - 1);
  // AWS does not parse NOT directly before another NOT.
  if (kind == 1) {
    return {"NOT " + Inside(left, 3), 2, [left](unsigned flags) { return !left.meaning(flags); }};
  }
  const Formula right = AnyFormula(depth - 1);
  if (kind < 4) {
    return {Inside(left, 1) + " AND " + Inside(right, 1), 1,
            [left, right](unsigned flags) { return left.meaning(flags) && right.meaning(flags); }};
  }
  return {Inside(left, 0) + " OR " + Inside(right, 0), 0,
          [left, right](unsigned flags) { return left.meaning(flags) || right.meaning(flags); }};
}

// Fails if: AND and OR have the same precedence, NOT applies to more than the next term, or the
// first or last term of a chain is dropped.
RC_GTEST_PROP(ConditionProperty, BooleansMeanWhatTheyMeanForEveryTruthTable, ()) {
  const Formula formula = AnyFormula(Below(6));
  Placeholders placeholders({}, ItemFrom(R"({":t":{"BOOL":true}})"));
  const auto condition = ParseCondition("ConditionExpression", formula.text, placeholders);
  if (!condition) RC_FAIL(formula.text + ": " + condition.error().message);
  for (unsigned flags = 0; flags < 8; ++flags) {
    Item item;
    for (unsigned flag = 0; flag < 3; ++flag) {
      item.emplace("f" + std::to_string(flag), Value((flags >> flag & 1U) != 0));
    }
    if (Holds(*condition, item) != formula.meaning(flags)) RC_FAIL(formula.text);
  }
}

}  // namespace
}  // namespace weir::sim
