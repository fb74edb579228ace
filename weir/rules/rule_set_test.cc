// Which rule a descriptor has, and which bucket.
#include "weir/rules/rule_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/model/identifier.h"
#include "weir/rules/rules_file.h"

namespace weir::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Entries = std::vector<DescriptorEntry>;

RuleSet ReadRules(std::string_view text) {
  auto set = ParseRules(text, "f.yaml");
  EXPECT_TRUE(set) << (set ? "" : set.error().message);
  return set ? std::move(*set) : RuleSet();
}

/// Returns rules of the domain `edge`, one from each line of `rules`.
RuleSet EdgeRules(std::string_view rules) {
  return ReadRules(std::string("domains:\n  edge:\n    rules:\n") + std::string(rules));
}

std::string NameFor(const RuleSet& set, const Entries& entries) {
  const auto match = set.Find("edge", entries);
  return match ? match->rule->name : "none";
}

std::string BucketOf(const RuleSet& set, const Entries& entries) {
  const auto match = set.Find("edge", entries);
  if (!match) return "none";
  if (!CheckEntityId(match->entity) || !CheckResource(match->resource)) return "invalid id";
  return match->entity + " | " + match->resource;
}

TEST(RuleSetTest, AnExactValueComesBeforeALongerAndAShorterPrefix) {
  const RuleSet set = EdgeRules(R"(
      - {match: user, name: any, limits: {r: 1}}
      - {match: {user: "a*"}, name: short, limits: {r: 1}}
      - {match: {user: "alice*"}, name: long, limits: {r: 1}}
      - {match: {user: alice}, name: exact, limits: {r: 1}}
  )");
  EXPECT_EQ(NameFor(set, {{"user", "alice"}}), "exact");
  EXPECT_EQ(NameFor(set, {{"user", "alice2"}}), "long");
  EXPECT_EQ(NameFor(set, {{"user", "anna"}}), "short");
  EXPECT_EQ(NameFor(set, {{"user", "bob"}}), "any");
  EXPECT_EQ(NameFor(set, {{"user", ""}}), "any");
}

TEST(RuleSetTest, APatternHasTheKeysOfTheDescriptorInItsOrder) {
  const RuleSet set = EdgeRules(R"(
      - {match: [{path: /api}, user], name: two, limits: {r: 1}}
  )");
  EXPECT_EQ(NameFor(set, {{"path", "/api"}, {"user", "x"}}), "two");
  EXPECT_EQ(NameFor(set, {{"user", "x"}, {"path", "/api"}}), "none");
  EXPECT_EQ(NameFor(set, {{"path", "/api"}}), "none");
  EXPECT_EQ(NameFor(set, {{"path", "/api"}, {"user", "x"}, {"user", "x"}}), "none");
  EXPECT_EQ(NameFor(set, {}), "none");
  EXPECT_FALSE(set.Find("other", Entries{{"path", "/api"}, {"user", "x"}}));
}

TEST(RuleSetTest, ALessSpecificEntryIsTriedIfTheMoreSpecificOneHasNoCompleteRule) {
  const RuleSet set = EdgeRules(R"(
      - {match: [{path: /api}, {user: alice}], name: exact, limits: {r: 1}}
      - {match: [{path: "/*"}, user], name: prefix, limits: {r: 1}}
  )");
  EXPECT_EQ(NameFor(set, {{"path", "/api"}, {"user", "alice"}}), "exact");
  EXPECT_EQ(NameFor(set, {{"path", "/api"}, {"user", "bob"}}), "prefix");
}

TEST(RuleSetTest, TheFirstEntryDecidesWhichPatternIsMoreSpecific) {
  const RuleSet set = EdgeRules(R"(
      - {match: [{path: "/*"}, {user: alice}], name: second, limits: {r: 1}}
      - {match: [{path: /api}, user], name: first, limits: {r: 1}}
  )");
  EXPECT_EQ(NameFor(set, {{"path", "/api"}, {"user", "alice"}}), "first");
}

TEST(RuleSetTest, AValueThatEndsInAStarIsMatchedIfItIsMarkedAsExact) {
  const RuleSet set = EdgeRules(R"(
      - {match: {path: {exact: "/a*"}}, name: star, limits: {r: 1}}
      - {match: {path: {exact: ""}}, name: empty, limits: {r: 1}}
  )");
  EXPECT_EQ(NameFor(set, {{"path", "/a*"}}), "star");
  EXPECT_EQ(NameFor(set, {{"path", "/ab"}}), "none");
  EXPECT_EQ(NameFor(set, {{"path", ""}}), "empty");
}

TEST(RuleSetTest, EachCombinationOfValuesHasABucketOfTheRulesOwn) {
  const RuleSet set = EdgeRules(R"(
      - {match: [{path: "/*"}, user], limits: {r: 1}}
  )");
  EXPECT_EQ(BucketOf(set, {{"path", "/api"}, {"user", "alice"}}),
            "rule.:_path:.:2Fapi:user:alice | edge");
  EXPECT_EQ(BucketOf(set, {{"path", "/"}, {"user", "a:b"}}), "rule.:_path:.:2F:user:a.:3Ab | edge");
}

TEST(RuleSetTest, ValuesThatShareABucketHaveOne) {
  const RuleSet set = EdgeRules(R"(
      - {match: [{path: "/*"}, user], share: [path], limits: {r: 1}}
      - {match: {ip: "10.*"}, share: true, limits: {r: 1}}
      - {match: {ip: {exact: "10.*"}}, limits: {r: 1}}
  )");
  EXPECT_EQ(BucketOf(set, {{"path", "/api"}, {"user", "alice"}}),
            "rule.:_path:.:2F.:.:user:alice | edge");
  EXPECT_EQ(BucketOf(set, {{"path", "/b"}, {"user", "alice"}}),
            BucketOf(set, {{"path", "/api"}, {"user", "alice"}}));
  EXPECT_NE(BucketOf(set, {{"path", "/b"}, {"user", "bob"}}),
            BucketOf(set, {{"path", "/b"}, {"user", "alice"}}));
  EXPECT_EQ(BucketOf(set, {{"ip", "10.1"}}), BucketOf(set, {{"ip", "10.2"}}));
  EXPECT_NE(BucketOf(set, {{"ip", "10.1"}}), BucketOf(set, {{"ip", "10.*"}}));
}

TEST(RuleSetTest, DomainsHaveDifferentBuckets) {
  const RuleSet set = ReadRules(R"(
domains:
  a: {rules: [{match: user, limits: {r: 1}}]}
  A: {rules: [{match: user, limits: {r: 1}}]}
  "/a": {rules: [{match: user, limits: {r: 1}}]}
)");
  const Entries entries = {{"user", "x"}};
  EXPECT_EQ(set.Find("a", entries)->resource, "a");
  EXPECT_EQ(set.Find("A", entries)->resource, "A");
  EXPECT_EQ(set.Find("/a", entries)->resource, "x.:_/a");
  EXPECT_EQ(set.Find("/a", entries)->entity, "rule.:_user:x");
}

TEST(RuleSetTest, TemplatesNameTheBucketByValues) {
  const RuleSet set = EdgeRules(R"(
      - match: [tenant, {model: "gpt*"}]
        entity: "{tenant}"
        resource: "models/{model}"
        amounts: {rpm: 1, tpm: 0}
        charge: always
  )");
  EXPECT_EQ(BucketOf(set, {{"tenant", "acme@example.com"}, {"model", "gpt-4"}}),
            "acme@example.com | models/gpt-4");
  const Rule& rule = set.rules()[0];
  EXPECT_TRUE(rule.always_charges);
  EXPECT_TRUE(rule.limits.empty());
  EXPECT_THAT(rule.amounts, ElementsAre(HitAmount{"rpm", 1}, HitAmount{"tpm", 0}));
}

TEST(RuleSetTest, NoValueYieldsTheIdOfARulesOwnBucket) {
  const RuleSet set = EdgeRules(R"(
      - {match: tenant, entity: "{tenant}", resource: api, limits: {r: 1}}
  )");
  EXPECT_EQ(BucketOf(set, {{"tenant", "rule.:_user:alice"}}), "rule.:2E:_user:alice | api");
}

TEST(RuleSetTest, ByDefaultAHitIsOneTokenOfEachLimit) {
  const RuleSet set = EdgeRules(R"(
      - {match: user, limits: {rps: 5/sec, rpm: 100/min}}
  )");
  EXPECT_THAT(set.rules()[0].amounts, ElementsAre(HitAmount{"rps", 1}, HitAmount{"rpm", 1}));
  EXPECT_EQ(set.rules()[0].limits[1].quota, PerMinute(100));
}

TEST(RuleSetTest, AnUnlimitedRuleMatchesAndHasNoBucket) {
  const RuleSet set = EdgeRules(R"(
      - {match: {user: admin}, unlimited: true}
      - {match: user, limits: {r: 1}}
  )");
  const auto match = set.Find("edge", Entries{{"user", "admin"}});
  ASSERT_TRUE(match);
  EXPECT_TRUE(match->rule->unlimited);
  EXPECT_EQ(match->entity, "");
}

TEST(RuleSetTest, TheDefaultNameIsThePattern) {
  const RuleSet set = EdgeRules(R"(
      - {match: [{path: /api}, user], limits: {r: 1}}
      - {match: {"k\u00e9": "v*"}, limits: {r: 1}}
  )");
  EXPECT_EQ(set.rules()[0].name, "edge/path=/api,user=*");
  EXPECT_EQ(set.rules()[1].name, "edge/k\\xc3\\xa9=v*");
}

TEST(RuleSetTest, ExplainNamesTheReasonForEachRuleOfTheDomain) {
  const RuleSet set = EdgeRules(R"(
      - {match: user, name: any, limits: {r: 1}}
      - {match: {user: bob}, name: bob, limits: {r: 1}}
      - {match: {user: "al*"}, name: al, limits: {r: 1}}
      - {match: [user, path], name: two, limits: {r: 1}}
      - {match: path, name: path, limits: {r: 1}}
      - {match: {user: "b*"}, name: b, limits: {r: 1}}
  )");
  std::vector<std::string> lines;
  for (const Considered& one : set.Explain("edge", Entries{{"user", "alice"}})) {
    lines.push_back(one.rule->name + ": " + one.why);
  }
  EXPECT_THAT(lines,
              ElementsAre("al: matches", "any: entry 1: user=al* is more specific than user=*",
                          "bob: entry 1: 'user' is 'alice' and not 'bob'",
                          "two: the rule has 2 entries, the descriptor 1 entry",
                          "path: entry 1: the key is 'user' and not 'path'",
                          "b: entry 1: 'user' is 'alice' and does not begin with 'b'"));
  EXPECT_TRUE(set.Explain("other", Entries{{"user", "alice"}}).empty());
}

}  // namespace
}  // namespace weir::rules
