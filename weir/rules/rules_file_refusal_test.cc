// Every rejection of a rules file: its line, its cause and its advice.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weir/model/testing/refused_file_fixture.h"
#include "weir/rules/rules_file.h"

namespace weir::rules {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string RefusalOf(std::string_view text) {
  const auto set = ParseRules(text, "f.yaml");
  return set ? "accepted" : set.error().message;
}

/// Returns a file whose line 4 is `rule`.
std::string FileWith(std::string_view rule) {
  return fmt::format("domains:\n  edge:\n    rules:\n      - {}\n", rule);
}

const RefusedFile kRefusedRulesFiles[] = {
    {"Empty", 1, "the file is empty", "domains", ""},
    {"List", 1, "the file is a list", "a mapping with domains", "- a\n"},
    {"NoDomains", 1, "no domains", "domains: {edge", "{}\n"},
    {"UnknownKey", 1, "unknown key 'domain'", "'domains'", "domain: {}\n"},
    {"NoRules", 2, "domain 'edge' has no rules", "rules: [...]", "domains:\n  edge: {}\n"},
    {"DomainTwice", 3, "key 'edge' appears twice", "each key once",
     "domains:\n  edge: {rules: []}\n  edge: {rules: []}\n"},
    {"EmptyDomain", 2, "domain '' is empty", "", "domains:\n  \"\": {rules: []}\n"},
    {"RulesAreNoList", 2, "rules of domain 'edge' is a mapping", "a list of rules",
     "domains:\n  edge: {rules: {}}\n"},
    {"SamePattern", 5, "the pattern of the rule on line 4", "one rule for each pattern",
     "domains:\n  edge:\n    rules:\n      - {match: a, limits: {r: 1}}\n"
     "      - {match: {a: \"*\"}, limits: {r: 2}}\n"},
    {"ReplacesTheNameOfBoth", 4, "the rule replaces its own name 'x'", "names of other rules",
     "domains:\n  edge:\n    rules:\n"
     "      - {match: a, limits: {r: 1}, name: x, replaces: [x]}\n"
     "      - {match: b, limits: {r: 1}, name: x, replaces: [x]}\n"},
    {"ReplaceEachOther", 5, "the rules 'x', 'y' replace each other in a cycle",
     "a rule that none of the others replaces, such as 'x'",
     "domains:\n  edge:\n    rules:\n"
     "      - {match: a, limits: {r: 1}, name: x, replaces: [y]}\n"
     "      - {match: b, limits: {r: 1}, name: y, replaces: [x]}\n"},
    // The cycle is x, z, y: 'a' is outside of it, and another rule of the name 'z' closes it.
    {"ReplaceEachOtherInACycle", 8, "the rules 'x', 'z', 'y' replace each other in a cycle",
     "such as 'x'",
     "domains:\n  edge:\n    rules:\n"
     "      - {match: a, limits: {r: 1}, name: a, replaces: [x]}\n"
     "      - {match: b, limits: {r: 1}, name: x, replaces: [z]}\n"
     "      - {match: c, limits: {r: 1}, name: z}\n"
     "      - {match: d, limits: {r: 1}, name: z, replaces: [y]}\n"
     "      - {match: e, limits: {r: 1}, name: y, replaces: [x]}\n"},
    {"UnknownReplaces", 4, "the rule replaces 'x'", "the name of a rule of the same domain",
     "domains:\n  edge:\n    rules:\n      - {match: a, limits: {r: 1}, replaces: [x]}\n"},
};

const RefusedFile kRefusedRules[] = {
    {"UnknownRuleKey", 4, "unknown key 'limit' in a rule", "'limits'", "{match: a, limit: {r: 1}}"},
    {"NoMatch", 4, "a rule without match", "match: {user", "{limits: {r: 1}}"},
    {"EmptyMatch", 4, "match has 0 entries", "1 to 16", "{match: [], limits: {r: 1}}"},
    {"LongMatch", 4, "match has 17 entries", "1 to 16",
     "{match: [a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a], limits: {r: 1}}"},
    {"TwoKeys", 4, "an entry with 2 keys", "a list, as entries have an order",
     "{match: {a: x, b: y}, limits: {r: 1}}"},
    {"EmptyKey", 4, "key '' is empty", "", "{match: \"\", limits: {r: 1}}"},
    {"EmptyValue", 4, "the value of 'a' is empty", "the key alone for any value",
     "{match: {a: \"\"}, limits: {r: 1}}"},
    {"NullValue", 4, "the value of 'a' is empty", "the key alone for any value",
     "{match: {a: }, unlimited: true}"},
    {"NullValueInAList", 4, "the value of 'b' is empty", "the key alone for any value",
     "{match: [a, {b: ~}], unlimited: true}"},
    {"TwoStars", 4, "the value of 'a' is '*x*'", "one '*' at the end",
     "{match: {a: \"*x*\"}, limits: {r: 1}}"},
    {"FirstStar", 4, "the value of 'a' is '*x'", "one '*' at the end",
     "{match: {a: \"*x\"}, limits: {r: 1}}"},
    {"ValueWithKey", 4, "unknown key 'prefix'", "exact",
     "{match: {a: {prefix: x}}, limits: {r: 1}}"},
    {"ControlCharacter", 4, "value 'x\\x01y' has", "", "{match: {a: \"x\\x01y\"}, limits: {r: 1}}"},
    {"NothingToCharge", 4, "a rule without limits and amounts", "'unlimited: true'", "{match: a}"},
    {"NoBucket", 4, "a rule without limits and entity", "entity and resource, which have limits",
     "{match: a, amounts: {r: 1}}"},
    {"OnlyEntity", 4, "only one of entity and resource", "both of them",
     "{match: a, limits: {r: 1}, entity: \"{a}\"}"},
    {"UnknownTemplateKey", 4, "the template names 'b', which the pattern does not have",
     "a key that the pattern has once", "{match: a, limits: {r: 1}, entity: \"{b}\", resource: r}"},
    {"ForeignAmount", 4, "an amount of 'x'", "a limit that the rule has",
     "{match: a, limits: {r: 1}, amounts: {x: 1}}"},
    {"NegativeAmount", 4, "amount of r", "", "{match: a, limits: {r: 1}, amounts: {r: -1}}"},
    {"AmountOverTheCapacity", 4, "a hit takes 2 of 'r', and its bucket holds 1: no request",
     "'charge: always'", "{match: a, limits: {r: 1}, amounts: {r: 2}}"},
    {"HitOverTheCapacity", 4, "a hit takes 1 of 'r', and its bucket holds 0.5: no request",
     "an amount that fits", "{match: a, limits: {r: 0.5/min}}"},
    {"AmountOverWhatAnAllowanceLeaves", 4, "takes 800 of 'r', and its bucket holds 500", "fits",
     "{match: a, limits: {r: 1000/sec~500ms}, amounts: {r: 800}}"},
    {"NoAmounts", 4, "amounts of 0 limits", "1 to 20", "{match: a, limits: {r: 1}, amounts: {}}"},
    {"BadLimit", 4, "limit 'r' of rule 'edge/a=*'", "", "{match: a, limits: {r: x}}"},
    {"UnlimitedWithLimits", 4, "an unlimited rule with limits", "one of the two",
     "{match: a, unlimited: true, limits: {r: 1}}"},
    {"UnlimitedWithShadow", 4, "an unlimited rule with shadow", "one of the two",
     "{match: a, unlimited: true, shadow: true}"},
    {"BadTruth", 4, "shadow is 'yes'", "true or false", "{match: a, limits: {r: 1}, shadow: yes}"},
    {"BadCharge", 4, "charge is 'never'", "admitted or always",
     "{match: a, limits: {r: 1}, charge: never}"},
    {"ShareWithEntity", 4, "share and entity", "an entity without the key",
     "{match: a, limits: {r: 1}, share: true, entity: x, resource: r}"},
    {"ShareOfExact", 4, "share has 'a'", "a key of match without value",
     "{match: {a: x}, limits: {r: 1}, share: [a]}"},
    {"ReplacesIsText", 4, "replaces is a single value", "a list of names",
     "{match: a, limits: {r: 1}, replaces: x}"},
    {"ReplacesItself", 4, "the rule replaces its own name 'x'", "names of other rules",
     "{match: a, limits: {r: 1}, name: x, replaces: [x]}"},
    {"ReplacesItsDefaultName", 4, "the rule replaces its own name 'edge/a=*'",
     "names of other rules", "{match: a, limits: {r: 1}, replaces: [\"edge/a=*\"]}"},
    {"EmptyName", 4, "rule name '' is empty", "", "{match: a, limits: {r: 1}, name: \"\"}"},
};

std::string NameOfCase(const ::testing::TestParamInfo<RefusedFile>& info) {
  return info.param.name;
}

class RefusedRulesFileTest : public ::testing::TestWithParam<RefusedFile> {};
TEST_P(RefusedRulesFileTest, NamesTheLineTheFaultAndTheRemedy) {
  const RefusedFile& file = GetParam();
  EXPECT_THAT(RefusalOf(file.text),
              AllOf(StartsWith(fmt::format("f.yaml:{}: ", file.line)), HasSubstr(file.what),
                    HasSubstr("expected"), HasSubstr(file.right)));
}
INSTANTIATE_TEST_SUITE_P(Files, RefusedRulesFileTest, ::testing::ValuesIn(kRefusedRulesFiles),
                         NameOfCase);

class RefusedRuleTest : public ::testing::TestWithParam<RefusedFile> {};
TEST_P(RefusedRuleTest, NamesTheLineTheFaultAndTheRemedy) {
  const RefusedFile& rule = GetParam();
  EXPECT_THAT(RefusalOf(FileWith(rule.text)),
              AllOf(StartsWith(fmt::format("f.yaml:{}: ", rule.line)), HasSubstr(rule.what),
                    HasSubstr("expected"), HasSubstr(rule.right)));
}
INSTANTIATE_TEST_SUITE_P(Rules, RefusedRuleTest, ::testing::ValuesIn(kRefusedRules), NameOfCase);

// Fails if: rules count as a cycle that reach one rule by two ways, or are in two domains.
TEST(RulesFileReplaces, RulesThatDoNotReplaceEachOtherAreAccepted) {
  EXPECT_EQ(RefusalOf("domains:\n  edge:\n    rules:\n"
                      "      - {match: a, limits: {r: 1}, name: a, replaces: [b, c, d]}\n"
                      "      - {match: b, limits: {r: 1}, name: b, replaces: [d]}\n"
                      "      - {match: c, limits: {r: 1}, name: c, replaces: [b, d]}\n"
                      "      - {match: d, limits: {r: 1}, name: d}\n"
                      "  other:\n    rules:\n"
                      "      - {match: a, limits: {r: 1}, name: a}\n"
                      "      - {match: d, limits: {r: 1}, name: d, replaces: [a]}\n"),
            "accepted");
}

// Fails if: a long path of rules ends the process, or makes a long message.
TEST(RulesFileReplaces, ALongCycleIsNamedInOneLine) {
  std::string text = "domains:\n  edge:\n    rules:\n";
  for (int i = 0; i < 50'000; ++i) {
    text += fmt::format("      - {{match: k{}, unlimited: true, name: n{}, replaces: [n{}]}}\n", i,
                        i, (i + 1) % 50'000);
  }
  const std::string refusal = RefusalOf(text);
  EXPECT_THAT(refusal, AllOf(StartsWith("f.yaml:50003: the rules 'n0', 'n1', 'n2', "),
                             HasSubstr(", 'n7' and 49992 more replace each other")));
  EXPECT_LT(refusal.size(), 1'000U);
}

TEST(RulesFileBounds, AliasesThatUnfoldToTooManyRulesAreRefused) {
  std::string text = "domains:\n  d: {rules: &r [&x {match: a, unlimited: true}";
  for (int i = 1; i < 1000; ++i) text += fmt::format(",\n    {{match: a{}, unlimited: true}}", i);
  text += "]}\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("  d{}: {{rules: *r}}\n", i);
  EXPECT_THAT(RefusalOf(text), HasSubstr("more than 100000 rules; expected fewer"));
}

TEST(RulesFileBounds, AliasesThatUnfoldToTooManyBytesAreRefused) {
  std::string text = fmt::format("domains:\n  d: {{rules: &r [{{unlimited: true, match: &m [");
  for (int i = 0; i < 16; ++i) text += fmt::format("\n    {{a: {}}},", std::string(1024, 'x'));
  text += "]}";
  for (int i = 0; i < 99; ++i) text += ",\n    {unlimited: true, match: *m}";
  text += "]}\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("  d{}: {{rules: *r}}\n", i);
  EXPECT_THAT(RefusalOf(text), HasSubstr("more than 67108864 bytes of texts"));
}

}  // namespace
}  // namespace weir::rules
