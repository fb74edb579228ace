// Every rejection of a limits file: its line, its cause and its advice.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weir/model/entity.h"
#include "weir/model/limits_file.h"
#include "weir/model/testing/refused_file_fixture.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Returns the error message for `text`, parsed as the file f.yaml.
std::string Refusal(std::string_view text) {
  const auto file = ParseLimitsFile(text, "f.yaml");
  return file ? "accepted" : file.error().message;
}

const RefusedFile kRefusedFiles[] = {
    // Texts that are no limits file at all.
    {"Empty", 1, "the file is empty", "namespace: NAME", ""},
    {"OnlyComments", 1, "the file is empty", "namespace: NAME", "# nothing\n"},
    {"OnlyADirective", 2, "not YAML: a line with '%'", "lines of 'key: value'", "# a\n% nonsense"},
    {"List", 1, "the file is a list", "a mapping with namespace, system", "- namespace: n\n"},
    {"Word", 2, "the file is a single value", "a mapping with namespace", "\nhello\n"},
    {"Null", 2, "the file is empty", "a mapping with namespace", "---\n...\n"},
    {"TwoDocuments", 2, "a second document", "one document", "namespace: n\n---\nnamespace: m\n"},
    {"NotYaml", 3, "not YAML: ", "indented alike", "namespace: n\nsystem:\n  limits: a: b\n"},
    {"ColonAtTheEnd", 2, "not YAML: ", "quotes around a value with a colon at its end",
     "namespace: n\nsystem: memory:\n"},
    {"OpenQuote", 2, "not YAML: a quote is never closed", "the same quote",
     "namespace: n\nresources: \"llm\n"},
    {"OpenSingleQuote", 3, "not YAML: a quote is never closed", "the same quote",
     "# \xc3\xa4\nnamespace: n\nresources: &a 'l''m\n\n"},
    {"OpenQuoteAfterAComment", 2, "not YAML: a quote is never closed", "the same quote",
     "namespace: n\nresources: &x # note\n  \"llm\n"},
    {"OpenQuoteAfterATag", 2, "not YAML: a quote is never closed", "the same quote",
     "namespace: n\nresources: !\"l lm\n"},
    {"Unclosed", 2, "not YAML: a '{' is never closed", "a '}'", "namespace: n\nsystem: {limits:\n"},
    {"UnclosedJson", 1, "not YAML: a '{' is never closed", "a '}' after its entries",
     "{\"namespace\":\"default\",\"system\":{\"limits\":{\"rpm\":5}}"},
    {"UnclosedJsonOfLines", 2, "not YAML: a '{' is never closed", "a '}' after its entries",
     "\xef\xbb\xbf# {\r\n{\"namespace\": \"n\",\r\n\"system\": {\"limits\": {\"rpm\": 5}}\r\n"},
    {"UnclosedInnerJson", 2, "not YAML: a '{' is never closed", "a '}' after its entries",
     "{\"namespace\": \"n\",\n\"system\": {\"limits\": {\"rpm\": 5}"},
    {"UnclosedLists", 1, "not YAML: a '[' is never closed", "a ']' after its entries",
     "namespace: [[[["},
    {"UnclosedListInAMapping", 2, "not YAML: a '[' is never closed", "a ']' after its entries",
     "namespace: n\nsystem: {limits: [5}\n"},
    {"UnclosedBeforeOtherKeys", 2, "not YAML: a '{' is never closed", "a '}' after its entries",
     "namespace: n\nsystem: {limits: {rpm: 5}\nresources: {}\n"},
    {"KeyIsAMapping", 2, "a key is a mapping", "a name", "namespace: n\n{a: '{'}: b\n"},
    {"Tab", 3, "not YAML: ", "by spaces", "namespace: n\nsystem:\n\tlimits:\n"},
    {"UnknownAlias", 2, "not YAML: the referenced anchor", "'key: value'",
     "namespace: n\nsystem: *s\n"},
    {"Tagged", 2, "tag 'tag:yaml.org,2002:int'", "the value without a tag",
     "namespace: n\nsystem: {limits: {x: {capacity: !!int 5}}}\n"},
    {"ControlCharacter", 2, "the byte '\\x04'", "text in UTF-8", "namespace: n\nsystem: \x04\n"},
    {"Utf16", 1, "the byte '\\xff'", "text in UTF-8", "\xff\xfenamespace: n"},
    {"KeyIsAList", 2, "a key is a list", "a name", "namespace: n\n? [a]\n: b\n"},
    {"KeyIsNull", 3, "a key is empty", "in quotes",
     "namespace: n\nresources:\n  null: {limits: {x: 5}}\n"},
    {"DuplicateKey", 3, "key 'namespace' appears twice, first on line 1", "each key once",
     "namespace: n\nsystem: {on_unavailable: allow}\nnamespace: m\n"},
    {"DuplicateEntity", 4, "key 'a' appears twice, first on line 3", "each key once",
     "namespace: n\nentities:\n  a: {}\n  \"a\": {}\n"},
    {"DuplicateLimit", 6, "key 'rpm' appears twice, first on line 4", "each key once",
     "namespace: n\nsystem:\n  limits:\n    rpm: 5\n    tpm: 6\n    rpm: 5\n"},

    // Keys.
    {"UnknownKey", 2, "unknown key 'resource' in the file", "'resources'",
     "namespace: n\nresource: {}\n"},
    {"UnknownSystemKey", 2, "unknown key 'onUnavailable' in system", "'on_unavailable'",
     "namespace: n\nsystem: {onUnavailable: allow}\n"},
    {"UnknownResourceKey", 4, "unknown key 'limit' in resource 'llm'", "'limits'",
     "namespace: n\nresources:\n  llm:\n    limit: {x: 5}\n"},
    {"UnknownEntityKey", 3, "unknown key 'Parent' in entity 'e'", "'parent'",
     "namespace: n\nentities:\n  e: {Parent: p}\n"},
    {"UnknownEntityResourceKey", 3, "unknown key 'limtis' in entity 'e', resource 'llm'",
     "'limits'", "namespace: n\nentities:\n  e: {resources: {llm: {limtis: {x: 5}}}}\n"},
    {"UnknownLimitKey", 5, "unknown key 'capcity' in limit 'rpm' of system", "'capacity'",
     "namespace: n\nsystem:\n  limits:\n    rpm:\n      capcity: 5\n"},
    {"UnknownKeyLikeNone", 2, "unknown key 'include' in the file",
     "one of namespace, system, resources, entities", "namespace: n\ninclude: other.yaml\n"},
    {"MergeKey", 3, "unknown key '<<' in entity 'a'", "one of parent, cascade, resources",
     "namespace: n\nentities: {b: &b {},\n a: {<<: *b}}\n"},

    // The namespace and the system.
    {"NoNamespace", 2, "no namespace", "'namespace: NAME'", "\nsystem: {limits: {x: 5}}\n"},
    {"EmptyNamespace", 1, "namespace is empty", "a name", "namespace:\n\n\nsystem: {}\n"},
    {"BadNamespace", 2, "namespace 'a b' has ' ' at position 2", "a letter or digit, then",
     "\nnamespace: a b\n"},
    {"ReservedNamespace", 1, "namespace '_' is reserved", "a letter or digit", "namespace: _\n"},
    {"SystemEmpty", 2, "system is empty", "a mapping with on_unavailable, limits",
     "namespace: n\nsystem:\n\nresources: {}\n"},
    {"SystemWithNothing", 2, "system is empty", "limits, or no system",
     "namespace: n\nsystem: {}\n"},
    {"BadPolicy", 3, "on_unavailable is 'deny'", "allow or block",
     "namespace: n\nsystem:\n  on_unavailable: deny\n"},
    {"PolicyIsAList", 2, "on_unavailable is a list", "allow or block",
     "namespace: n\nsystem: {on_unavailable: [allow]}\n"},

    // Resources and lists of limits.
    {"ResourcesAreAList", 3, "resources is a list", "a mapping of names to limits",
     "namespace: n\nresources:\n  - llm\n"},
    {"ResourcesAreNothing", 2, "resources is empty", "a mapping of names to limits",
     "namespace: n\nresources:\n"},
    {"BadResource", 3, "resource '9x' has '9' at position 1", "a letter, then",
     "namespace: n\nresources:\n  9x: {limits: {x: 5}}\n"},
    {"DefaultResourceForAll", 2, "resource '_default_' means", "a letter, then",
     "namespace: n\nresources: {_default_: {limits: {x: 5}}}\n"},
    {"ResourceWithoutLimits", 3, "resource 'llm' has no limits", "'rpm: 1000/min'",
     "namespace: n\nresources:\n  llm: {}\n"},
    {"NoLimits", 3, "limits of resource 'llm' are empty", "1 to 20 limits",
     "namespace: n\nresources:\n  llm: {limits: {}}\n"},
    {"NullLimits", 4, "limits of resource 'llm' is empty", "1 to 20 limits",
     "namespace: n\nresources:\n  llm:\n    limits:\n\n\n"},
    {"LimitsAreAList", 2, "limits of system is a list", "such as 'rpm: 1000/min'",
     "namespace: n\nsystem: {limits: [rpm]}\n"},
    {"LimitsAreText", 2, "limits of system is a single value", "such as 'rpm: 1000/min'",
     "namespace: n\nsystem: {limits: 'rpm:5'}\n"},
    {"TooManyLimits", 3, "21 limits of system", "at most 20",
     "namespace: n\nsystem:\n  limits: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1,\n"
     "    j: 1, k: 1, l: 1, m: 1, n: 1, o: 1, p: 1, q: 1, r: 1, s: 1, t: 1, u: 1}\n"},
    {"ReservedLimit", 3, "limit name 'wcu' is reserved", "a letter, then",
     "namespace: n\nsystem: {limits: {rpm: 5,\n  wcu: 5}}\n"},
    {"BadLimitName", 2, "limit name 'r pm' has ' ' at position 2", "a letter, then",
     "namespace: n\nsystem: {limits: {r pm: 5}}\n"},

    // Single limits.
    {"LimitIsAList", 2, "limit 'x' of system is a list", "capacity: 1500",
     "namespace: n\nsystem: {limits: {x: [5]}}\n"},
    {"LimitIsNothing", 4, "limit 'x' of system is empty", "'1000/min:1500'",
     "namespace: n\nsystem:\n  limits:\n    x:\n"},
    {"U14ARangeErrorNamesTheLimit", 2, "limit 'x' of system: capacity '-5' is not positive",
     "tokens from 0.001", "namespace: n\nsystem: {limits: {x: {capacity: -5}}}\n"},
    {"U14ATabIsNamed", 3, "not YAML: illegal map value, and the line has a tab", "by spaces",
     "namespace: n\nsystem:\n\tlimits:\n"},
    {"AllowanceTooLong", 2, "limit 'x' of system: allowance '2min' is too long", "at most 1min",
     "namespace: n\nsystem: {limits: {x: {capacity: 5, allowance: 2min}}}\n"},
    {"AllowanceIsAList", 2, "allowance is a list", "a time",
     "namespace: n\nsystem: {limits: {x: {capacity: 5, allowance: [1sec]}}}\n"},
    {"NoCapacity", 3, "limit 'x' of system has no capacity", "capacity: 1500",
     "namespace: n\nsystem: {limits: {y: 5,\n  x: {refill_amount: 5}}}\n"},
    {"ZeroCapacity", 2, "limit 'x' of system: burst or capacity is 0 and the rate is not",
     "a rate of 0 alone", "namespace: n\nsystem: {limits: {x: {capacity: 0, refill_amount: 1}}}\n"},
    {"NegativeAmount", 3, "limit 'x' of system: refill_amount '-1' is not positive",
     "tokens from 0.001",
     "namespace: n\nsystem: {limits: {x: {capacity: 1,\n  refill_amount: -1}}}\n"},
    {"AmountIsText", 2, "limit 'x' of system: refill_amount 'many' is not a number", "such as 1000",
     "namespace: n\nsystem: {limits: {x: {capacity: 1, refill_amount: many}}}\n"},
    {"CapacityIsAList", 2, "limit 'x' of system: capacity is a list", "a number",
     "namespace: n\nsystem: {limits: {x: {capacity: [1]}}}\n"},
    {"CapacityIsNothing", 2, "limit 'x' of system: capacity is empty", "a number",
     "namespace: n\nsystem: {limits: {x: {capacity: }}}\n"},
    {"TooPrecise", 2, "limit 'x' of system: capacity '1.0001' has more than three decimals",
     "up to three decimals", "namespace: n\nsystem: {limits: {x: {capacity: 1.0001}}}\n"},
    {"TooLarge", 2, "limit 'x' of system: burst '1e30' is not a number", "such as 1000",
     "namespace: n\nsystem: {limits: {x: {capacity: 1, burst: 1e30}}}\n"},
    {"FarTooLarge", 2, "limit 'x' of system: burst '99999999999999999999' is too large",
     "to 10000000000000",
     "namespace: n\nsystem: {limits: {x: {capacity: 1, burst: 99999999999999999999}}}\n"},
    {"PeriodIsZero", 2, "limit 'x' of system: refill_period '0.000' is not positive",
     "seconds from 0.001",
     "namespace: n\nsystem: {limits: {x: {capacity: 1, refill_period: 0.000}}}\n"},
    {"PeriodIsTooLong", 2, "limit 'x' of system: refill_period '31622401' is too large",
     "to 31622400",
     "namespace: n\nsystem: {limits: {x: {capacity: 1, refill_period: 31622401}}}\n"},
    {"PeriodHasAUnit", 2, "limit 'x' of system: refill_period '60s' is not a number", "such as 60",
     "namespace: n\nsystem: {limits: {x: {capacity: 1, refill_period: 60s}}}\n"},
    {"BadShortText", 4, "limit 'x' of resource 'llm': period 'minute' has an unknown unit",
     "ms, sec, min, hour or day", "namespace: n\nresources:\n  llm:\n    limits: {x: 5/minute}\n"},
    {"ShortTextWithName", 2, "limit 'x' of system: rate 'x' is not a number", "such as 1000",
     "namespace: n\nsystem: {limits: {x: 'x:5'}}\n"},

    // Entities.
    {"EntitiesAreAList", 2, "entities is a list", "a mapping of ids to entities",
     "namespace: n\nentities: [e]\n"},
    {"BadEntity", 3, "entity id 'a b' has ' ' at position 2", "a letter or digit, then",
     "namespace: n\nentities:\n  a b: {}\n"},
    {"EntityIsNothing", 3, "entity 'e' is empty", "a mapping with parent, cascade, resources",
     "namespace: n\nentities:\n  e:\n  f: {}\n"},
    {"BadEntityResource", 3, "entity 'e', resources is a list", "a mapping of names to limits",
     "namespace: n\nentities:\n  e: {resources: [llm]}\n"},
    {"LimitOfAnEntity", 3, "limit 'x' of entity 'e', resource 'llm': rate '-1' is not positive",
     "tokens from 0.001", "namespace: n\nentities:\n  e: {resources: {llm: {limits: {x: -1}}}}\n"},
    {"ParentIsAMapping", 3, "parent of entity 'e' is a mapping", "the id of an entity",
     "namespace: n\nentities:\n  e: {parent: {p: {}}}\n"},
    {"BadParent", 3, "entity id '#p' has '#' at position 1", "a letter or digit, then",
     "namespace: n\nentities:\n  e: {parent: '#p'}\n"},
    {"BadCascade", 3, "cascade of entity 'e' is 'yes'", "true or false",
     "namespace: n\nentities:\n  e: {parent: p, cascade: yes}\n"},
    {"CascadeIsNothing", 5, "cascade of entity 'e' is empty", "true or false",
     "namespace: n\nentities:\n  e:\n    parent: p\n    cascade:\n"},
    {"CascadeWithoutParent", 4, "entity 'e' cascades and has no parent", "'parent: ID'",
     "namespace: n\nentities:\n  e:\n    cascade: true\n"},
    {"OwnParent", 3, "parents form a cycle: e -> e", "a chain that ends",
     "namespace: n\nentities:\n  e: {parent: e}\n"},
    {"CycleOfParents", 4, "parents form a cycle: b -> d -> c -> b", "a chain that ends",
     "namespace: n\nentities:\n  c: {parent: b}\n  b: {parent: d}\n  d: {parent: c}\n"
     "  a: {parent: c}\n"},
};

class LimitsFileRefuses : public ::testing::TestWithParam<RefusedFile> {};

TEST_P(LimitsFileRefuses, WithLineCauseAndAdvice) {
  const RefusedFile& refused = GetParam();
  const auto file = ParseLimitsFile(refused.text, "dir/f.yaml");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::kInvalidArgument);
  const std::string& message = file.error().message;
  EXPECT_THAT(message, StartsWith(fmt::format("dir/f.yaml:{}: {}", refused.line, refused.what)));
  const std::size_t right = message.find("; expected ");
  ASSERT_NE(right, std::string::npos) << message;
  EXPECT_THAT(message.substr(right), HasSubstr(refused.right));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(All, LimitsFileRefuses, ::testing::ValuesIn(kRefusedFiles),
                         [](const auto& refused) { return refused.param.name; });

TEST(LimitsFileRefusal, TheFileNameCannotBreakTheLine) {
  const auto file = ParseLimitsFile("", "a\nb.yaml");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, StartsWith("a\\x0ab.yaml:1: "));
}

/// Returns a file with entities e0 .. e<n-1>, each the child of the next; the last one is the child
/// of `last_parent`.
std::string Chain(std::size_t n, std::string_view last_parent) {
  std::string text = "namespace: n\nentities:\n";
  for (std::size_t i = 0; i < n; ++i) {
    const std::string next = fmt::format("e{}", i + 1);
    text += fmt::format("  e{}: {{parent: {}, cascade: true}}\n", i,
                        i + 1 < n ? std::string_view(next) : last_parent);
  }
  return text;
}

TEST(LimitsFileBounds, ACascadeReachesEightEntitiesAndNoMore) {
  // The last parent needs no entry of its own, but is charged like the others.
  EXPECT_TRUE(ParseLimitsFile(Chain(kMaxCascade - 1, "top"), "f.yaml"));
  EXPECT_THAT(Refusal(Chain(kMaxCascade, "top")),
              AllOf(StartsWith("f.yaml:3: a request would charge more than 8 entities: "
                               "e0 -> e1 -> "),
                    HasSubstr("-> e7 -> top; expected 'cascade: false'")));
}

TEST(LimitsFileBounds, ALongLineOfParentsIsFineWhereItDoesNotCascade) {
  std::string text = "namespace: n\nentities:\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("  e{}: {{parent: e{}}}\n", i, i + 1);
  EXPECT_TRUE(ParseLimitsFile(text, "f.yaml"));
}

TEST(LimitsFileBounds, AVeryLongCycleIsFoundAtOnceAndToldBriefly) {
  const std::string message = Refusal(Chain(20'000, "e0"));
  EXPECT_THAT(message, AllOf(StartsWith("f.yaml:3: parents form a cycle: e0 -> e1 -> e2"),
                             HasSubstr("(20000 in all)")));
  EXPECT_LT(message.size(), 1000U);
}

TEST(LimitsFileBounds, SizeIsBounded) {
  EXPECT_THAT(Refusal(std::string((16 << 20) + 1, '\n')),
              StartsWith("f.yaml:1: the file has 16777217 bytes; expected at most 16777216"));
}

TEST(LimitsFileBounds, NestingIsBounded) {
  std::string text = "namespace: n\nsystem: ";
  for (int i = 0; i < 100'000; ++i) text += "[";
  EXPECT_THAT(Refusal(text), StartsWith("f.yaml:2: "));
  text = "namespace: n\nsystem:\n";
  for (int i = 1; i < 100; ++i) text += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(Refusal(text), StartsWith("f.yaml:34: nested more than 32 deep; expected"));
}

TEST(LimitsFileBounds, WhatYamlKeepsInMemoryUntilABracketClosesIsBounded) {
  std::string text = "{namespace: n,\nsystem: {limits: {\n";
  for (int i = 0; i < 120'000; ++i) text += fmt::format("k{}: 5,\n", i);
  EXPECT_THAT(Refusal(text + "}}}"),
              AllOf(StartsWith("f.yaml:"), HasSubstr("more than 1048576 bytes without an entry; "
                                                     "expected block style")));
}

TEST(LimitsFileBounds, AliasesThatUnfoldToFarTooManyLimitsAreRefused) {
  std::string text =
      "namespace: n\nentities:\n  e: &e {resources: &r\n    {r0: &l {limits: {x: 5}}";
  for (int i = 1; i < 2000; ++i) text += fmt::format(",\n    r{}: *l", i);
  text += "}}\n";
  for (int i = 0; i < 2000; ++i) text += fmt::format("  e{}: *e\n", i);
  EXPECT_THAT(Refusal(text), HasSubstr("more than 1000000 limits in all; expected fewer"));
}

TEST(LimitsFileBounds, ANodeThatContainsItselfIsRefused) {
  EXPECT_THAT(Refusal("namespace: n\nentities: &e\n  a: *e\n"),
              StartsWith("f.yaml:3: unknown key 'a' in entity 'a'"));
  EXPECT_THAT(Refusal("&f\nnamespace: n\nsystem: *f\n"),
              StartsWith("f.yaml:2: unknown key 'namespace' in system"));
}

}  // namespace
}  // namespace weir
