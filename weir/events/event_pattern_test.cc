// Patterns and the values that they match. The first table follows the sections "Creating event
// patterns" and "Comparison operators" of the Amazon EventBridge User Guide, in our own words.
#include "weir/events/event_pattern.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "weir/events/event_pattern_file.h"
#include "weir/model/yaml_tree.h"

namespace weir {
namespace {

using nlohmann::json;

EventPattern Read(const std::string& text) {
  const auto tree = ParseYaml(text, "f.yaml");
  EXPECT_TRUE(tree.has_value()) << tree.error().message;
  auto pattern = EventPatternReader("f.yaml").Pattern(*tree->root, "pattern");
  EXPECT_TRUE(pattern.has_value()) << pattern.error().message;
  return pattern ? *std::move(pattern) : EventPattern{};
}

struct Case {
  const char* name;
  bool matches;
  const char* pattern;
  const char* event;
};

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

const Case kCases[] = {
    {"ExactText", true, "{a: [x]}", R"({"a":"x"})"},
    {"OtherText", false, "{a: [x]}", R"({"a":"X"})"},
    {"OneOfTheList", true, "{a: [x, y]}", R"({"a":"y"})"},
    {"FieldsAreAllWanted", false, "{a: [x], b: [y]}", R"({"a":"x","b":"z"})"},
    {"FieldsThatAreNotNamedDoNotMatter", true, "{a: [x]}", R"({"a":"x","b":"z"})"},
    {"MissingField", false, "{a: [x]}", R"({"b":"x"})"},
    {"Number", true, "{a: [5]}", R"({"a":5})"},
    {"NumberWrittenOtherwise", true, "{a: [300]}", R"({"a":3.0e2})"},
    {"NumberIsNoText", false, "{a: [5]}", R"({"a":"5"})"},
    {"TextIsNoNumber", false, R"({a: ["5"]})", R"({"a":5})"},
    {"NumberInQuotesIsText", true, R"({a: ["5"]})", R"({"a":"5"})"},
    {"LeadingZerosAreText", true, "{a: [012345678901]}", R"({"a":"012345678901"})"},
    {"True", true, "{a: [true]}", R"({"a":true})"},
    {"TrueIsNoText", false, "{a: [true]}", R"({"a":"true"})"},
    {"TrueInQuotesIsText", true, R"({a: ["true"]})", R"({"a":"true"})"},
    {"Null", true, "{a: [null]}", R"({"a":null})"},
    {"NullIsNotMissing", false, "{a: [null]}", R"({})"},
    {"NullInQuotesIsText", true, R"({a: ["null"]})", R"({"a":"null"})"},
    {"EmptyText", true, R"({a: [""]})", R"({"a":""})"},
    {"Zero", true, "{a: [0]}", R"({"a":0})"},
    {"False", true, "{a: [false]}", R"({"a":false})"},

    {"Nested", true, "{a: {b: [x]}}", R"({"a":{"b":"x"}})"},
    {"Path", true, "{a.b: [x]}", R"({"a":{"b":"x"}})"},
    {"PathOfNested", true, "{a: {b.c: [x]}}", R"({"a":{"b":{"c":"x"}}})"},
    {"PathThroughText", false, "{a.b: [x]}", R"({"a":"x"})"},
    {"ObjectIsNoValue", false, "{a: [x]}", R"({"a":{"x":"x"}})"},

    {"ListHasIt", true, "{a: [x]}", R"({"a":["y","x"]})"},
    {"ListHasItNot", false, "{a: [x]}", R"({"a":["y","z"]})"},
    {"ListInList", true, "{a: [x]}", R"({"a":[["y"],["x"]]})"},
    {"EmptyList", false, "{a: [x]}", R"({"a":[]})"},
    {"ThroughList", true, "{a.b: [x]}", R"({"a":[{"b":"y"},{"b":"x"}]})"},
    {"NestedFieldsOfOneElement", true, "{a: {b: [x], c: [y]}}",
     R"({"a":[{"b":"x","c":"y"},{"b":"y","c":"x"}]})"},
    {"NestedFieldsOfTwoElements", false, "{a: {b: [x], c: [y]}}",
     R"({"a":[{"b":"x","c":"x"},{"b":"y","c":"y"}]})"},
    {"PathsOfTwoElements", true, "{a.b: [x], a.c: [y]}",
     R"({"a":[{"b":"x","c":"x"},{"b":"y","c":"y"}]})"},

    {"Prefix", true, "{a: [{prefix: us-}]}", R"({"a":"us-east-1"})"},
    {"NoPrefix", false, "{a: [{prefix: us-}]}", R"({"a":"eu-us-1"})"},
    {"PrefixOfNumber", false, "{a: [{prefix: 5}]}", R"({"a":55})"},
    {"Suffix", true, "{a: [{suffix: .png}]}", R"({"a":"x.png"})"},
    {"NoSuffix", false, "{a: [{suffix: .png}]}", R"({"a":"x.png.zip"})"},
    {"IgnoreCase", true, "{a: [{equals-ignore-case: alice}]}", R"({"a":"ALice"})"},
    {"IgnoreCaseOfAllOfIt", false, "{a: [{equals-ignore-case: alice}]}", R"({"a":"ALiceB"})"},
    {"Wildcard", true, R"({a: [{wildcard: "dir/*.png"}]})", R"({"a":"dir/x/y.png"})"},
    {"WildcardOfNothing", true, R"({a: [{wildcard: "dir/*.png"}]})", R"({"a":"dir/.png"})"},
    {"NoWildcard", false, R"({a: [{wildcard: "dir/*.png"}]})", R"({"a":"dir/x.pngs"})"},
    {"EscapedStar", false, R"({a: [{wildcard: 'a\*c'}]})", R"({"a":"abc"})"},
    {"EscapedStarItself", true, R"({a: [{wildcard: 'a\*c'}]})", R"({"a":"a*c"})"},
    {"EscapedBackslash", true, R"({a: [{wildcard: 'a\\*'}]})", R"({"a":"a\\c"})"},

    {"AnythingBut", true, "{a: [{anything-but: init}]}", R"({"a":"run"})"},
    {"NotAnythingBut", false, "{a: [{anything-but: init}]}", R"({"a":"init"})"},
    {"AnythingButIsThere", false, "{a: [{anything-but: init}]}", R"({})"},
    {"AnythingButIsFalsy", true, "{a: [{anything-but: init}]}", R"({"a":""})"},
    {"AnythingButList", false, "{a: [{anything-but: [init, stop]}]}", R"({"a":"stop"})"},
    {"AnythingButNumber", false, "{a: [{anything-but: 5}]}", R"({"a":5})"},
    {"AnythingButOfOtherKind", true, "{a: [{anything-but: 5}]}", R"({"a":"5"})"},
    {"AnythingButPrefix", false, "{a: [{anything-but: {prefix: in}}]}", R"({"a":"init"})"},
    {"AnythingButNotPrefix", true, "{a: [{anything-but: {prefix: in}}]}", R"({"a":"run"})"},
    {"AnythingButSuffixes", false, "{a: [{anything-but: {suffix: [x, t]}}]}", R"({"a":"init"})"},
    {"AnythingButInList", true, "{a: [{anything-but: init}]}", R"({"a":["init","run"]})"},

    {"Exists", true, "{a: [{exists: true}]}", R"({"a":0})"},
    {"NullExists", true, "{a: [{exists: true}]}", R"({"a":null})"},
    {"MissingDoesNotExist", false, "{a: [{exists: true}]}", R"({})"},
    {"ExistsNot", true, "{a: [{exists: false}]}", R"({})"},
    {"ExistsThough", false, "{a: [{exists: false}]}", R"({"a":""})"},
    {"ObjectDoesNotExist", false, "{a: [{exists: true}]}", R"({"a":{"b":1}})"},
    {"EmptyListDoesNotExist", true, "{a: [{exists: false}]}", R"({"a":[]})"},
    {"ExistsNotBelow", true, "{a: {b: [{exists: false}]}}", R"({"c":1})"},
    {"ExistsNotOrValue", true, "{a: [x, {exists: false}]}", R"({"a":"x"})"},
    {"ExistsInOneElement", false, "{a.b: [{exists: false}]}", R"({"a":[{"b":1},{"c":1}]})"},

    {"NumericEqual", true, R"({a: [{numeric: ["=", 5]}]})", R"({"a":5.0})"},
    {"NumericRange", true, R"({a: [{numeric: [">", 0, "<=", 5]}]})", R"({"a":5})"},
    {"NumericAtBound", false, R"({a: [{numeric: [">", 0, "<=", 5]}]})", R"({"a":0})"},
    {"NumericAboveRange", false, R"({a: [{numeric: [">", 0, "<=", 5]}]})", R"({"a":5.1})"},
    {"NumericBelow", false, R"({a: [{numeric: ["<", 10]}]})", R"({"a":10})"},
    {"NumericAtLeast", true, R"({a: [{numeric: [">=", 1.5e1]}]})", R"({"a":15})"},
    {"NumericOfText", false, R"({a: [{numeric: ["<", 10]}]})", R"({"a":"5"})"},

    {"Or", true, "{$or: [{a: [x]}, {b: [y]}]}", R"({"b":"y"})"},
    {"OrOfNone", false, "{$or: [{a: [x]}, {b: [y]}]}", R"({"b":"x"})"},
    {"OrAndField", false, "{c: [z], $or: [{a: [x]}, {b: [y]}]}", R"({"b":"y"})"},
    {"OrBelow", true, "{d: {$or: [{a: [x]}, {b: [y]}]}}", R"({"d":{"b":"y"}})"},
    {"PastedJson", true,
     R"({"detail": {"state": ["TERMINATED"], "name": [{"anything-but": "debugging"}]}})",
     R"({"detail":{"state":"TERMINATED","name":"job"}})"},
};

class EventPatternCases : public testing::TestWithParam<Case> {};

TEST_P(EventPatternCases, AreAsDocumented) {
  const Case& one = GetParam();
  EXPECT_EQ(Matches(Read(one.pattern), json::parse(one.event)), one.matches);
}

INSTANTIATE_TEST_SUITE_P(All, EventPatternCases, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

/// A reference implementation: tries every length for each star.
bool SlowWildcard(const std::string& wildcard, const std::string& text) {
  if (wildcard.empty()) return text.empty();
  const std::string rest = wildcard.substr(1);
  if (wildcard[0] != '*') {
    return !text.empty() && text[0] == wildcard[0] && SlowWildcard(rest, text.substr(1));
  }
  for (std::size_t taken = 0; taken <= text.size(); ++taken) {
    if (SlowWildcard(rest, text.substr(taken))) return true;
  }
  return false;
}

// Fails if: a star takes no more characters after the first attempt to match the rest.
RC_GTEST_PROP(EventPatternProperty, AWildcardIsAnyTextForEachStar, ()) {
  // SlowWildcard takes exponential time, so the texts are short.
  constexpr int kLongest = 12;
  const auto wildcard = *rc::gen::resize(
      kLongest,
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', 'b', '*'))));
  const auto text =
      *rc::gen::resize(kLongest, rc::gen::container<std::string>(rc::gen::element('a', 'b')));
  const EventPattern pattern{.path = {"a"},
                             .any_of = {TextTest{TextTest::Kind::kWildcard, wildcard}}};
  RC_ASSERT(Matches(pattern, json{{"a", text}}) == SlowWildcard(wildcard, text));
}

json AnyScalar() {
  return *rc::gen::element<json>(nullptr, true, false, 0, 1, -1.5, "", "a", "ab", "b");
}

/// Returns the plain values to which a path of one name leads.
std::vector<json> Leaves(const json& event, const std::string& name) {
  std::vector<json> leaves;
  if (!event.contains(name)) return leaves;
  const json& value = event[name];
  if (!value.is_structured()) leaves.push_back(value);
  for (const json& element : value.is_array() ? value : json::array()) leaves.push_back(element);
  return leaves;
}

// Fails if: a list matches only if all of its elements match, or booleans are compared as numbers.
RC_GTEST_PROP(EventPatternProperty, AFieldMatchesWhereSomeValueEqualsSomeTest, ()) {
  json event = json::object();
  if (*rc::gen::arbitrary<bool>()) event["a"] = AnyScalar();
  if (*rc::gen::arbitrary<bool>()) event["b"] = json::array({AnyScalar(), AnyScalar()});
  const std::string name = *rc::gen::element<std::string>("a", "b", "c");
  const json wanted = json::array({AnyScalar(), AnyScalar()});
  bool expected = false;
  for (const json& leaf : Leaves(event, name)) {
    expected = expected || leaf == wanted[0] || leaf == wanted[1];
  }
  const json pattern = {{name, wanted}};
  RC_ASSERT(Matches(Read(pattern.dump()), event) == expected);
}

TEST(EventPredicate, OwnTestChoosesWhichListCounts) {
  const json event = {{"a", "x"}};
  const auto predicate = [](const char* value) {
    return EventPredicate{
        .own = {.path = {"a"}, .any_of = {EqualsTest{std::string(value)}}, .all_of = {}},
        .all_of = {},
        .any_of = {}};
  };
  const auto holds = [&](EventPredicate one, bool all, bool any) {
    one.all_of = {predicate("x"), predicate(all ? "x" : "y")};
    one.any_of = {predicate("y"), predicate(any ? "x" : "y")};
    return Holds(one, event);
  };
  for (const bool all : {false, true}) {
    for (const bool any : {false, true}) {
      EXPECT_EQ(holds(predicate("x"), all, any), all);
      EXPECT_EQ(holds(predicate("y"), all, any), any);
    }
  }
  EXPECT_TRUE(Holds(predicate("x"), event));
  EXPECT_FALSE(Holds(predicate("y"), event));
}

TEST(EventPath, NamesHaveDotsBetweenThem) {
  EXPECT_EQ(ParseEventPath("detail.state"), (EventPath{"detail", "state"}));
  EXPECT_EQ(ParseEventPath("source"), EventPath{"source"});
  for (const char* bad : {"", ".", "a.", ".a", "a..b"}) {
    EXPECT_FALSE(ParseEventPath(bad)) << bad;
  }
}

}  // namespace
}  // namespace weir
