// The limits of limitador as rules.
#include "weir/rules/import/limitador.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/rules/testing/import_fixture.h"

namespace weir::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kGeneral[] = "1: limitador applies all limits whose entries descriptors[N] has";

ImportedRules ImportLimits(std::string_view text) {
  auto imported = ImportLimitador(text, "l.yaml");
  EXPECT_TRUE(imported) << (imported ? "" : imported.error().message);
  return imported ? std::move(*imported) : ImportedRules();
}

std::string LimitadorRefusal(std::string_view text) {
  const auto imported = ImportLimitador(text, "l.yaml");
  return imported ? "accepted" : imported.error().message;
}

TEST(LimitadorImport, ConditionsAndVariablesBecomeEntries) {
  const auto imported = ImportLimits(R"(- namespace: shop
  max_value: 10
  seconds: 60
  name: gets
  conditions: ["descriptors[0].method == 'GET' && descriptors[0]['path*'] == '/a*'"]
  variables: ["descriptors[0].user_id", "descriptors[0].method"]
- namespace: shop
  max_value: 5
  seconds: 1
  variables: ["descriptors[0].user_id"]
)");
  EXPECT_EQ(RulesTextOf(imported), R"(domains:
  shop:
    rules:
      - match: [{method: GET}, {"path*": {exact: "/a*"}}, user_id]
        limits: {gets: "10"}
      - match: user_id
        limits: {requests: "5/sec"}
)");
  EXPECT_THAT(NotesOf(imported),
              ElementsAre("1: the rule needs the entries [method, path*, user_id] in this order",
                          StartsWith(kGeneral)));
  EXPECT_EQ(imported.limits_left_out, 0U);
  EXPECT_EQ(imported.parts_left_out, 0U);
}

TEST(LimitadorImport, LimitsOnTheSameEntriesBecomeOneRule) {
  const auto imported =
      ImportLimits(R"(- {namespace: n, max_value: 10, seconds: 1, variables: ["descriptors[0].u"]}
- {namespace: n, max_value: 100, seconds: 60, variables: ["descriptors[0].u"]}
- {namespace: n, max_value: 0, seconds: 60, name: "per day", variables: ["descriptors[0].u"]}
)");
  EXPECT_THAT(RulesTextOf(imported),
              HasSubstr("limits: {requests: \"10/sec\", requests-2: \"100\", requests-3: \"0\"}"));
  EXPECT_THAT(NotesOf(imported),
              ElementsAre(StartsWith(kGeneral), "3: left out: the name 'per day'"));
}

TEST(LimitadorImport, LimitsWithoutACounterpartAreListed) {
  const auto imported = ImportLimits(R"(- {namespace: n, max_value: 1, seconds: 1}
- {namespace: n, max_value: 1, seconds: 1, conditions: ["descriptors[0].a != 'x'"]}
- {namespace: n, max_value: 1, seconds: 1, variables: ["auth.identity.user"]}
- {namespace: n, max_value: 1, seconds: 1, variables: ["descriptors[0].a", "descriptors[1].b"]}
- {namespace: n, max_value: 1, seconds: 1, conditions: ["descriptors[0].a == 'x'", "descriptors[0].a == 'y'"]}
- {namespace: n, max_value: 1, seconds: 40000000, variables: ["descriptors[0].a"]}
- {namespace: n, max_value: 1, seconds: 1, variables: ["descriptors[1].a"], id: x}
)");
  EXPECT_THAT(
      NotesOf(imported),
      ElementsAre(
          "1: left out: a limit on all requests of a namespace, with any descriptors",
          StartsWith(kGeneral), "2: left out: a limit with the condition 'descriptors[0].a != 'x''",
          "3: left out: a limit with the variable 'auth.identity.user'",
          "4: left out: a limit on descriptors[0] and descriptors[1] together",
          "5: left out: a limit that never applies: 'a' has two values",
          "6: left out: 1 in 40000000 s: a rule has at most 10^13 tokens in 1 s to 366 days",
          "7: left out: 'id' has no counterpart",
          "7: the rule applies to every descriptor of a request, not only to descriptors[1]"));
  EXPECT_EQ(imported.rules.size(), 1U);
  EXPECT_EQ(imported.limits, 7U);
  EXPECT_EQ(imported.limits_left_out, 6U);
  EXPECT_EQ(imported.parts_left_out, 1U) << "the id";
}

// Fails if: a limit with two faults is counted twice, or its second fault is not listed.
TEST(LimitadorImport, EachFaultOfALimitIsListedAndTheLimitIsCountedOnce) {
  const auto imported = ImportLimits(R"(- namespace: n
  max_value: 1
  seconds: 1
  conditions: ["request.path == '/'"]
  variables: ["auth.user", "descriptors[0].a", "auth.plan"]
)");
  EXPECT_THAT(NotesOf(imported),
              ElementsAre("4: left out: a limit with the condition 'request.path == '/''",
                          "5: left out: a limit with the variable 'auth.user'",
                          "5: left out: a limit with the variable 'auth.plan'"));
  EXPECT_EQ(imported.limits, 1U);
  EXPECT_EQ(imported.limits_left_out, 1U);
  EXPECT_EQ(imported.rules.size(), 0U);
}

TEST(LimitadorImport, ALimitThatAMoreSpecificOneHidesIsReported) {
  const auto imported =
      ImportLimits(R"(- {namespace: n, max_value: 1, seconds: 1, variables: ["descriptors[0].a"]}
- {namespace: n, max_value: 2, seconds: 1, conditions: ["descriptors[0].a == 'x'"]}
)");
  EXPECT_THAT(NotesOf(imported),
              ElementsAre(StartsWith(kGeneral),
                          "1: n/a=* no longer applies to descriptors for which another rule with "
                          "these keys is more specific"));
}

TEST(LimitadorImport, AFileThatLimitadorRefusesIsRefused) {
  EXPECT_THAT(LimitadorRefusal(""), HasSubstr("l.yaml:1: the file is empty"));
  EXPECT_THAT(LimitadorRefusal("limits: []"), HasSubstr("l.yaml:1: the file is a mapping"));
  EXPECT_THAT(LimitadorRefusal("- {max_value: 1, seconds: 1}"),
              HasSubstr("a limit without namespace"));
  EXPECT_THAT(LimitadorRefusal("- {namespace: n, seconds: 1}"),
              HasSubstr("no max_value; expected"));
  EXPECT_THAT(LimitadorRefusal("- {namespace: n, max_value: -1, seconds: 1}"),
              HasSubstr("max_value is '-1'; expected a whole number from 0 to"));
  EXPECT_THAT(LimitadorRefusal("- {namespace: [n], max_value: 1, seconds: 1}"),
              HasSubstr("namespace is a list; expected a single value"));
  EXPECT_THAT(LimitadorRefusal("- {namespace: n, max_value: 1, seconds: 1, variables: x}"),
              HasSubstr("variables is a single value; expected a list of expressions"));
}

}  // namespace
}  // namespace weir::rules
