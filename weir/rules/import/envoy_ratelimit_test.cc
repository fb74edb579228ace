// The configuration of envoyproxy/ratelimit as rules.
#include "weir/rules/import/envoy_ratelimit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/rules/testing/import_fixture.h"

namespace weir::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ImportedRules ImportEnvoy(std::string_view text) {
  auto imported = ImportEnvoyRatelimit(text, "e.yaml");
  EXPECT_TRUE(imported) << (imported ? "" : imported.error().message);
  return imported ? std::move(*imported) : ImportedRules();
}

std::string EnvoyRefusal(std::string_view text) {
  const auto imported = ImportEnvoyRatelimit(text, "e.yaml");
  return imported ? "accepted" : imported.error().message;
}

TEST(EnvoyRatelimitImport, NestedDescriptorsBecomePatternsOfSeveralEntries) {
  const auto imported = ImportEnvoy(R"(domain: mongo_cps
descriptors:
  - key: database
    value: users
    rate_limit: {unit: second, requests_per_unit: 500}
    descriptors:
      - key: path
        value: "/api*"
        shadow_mode: true
        rate_limit: {unit: MINUTE, requests_per_unit: 10, name: api}
      - key: user
        rate_limit: {unlimited: true, name: free, replaces: [{name: api}]}
)");
  EXPECT_EQ(RulesTextOf(imported), R"(domains:
  mongo_cps:
    rules:
      - match: {database: users}
        limits: {requests: "500/sec"}
      - match: [{database: users}, {path: "/api*"}]
        name: api
        limits: {requests: "10"}
        shadow: true
      - match: [{database: users}, user]
        name: free
        unlimited: true
        replaces: [api]
)");
  EXPECT_THAT(NotesOf(imported), IsEmpty());
  EXPECT_EQ(imported.limits, 3U);
}

TEST(EnvoyRatelimitImport, UnitsAndMultipliersBecomePeriods) {
  const auto imported = ImportEnvoy(R"(domain: d
descriptors:
  - {key: a, rate_limit: {unit: week, requests_per_unit: 7}}
  - {key: b, rate_limit: {unit: month, requests_per_unit: 7}}
  - {key: c, rate_limit: {unit: year, requests_per_unit: 7}}
  - {key: d, rate_limit: {unit: minute, unit_multiplier: 5, requests_per_unit: 7}}
  - {key: e, rate_limit: {unit: hour}}
  - {key: f, rate_limit: {unit: year, unit_multiplier: 2, requests_per_unit: 7}}
  - {key: g, rate_limit: {unit: year, unit_multiplier: 584942418, requests_per_unit: 7}}
  - {key: h, rate_limit: {unit: day, unit_multiplier: 0, requests_per_unit: 7}}
)");
  constexpr std::int64_t kDayMillis = 24LL * 3600 * 1000;
  std::vector<std::int64_t> periods;
  for (const Rule& rule : imported.rules) periods.push_back(rule.limits[0].quota.period);
  EXPECT_THAT(periods,
              ElementsAre(7 * kDayMillis, 30 * kDayMillis, 365 * kDayMillis, 300'000, 3'600'000));
  EXPECT_EQ(imported.rules[0].limits[0].quota.capacity, 7000);
  EXPECT_TRUE(Blocks(imported.rules[4].limits[0]));
  EXPECT_THAT(
      NotesOf(imported),
      ElementsAre("7: rate_limit has no requests_per_unit, which means 0: no request is admitted",
                  "8: left out: a limit over 2 x year: a period is at most 366 days",
                  "9: left out: a limit over 584942418 x year: a period is at most 366 days",
                  "10: left out: a limit over 0 x day: a period is at most 366 days"));
  RulesTextOf(imported);
}

TEST(EnvoyRatelimitImport, AValueWithoutARateLimitLiftsTheLimitOfItsKey) {
  const auto imported = ImportEnvoy(R"(domain: d
descriptors:
  - {key: ip, rate_limit: {unit: second, requests_per_unit: 1}}
  - {key: ip, value: 10.0.0.1}
  - {key: other, value: x}
)");
  EXPECT_THAT(RulesTextOf(imported),
              HasSubstr("match: {ip: \"10.0.0.1\"}\n        unlimited: true"));
  EXPECT_THAT(NotesOf(imported), ElementsAre("5: other=x has no rate limit and no effect"));
}

TEST(EnvoyRatelimitImport, SharedThresholdsShareABucket) {
  const auto imported = ImportEnvoy(R"(domain: d
descriptors:
  - key: path
    value: "/a*"
    share_threshold: true
    rate_limit: {unit: second, requests_per_unit: 1}
    descriptors:
      - {key: path, value: "/b*", rate_limit: {unit: second, requests_per_unit: 1}}
      - {key: user, rate_limit: {unit: second, requests_per_unit: 1}}
  - {key: user, share_threshold: true, rate_limit: {unit: second, requests_per_unit: 1}}
)");
  EXPECT_THAT(RulesTextOf(imported),
              HasSubstr("match: [{path: \"/a*\"}, user]\n        limits: {requests: \"1/sec\"}\n"
                        "        share: [path]"));
  EXPECT_THAT(NotesOf(imported),
              ElementsAre("8: left out: only one of two values of 'path' shares its limit",
                          "10: left out: share_threshold without a wildcard"));
}

TEST(EnvoyRatelimitImport, DifferencesOfPrecedenceAreReported) {
  const auto imported = ImportEnvoy(R"(domain: d
descriptors:
  - {key: a, value: "x*", rate_limit: {unit: second, requests_per_unit: 1}}
  - {key: a, value: "xy*", rate_limit: {unit: second, requests_per_unit: 2}}
  - {key: b, descriptors: [{key: c, rate_limit: {unit: second, requests_per_unit: 3}}]}
  - {key: b, value: z, rate_limit: {unit: second, requests_per_unit: 4}}
  - {key: e, rate_limit: {unit: second, requests_per_unit: 5}}
  - {key: e, value: "*", rate_limit: {unit: second, requests_per_unit: 6}}
  - {key: e, value: "f*", rate_limit: {unit: second, requests_per_unit: 7}}
)");
  EXPECT_THAT(
      NotesOf(imported),
      ElementsAre("4: a=xy* is now more specific than a=x*, which is before it and was taken "
                  "first",
                  "6: a descriptor with b=z now falls back to the rules below b=*, if none "
                  "below b=z matches",
                  "7: left out: e=* is listed twice",
                  "9: e=f* is now more specific than e=*, which is before it and was taken "
                  "first"));
  EXPECT_THAT(RulesTextOf(imported), HasSubstr("match: e\n        limits: {requests: \"6/sec\"}"));
}

// Fails if: a wildcard that the service finds becomes an exact value.
TEST(EnvoyRatelimitImport, WildcardsThatAreNotAtTheEndAreLeftOut) {
  const auto imported = ImportEnvoy(R"(domain: d
descriptors:
  - {key: a, value: "/api/*/action", rate_limit: {unit: second, requests_per_unit: 1}}
  - {key: a, value: "*.example.com", rate_limit: {unit: second, requests_per_unit: 2}}
  - {key: a, value: "x*y*", share_threshold: true, rate_limit: {unit: second}}
  - {key: "k*y", value: v, rate_limit: {unit: second, requests_per_unit: 4}}
  - {key: a, value: "/*", rate_limit: {unit: second, requests_per_unit: 5}}
)");
  EXPECT_THAT(NotesOf(imported),
              ElementsAre("3: left out: the wildcard '/api/*/action' has a '*' before its end",
                          "4: left out: the wildcard '*.example.com' has a '*' before its end",
                          "5: left out: the wildcard 'x*y*' has a '*' before its end",
                          "6: left out: the wildcard 'k*y' over keys"));
  EXPECT_EQ(RulesTextOf(imported),
            "domains:\n  d:\n    rules:\n      - match: {a: \"/*\"}\n"
            "        limits: {requests: \"5/sec\"}\n");
}

// Fails if: an entry that is too long is compared with its siblings (a value of 300 KB took 14 s),
// or is reported for each rule below it.
TEST(EnvoyRatelimitImport, AnEntryThatIsTooLongIsLeftOutOnce) {
  const std::string longest(kMaxPatternText - 1, 'x');
  const auto imported = ImportEnvoy(fmt::format(R"(domain: d
descriptors:
  - {{key: a, rate_limit: {{unit: second, requests_per_unit: 1}}}}
  - key: a
    value: "{0}*"
    rate_limit: {{unit: second, requests_per_unit: 2}}
  - key: a
    value: {1}
    rate_limit: {{unit: second, requests_per_unit: 3}}
    descriptors:
      - {{key: b, rate_limit: {{unit: second, requests_per_unit: 4}}}}
  - {{key: a, value: "{1}*"}}
  - {{key: {1}}}
)",
                                                longest, std::string(300'000, 'x')));
  EXPECT_THAT(NotesOf(imported),
              ElementsAre(HasSubstr("7: left out: value 'xx"), HasSubstr("12: left out: value 'xx"),
                          HasSubstr("13: left out: key 'xx")));
  EXPECT_EQ(imported.rules.size(), 2U);
  RulesTextOf(imported);
}

TEST(EnvoyRatelimitImport, ARuleDoesNotReplaceItsOwnName) {
  const auto imported = ImportEnvoy(R"(domain: d
descriptors:
  - key: a
    rate_limit: {unit: day, requests_per_unit: 1, name: x, replaces: [{name: x}, {name: y}]}
  - {key: b, rate_limit: {unit: day, requests_per_unit: 1, name: x, replaces: [{name: y}]}}
  - {key: c, rate_limit: {unit: day, requests_per_unit: 1, name: y}}
)");
  EXPECT_THAT(NotesOf(imported),
              ElementsAre("3: left out: replaces 'x': the name of the rule itself"));
  EXPECT_THAT(imported.rules[0].replaces, ElementsAre("y"));
  RulesTextOf(imported);
}

// Fails if: the rules lift each other's limits, or the file is refused. In the second cycle the
// rule that closes it is not the last one that the import reads.
TEST(EnvoyRatelimitImport, RulesDoNotReplaceEachOther) {
  const auto imported = ImportEnvoy(R"(domain: d
descriptors:
  - {key: a, rate_limit: {unit: day, requests_per_unit: 1, name: x, replaces: [{name: y}]}}
  - key: b
    rate_limit:
      {unit: day, requests_per_unit: 1, name: y, replaces: [{name: z}, {name: x}, {name: x}]}
  - {key: c, rate_limit: {unit: day, requests_per_unit: 1, name: z}}
  - {key: e, rate_limit: {unit: day, requests_per_unit: 1, name: p, replaces: [{name: q}]}}
  - {key: f, rate_limit: {unit: day, requests_per_unit: 1, name: q, replaces: [{name: r}]}}
  - {key: e, value: v, rate_limit: {unit: day, requests_per_unit: 1, name: r, replaces: [{name: p}]}}
)");
  constexpr char kWhy[] = "rules that replace each other would lift their limits";
  EXPECT_THAT(NotesOf(imported), ElementsAre(fmt::format("4: left out: replaces 'x': {}", kWhy),
                                             fmt::format("4: left out: replaces 'x': {}", kWhy),
                                             fmt::format("10: left out: replaces 'p': {}", kWhy)));
  EXPECT_THAT(imported.rules[1].replaces, ElementsAre("z"));
  EXPECT_EQ(imported.parts_left_out, 3U);
  RulesTextOf(imported);
}

TEST(EnvoyRatelimitImport, EverythingElseIsListed) {
  const auto imported = ImportEnvoy(R"(domain: d
version: 3
descriptors:
  - key: a
    detailed_metric: true
    rate_limit: {unit: second, requests_per_unit: 1, algorithm: x, replaces: [{name: gone}]}
  - {key: "k*", rate_limit: {unit: second, requests_per_unit: 1}}
  - {key: b, value: "x**", rate_limit: {unit: second, requests_per_unit: 1}}
  - {key: "c\x01", rate_limit: {unit: second, requests_per_unit: 1}}
  - {key: a, rate_limit: {unit: second, requests_per_unit: 1}}
)");
  EXPECT_THAT(
      NotesOf(imported),
      ElementsAre("2: left out: 'version' has no counterpart",
                  "4: left out: replaces 'gone': no rule has this name",
                  "5: left out: 'detailed_metric' has no counterpart",
                  "6: left out: 'algorithm' has no counterpart",
                  "7: left out: the wildcard 'k*' over keys",
                  "8: left out: the wildcard 'x**' has a '*' before its end",
                  HasSubstr("9: left out: key 'c\\x01' has"), "10: left out: a=* is listed twice"));
  EXPECT_EQ(imported.limits, 5U);
  EXPECT_EQ(imported.limits_left_out, 4U);
  EXPECT_EQ(imported.parts_left_out, 4U);
  EXPECT_EQ(imported.rules.size(), 1U);
}

// Fails if: the limits below a descriptor that is left out are not counted, or a limit is neither
// in a rule nor left out.
TEST(EnvoyRatelimitImport, TheLimitsBelowADescriptorThatIsLeftOutAreLeftOut) {
  const auto imported = ImportEnvoy(R"(domain: d
descriptors:
  - key: a
    value: "*/x"
    rate_limit: {unit: second, requests_per_unit: 1}
    descriptors:
      - {key: b, rate_limit: {unit: second, requests_per_unit: 1}}
  - {key: a, rate_limit: {unit: second, requests_per_unit: 1}}
  - key: a
    descriptors: [{key: b, rate_limit: {unit: second, requests_per_unit: 1}}]
  - {key: c, rate_limit: {unit: year, unit_multiplier: 2, requests_per_unit: 1}}
  - {key: c, value: "*x"}
)");
  EXPECT_THAT(
      NotesOf(imported),
      ElementsAre("3: left out: the wildcard '*/x' has a '*' before its end (2 limits in all)",
                  "9: left out: a=* is listed twice",
                  "11: left out: a limit over 2 x year: a period is at most 366 days",
                  "12: left out: the wildcard '*x' has a '*' before its end"));
  EXPECT_EQ(imported.limits, 5U);
  EXPECT_EQ(imported.limits_left_out, 4U);
  EXPECT_EQ(imported.parts_left_out, 1U);
  EXPECT_EQ(imported.rules.size(), 1U);
}

TEST(EnvoyRatelimitImport, AFileThatTheServiceRefusesIsRefused) {
  EXPECT_THAT(EnvoyRefusal(""), HasSubstr("e.yaml:1: the file is empty"));
  EXPECT_THAT(EnvoyRefusal("descriptors: []"), HasSubstr("e.yaml:1: no domain; expected"));
  EXPECT_THAT(EnvoyRefusal("domain: d\ndescriptors: [{value: x}]"),
              HasSubstr("e.yaml:2: a descriptor without key"));
  EXPECT_THAT(EnvoyRefusal("domain: d\ndescriptors: [{key: x, rate_limit: {unit: eon}}]"),
              HasSubstr("e.yaml:2: the unit 'eon'; expected second, minute"));
  EXPECT_THAT(EnvoyRefusal("domain: d\ndescriptors:\n- key: x\n  rate_limit: {unit: day, "
                           "requests_per_unit: 5000000000}"),
              HasSubstr("e.yaml:4: requests_per_unit is '5000000000'"));
  EXPECT_THAT(EnvoyRefusal("domain: d\ndescriptors: [{key: x, value: [y]}]"),
              HasSubstr("e.yaml:2: value is a list; expected a single value"));
}

TEST(EnvoyRatelimitImport, AFileThatContainsItselfEnds) {
  const auto imported = ImportEnvoy("domain: d\ndescriptors: &d\n  - {key: a, descriptors: *d}\n");
  EXPECT_EQ(imported.rules.size(), 0U);
  EXPECT_THAT(EnvoyRefusal("domain: d\ndescriptors: &d\n  - {key: a, descriptors: *d}\n"
                           "  - {key: b, descriptors: *d}\n"),
              HasSubstr("more than 100000 descriptors"));
}

}  // namespace
}  // namespace weir::rules
