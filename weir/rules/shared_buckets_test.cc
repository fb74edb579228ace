// Which rules may have one bucket.
#include "weir/rules/shared_buckets.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "weir/rules/rules_file.h"

namespace weir::rules {
namespace {

using ::testing::HasSubstr;

struct TwoRules {
  const char* name;
  const char* first;  ///< one line each
  const char* second;
};

std::ostream& operator<<(std::ostream& out, const TwoRules& rules) { return out << rules.name; }

std::string NameOfRules(const ::testing::TestParamInfo<TwoRules>& info) { return info.param.name; }

std::string ResultOf(std::string_view first, std::string_view second) {
  const auto set = ParseRules(
      fmt::format("domains:\n  edge:\n    rules:\n      - {}\n      - {}\n", first, second),
      "f.yaml");
  return set ? "accepted" : set.error().message;
}

const TwoRules kConflicts[] = {
    {"Values", R"({match: user, entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: tenant, entity: "{tenant}", resource: r, limits: {r: 2}})"},
    {"TextThatAValueCanHave", R"({match: user, entity: "u:{user}", resource: r, limits: {r: 1}})",
     R"({match: tenant, entity: "{tenant}", resource: r, limits: {r: 2}})"},
    {"TextAtOtherEnds", R"({match: user, entity: "u:{user}", resource: r, limits: {r: 1}})",
     R"({match: tenant, entity: "{tenant}:t", resource: r, limits: {r: 2}})"},
    {"ALongerStart", R"({match: user, entity: "u:{user}", resource: r, limits: {r: 1}})",
     R"({match: tenant, entity: "u:t:{tenant}", resource: r, limits: {r: 2}})"},
    {"SameText", R"({match: user, entity: x, resource: r, limits: {r: 1}})",
     R"({match: tenant, entity: x, resource: r, limits: {r: 2}})"},
    {"AnExactValueOfAny", R"({match: {user: bob}, entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: tenant, entity: "{tenant}", resource: r, limits: {r: 2}})"},
    {"AResourceOfAnyValue", R"({match: path, entity: x, resource: "{path}", limits: {r: 1}})",
     R"({match: tenant, entity: x, resource: r, limits: {r: 2}})"},
    {"TwoResourcesOfAnyValue", R"({match: path, entity: x, resource: "{path}", limits: {r: 1}})",
     R"({match: [tenant, path], entity: x, resource: "a/{path}", limits: {r: 2}})"},
    {"ALongerPrefix", R"({match: {user: "a*"}, entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: {tenant: "a.*"}, entity: "{tenant}", resource: r, limits: {r: 2}})"},
    {"APrefixThatEndsInADot",
     R"({match: {user: "a.*"}, entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: {tenant: a.b}, entity: "{tenant}", resource: r, limits: {r: 2}})"},
    {"AnotherEntryDiffers",
     R"({match: [{tier: gold}, user], entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: [{tier: free}, user], entity: "{user}", resource: r, limits: {r: 2}})"},
    {"AnotherEntryIsWider",
     R"({match: [{tier: "x*"}, user], entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: [{tier: x}, user], entity: "{user}", resource: r, limits: {r: 2}})"},
    {"OtherNamesOfLimits", R"({match: user, entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: tenant, entity: "{tenant}", resource: r, limits: {s: 1}})"},
    {"MoreLimits", R"({match: user, entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: tenant, entity: "{tenant}", resource: r, limits: {r: 1, s: 1}})"},
};

class ConflictingRulesTest : public ::testing::TestWithParam<TwoRules> {};
TEST_P(ConflictingRulesTest, AreRefusedWithBothLines) {
  for (const bool swapped : {false, true}) {
    const auto& [name, first, second] = GetParam();
    const std::string result = swapped ? ResultOf(second, first) : ResultOf(first, second);
    EXPECT_THAT(result, HasSubstr("f.yaml:5: the rule can have a bucket of the rule on line 4, "
                                  "which has other limits; expected the same limits"));
  }
}
INSTANTIATE_TEST_SUITE_P(Rules, ConflictingRulesTest, ::testing::ValuesIn(kConflicts), NameOfRules);

const TwoRules kNoConflicts[] = {
    {"TheSameLimits", R"({match: user, entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: tenant, entity: "{tenant}", resource: r, limits: {r: 1}})"},
    {"OtherStarts", R"({match: user, entity: "u:{user}", resource: r, limits: {r: 1}})",
     R"({match: tenant, entity: "t:{tenant}", resource: r, limits: {r: 2}})"},
    {"OtherEnds", R"({match: user, entity: "{user}:u", resource: r, limits: {r: 1}})",
     R"({match: tenant, entity: "{tenant}:t", resource: r, limits: {r: 2}})"},
    {"OtherResources", R"({match: user, entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: tenant, entity: "{tenant}", resource: s, limits: {r: 2}})"},
    {"AResourceThatIsLonger", R"({match: user, entity: x, resource: "r/{user}/r", limits: {r: 1}})",
     R"({match: tenant, entity: x, resource: r/r, limits: {r: 2}})"},
    {"OtherExactValues", R"({match: {user: bob}, entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: {tenant: b}, entity: "{tenant}", resource: r, limits: {r: 2}})"},
    {"OtherPrefixes", R"({match: {user: "a*"}, entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: {tenant: "b*"}, entity: "{tenant}", resource: r, limits: {r: 2}})"},
    {"AnExactValueOfTheSameKey", R"({match: user, entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: {user: bob}, entity: "{user}", resource: r, limits: {r: 2}})"},
    {"AnExactValueBesideTheSame",
     R"({match: [{tier: gold}, user], entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: [{tier: gold}, {user: bob}], entity: "{user}", resource: r, limits: {r: 2}})"},
    {"AnExactValueBesideAnyValue",
     R"({match: [tier, user], entity: "{user}", resource: r, limits: {r: 1}})",
     R"({match: [tier, {user: bob}], entity: "{user}", resource: r, limits: {r: 2}})"},
    {"NoTemplates", R"({match: user, limits: {r: 1}})", R"({match: tenant, limits: {r: 2}})"},
    {"OnlyOneTemplate", R"({match: user, limits: {r: 1}})",
     R"({match: tenant, entity: "{tenant}", resource: edge, limits: {r: 2}})"},
    {"LimitsOfLevels", R"({match: user, entity: "{user}", resource: r, amounts: {r: 1}})",
     R"({match: tenant, entity: "{tenant}", resource: r, amounts: {s: 1}})"},
};

class RulesWithoutConflictTest : public ::testing::TestWithParam<TwoRules> {};
TEST_P(RulesWithoutConflictTest, AreAccepted) {
  EXPECT_EQ(ResultOf(GetParam().first, GetParam().second), "accepted");
  EXPECT_EQ(ResultOf(GetParam().second, GetParam().first), "accepted");
}
INSTANTIATE_TEST_SUITE_P(Rules, RulesWithoutConflictTest, ::testing::ValuesIn(kNoConflicts),
                         NameOfRules);

TEST(SharedBucketsTest, RulesOfTwoDomainsMayHaveOneBucket) {
  EXPECT_TRUE(ParseRules(R"(domains:
  a: {rules: [{match: user, entity: "{user}", resource: r, limits: {r: 1}}]}
  b: {rules: [{match: user, entity: "{user}", resource: r, limits: {r: 2}}]}
)",
                         "f.yaml"));
}

/// Returns a file with 20,000 such rules; {0} is the number of the rule.
std::string FileOfMany(std::string_view rule) {
  std::string text = "domains:\n  edge:\n    rules:\n";
  for (int i = 0; i < 20'000; ++i) text += "      - " + fmt::format(fmt::runtime(rule), i) + '\n';
  return text;
}

TEST(SharedBucketsTest, ManyRulesAreComparedIfFewOfThemAreAlike) {
  for (const char* rule :
       {R"({{match: {{user: u{0}}}, entity: "{{user}}", resource: r, limits: {{r: 1{0}}}}})",
        R"({{match: [p{0}, user], entity: "{{user}}", resource: r{0}, limits: {{r: 1{0}}}}})",
        R"({{match: [p{0}, user], entity: "p{0}:{{user}}", resource: r, limits: {{r: 1{0}}}}})",
        R"({{match: [p{0}, user], entity: "p{0}:x", resource: "{{user}}", limits: {{r: 1{0}}}}})",
        R"({{match: [{{p: x{0}}}, user], entity: "{{user}}", resource: r, limits: {{r: 1}}}})"}) {
    const auto set = ParseRules(FileOfMany(rule), "f.yaml");
    EXPECT_TRUE(set) << (set ? "" : set.error().message);
  }
}

TEST(SharedBucketsTest, TooManyRulesThatBeginAlikeAreRefused) {
  const auto set = ParseRules(
      FileOfMany(
          R"({{match: [p{0}, user], entity: "{{user}}:{0}", resource: r, limits: {{r: 1{0}}}}})"),
      "f.yaml");
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().message, HasSubstr("more than 50000000 pairs of rules, such as that on"));
  EXPECT_THAT(set.error().message, HasSubstr("expected different fixed text at their start"));
}

}  // namespace
}  // namespace weir::rules
