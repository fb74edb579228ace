// Every error of a file of rules: its line, its cause and its advice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weir/events/event_rules.h"
#include "weir/model/testing/refused_file_fixture.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A file with one rule, on line 2, with this pattern or predicate.
#define IN_RULE(text) "rules:\n - {source: s, id: i, " text "}"

const RefusedFile kRefused[] = {
    {"Empty", 1, "the file is empty", "'rules:'", ""},
    {"List", 1, "the file is a list", "a mapping with rules", "[a]"},
    {"UnknownKey", 1, "unknown key 'rule' in the file", "'rules'", "rule: []"},
    {"NoRules", 1, "rules are empty", "- {source: aws.emr", "rules: []"},
    {"RulesAreAMapping", 1, "rules is a mapping", "a list of rules", "rules: {a: b}"},
    {"NoYaml", 2, "not YAML", "key: value", "rules:\n [}"},

    {"RuleIsAWord", 2, "rule 1 is a single value", "a mapping with source", "rules:\n - x"},
    {"UnknownKeyOfRule", 2, "unknown key 'sources' in rule 1", "'source'",
     "rules:\n - {sources: s, id: i}"},
    {"NoSource", 3, "rule 2 has no source", "source: aws.emr",
     "rules:\n - {source: s, id: i}\n - {id: i}"},
    {"SourceIsEmpty", 2, "rule 1, source is empty", "aws.emr", "rules:\n - {source: '', id: i}"},
    {"SourceIsAList", 2, "rule 1, source is a list", "aws.emr", "rules:\n - {source: [s], id: i}"},
    {"NoId", 2, "rule 1 has no id", "id: detail.clusterId", "rules:\n - {source: s}"},
    {"IdIsNoPath", 2, "rule 1, id: path 'a..b': a name is empty", "dots between",
     "rules:\n - {source: s, id: a..b}"},
    {"TypeIsBlank", 2, "rule 1, detail-type is empty", "EMR Cluster", IN_RULE("detail-type: ' '")},

    {"PatternIsAList", 2, "rule 1, pattern is a list", "a mapping such as",
     IN_RULE("pattern: [a]")},
    {"PatternIsEmpty", 2, "rule 1, pattern is empty", "a mapping such as", IN_RULE("pattern: {}")},
    {"TestsAreAWord", 2, "rule 1, pattern, 'a.b' is a single value", "a list such as [",
     IN_RULE("pattern: {a.b: DONE}")},
    {"TestsAreEmpty", 2, "rule 1, pattern, 'a' is empty", "a list such as [",
     IN_RULE("pattern: {a: []}")},
    {"TestIsAList", 2, "rule 1, pattern, 'a' is a list", "a text, a number",
     IN_RULE("pattern: {a: [[x]]}")},
    {"PathOfField", 2, "rule 1, pattern, 'a.': path 'a.'", "dots between",
     IN_RULE("pattern: {a.: [x]}")},
    {"UnknownTest", 2, "unknown key 'prefx' in rule 1, pattern, 'a'", "'prefix'",
     IN_RULE("pattern: {a: [{prefx: x}]}")},
    {"TwoTestsInOne", 2, "rule 1, pattern, 'a': 2 tests in one", "one in each",
     IN_RULE("pattern: {a: [{prefix: x, suffix: y}]}")},
    {"NoTestInOne", 2, "rule 1, pattern, 'a': 0 tests in one", "one in each",
     IN_RULE("pattern: {a: [{}]}")},
    {"ExistsOfWord", 2, "'a', exists is neither true nor false", "one of them",
     IN_RULE("pattern: {a: [{exists: maybe}]}")},
    {"PrefixOfNothing", 2, "'a', prefix is empty", "a text",
     IN_RULE("pattern: {a: [{prefix: ''}]}")},
    {"PrefixOfList", 2, "'a', prefix is a list", "a text",
     IN_RULE("pattern: {a: [{prefix: [x]}]}")},
    {"AnythingButNothing", 2, "'a', anything-but is empty", "a text, a number",
     IN_RULE("pattern: {a: [{anything-but: []}]}")},
    {"AnythingButUnknown", 2, "unknown key 'exists' in rule 1, pattern, 'a', anything-but",
     "one of prefix", IN_RULE("pattern: {a: [{anything-but: {exists: true}}]}")},
    {"AnythingButTwo", 2, "'a', anything-but needs exactly one test", "{prefix: job-}",
     IN_RULE("pattern: {a: [{anything-but: {prefix: x, suffix: y}}]}")},
    {"NumericOfOne", 2, "'a', numeric has 1 parts", R"([">", 0)",
     IN_RULE("pattern: {a: [{numeric: [5]}]}")},
    {"NumericOperator", 2, "'a', numeric: operator '!='", R"("=", "<")",
     IN_RULE("pattern: {a: [{numeric: ['!=', 5]}]}")},
    {"NumericOfText", 2, "'a', numeric: no number: '5'", R"([">", 0)",
     IN_RULE("pattern: {a: [{numeric: ['<', '5']}]}")},
    {"OrIsAMapping", 2, "'$or' is a mapping", "a list of patterns",
     IN_RULE("pattern: {$or: {a: [x]}}")},
    {"OrIsEmpty", 2, "'$or' is empty", "a list of patterns", IN_RULE("pattern: {$or: []}")},
    {"OrOfNothing", 2, "'$or', choice is empty", "a mapping such as",
     IN_RULE("pattern: {$or: [{}]}")},

    {"WhenWithoutPath", 2, "rule 1, when has no path", "path: detail.state",
     IN_RULE("when: {equals: x}")},
    {"WhenWithoutTest", 2, "rule 1, when needs exactly one of equals and matches",
     "'matches: [...]'", IN_RULE("when: {path: a}")},
    {"WhenWithBoth", 2, "rule 1, when needs exactly one of equals and matches", "'matches: [...]'",
     IN_RULE("when: {path: a, equals: x, matches: [x]}")},
    {"WhenWithUnknownKey", 2, "unknown key 'ands' in rule 1, when", "'and'",
     IN_RULE("when: {path: a, equals: x, ands: []}")},
    {"EqualsAList", 2, "rule 1, when, equals is a list", "a text, a number",
     IN_RULE("when: {path: a, equals: [x]}")},
    {"AndIsEmpty", 2, "rule 1, when, and is empty", "a list of predicates",
     IN_RULE("when: {path: a, equals: x, and: []}")},
    {"OrIsAWord", 2, "rule 1, when, or is a single value", "a list of predicates",
     IN_RULE("when: {path: a, equals: x, or: y}")},
    {"WithinAnd", 2, "rule 1, when, and has no path", "path: detail.state",
     IN_RULE("when: {path: a, equals: x, and: [{equals: x}]}")},

    {"PatternWithinItself", 2, "aliases unfold to too many parts", "fewer aliases",
     IN_RULE("pattern: &p {a: *p}")},
    {"PredicateWithinItself", 2, "aliases unfold to too many parts", "fewer aliases",
     IN_RULE("when: &w {path: a, equals: x, and: [*w]}")},
};

class EventRulesRefusal : public testing::TestWithParam<RefusedFile> {};

TEST_P(EventRulesRefusal, NamesLineCauseAndAdvice) {
  const RefusedFile& refused = GetParam();
  const auto rules = ReadEventRules(refused.text, "f.yaml");
  ASSERT_FALSE(rules);
  EXPECT_EQ(rules.error().code, Code::kInvalidArgument);
  EXPECT_THAT(rules.error().message,
              AllOf(StartsWith("f.yaml:" + std::to_string(refused.line) + ": "),
                    HasSubstr(refused.what), HasSubstr("expected"), HasSubstr(refused.right)));
}

INSTANTIATE_TEST_SUITE_P(All, EventRulesRefusal, testing::ValuesIn(kRefused),
                         [](const auto& one) { return std::string(one.param.name); });

// Each level has ten aliases of the level before: 10^8 parts.
TEST(EventRulesAliases, AreBoundedInWhatTheyUnfoldTo) {
  std::string text = "rules:\n - source: s\n   id: i\n   pattern:\n     a0: &a0 [x]\n";
  for (int level = 1; level <= 8; ++level) {
    text += "     a" + std::to_string(level) + ": &a" + std::to_string(level) + " {";
    for (char key = 'a'; key < 'k'; ++key) {
      text += std::string(1, key) + ": *a" + std::to_string(level - 1) + ", ";
    }
    text += "}\n";
  }
  const auto rules = ReadEventRules(text, "f.yaml");
  ASSERT_FALSE(rules);
  EXPECT_THAT(rules.error().message, HasSubstr("aliases unfold to too many parts"));
}

}  // namespace
}  // namespace weir
