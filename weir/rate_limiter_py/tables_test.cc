#include "weir/rate_limiter_py/tables.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "weir/dynamodb/testing/sim_table.h"

namespace weir::rate_limiter_py {
namespace {

using Variables = std::map<std::string, std::string>;

dynamo::Environment With(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  };
}

// Names as rate-limiter-py 0.3.0 resolves them.
TEST(TableNames, AreTheBaseAndASuffix) {
  const TableNames expected{.tokens = "acme-fungible-tokens",
                            .limits = "acme-limits",
                            .slots = "acme-non-fungible-tokens",
                            .resource_index = "acme-resource-index",
                            .service_index = "acme-limits-service-index"};
  EXPECT_EQ(FindNames("acme", With({})).value(), expected);
  EXPECT_EQ(FindNames("acme-", With({})).value(), expected) << "one dash is enough";
  EXPECT_EQ(FindNames("", With({{"LIMITER_TABLES_BASE_NAME", "acme"}})).value(), expected);
}

TEST(TableNames, AVariableOfItsOwnGoesBeforeTheBaseOfTheEnvironment) {
  const TableNames names = FindNames("", With({{"FUNGIBLE_TABLE", "one"},
                                               {"LIMIT_TABLE", "two"},
                                               {"NON_FUNGIBLE_TABLE", "three"},
                                               {"NON_FUNGIBLE_RES_INDEX", "four"},
                                               {"LIMIT_SERVICE_INDEX", "five"},
                                               {"LIMITER_TABLES_BASE_NAME", "other"}}))
                               .value();
  EXPECT_EQ(names, (TableNames{"one", "two", "three", "four", "five"}));
}

// Its clients take a variable that is set and empty for a name, and then call a table "".
TEST(TableNames, WhatIsNoNameIsRefusedByTheVariableThatWouldSetIt) {
  for (const Variables& variables :
       {Variables{{"LIMIT_TABLE", ""}}, Variables{{"LIMIT_TABLE", "a b c"}},
        Variables{{"LIMIT_TABLE", "ab"}}}) {
    Variables with_base = variables;
    with_base["LIMITER_TABLES_BASE_NAME"] = "acme";
    const auto names = FindNames("", With(with_base));
    ASSERT_FALSE(names);
    EXPECT_EQ(names.error().code, Code::kInvalidArgument);
    EXPECT_NE(names.error().message.find("LIMIT_TABLE"), std::string::npos);
  }
  EXPECT_FALSE(FindNames("", With({}))) << "neither base nor variables";
}

// Fails if: the message does not say which variable is empty, wrong or missing.
TEST(TableNames, ARefusalSaysWhichVariableIsAtFault) {
  const std::pair<Variables, std::string> cases[] = {
      {{{"NON_FUNGIBLE_TABLE", ""}, {"LIMITER_TABLES_BASE_NAME", "acme"}},
       "NON_FUNGIBLE_TABLE is set and empty: set it to the name of rate-limiter-py's table of "
       "slots, or unset it, which leaves the name to LIMITER_TABLES_BASE_NAME"},
      {{{"LIMIT_SERVICE_INDEX", "a b"}, {"LIMITER_TABLES_BASE_NAME", "acme"}},
       "LIMIT_SERVICE_INDEX: table 'a b': expected 3 to 255 letters, digits and _.-"},
      {{{"LIMITER_TABLES_BASE_NAME", "a b"}},
       "LIMITER_TABLES_BASE_NAME: table 'a b-fungible-tokens': expected 3 to 255 letters, "
       "digits and _.-"},
      {{{"LIMITER_TABLES_BASE_NAME", ""}},
       "no name for rate-limiter-py's table of tokens, because LIMITER_TABLES_BASE_NAME is empty: "
       "set FUNGIBLE_TABLE or LIMITER_TABLES_BASE_NAME"},
      {{{"FUNGIBLE_TABLE", "tokens"}},
       "no name for rate-limiter-py's table of limits: set LIMIT_TABLE or "
       "LIMITER_TABLES_BASE_NAME"},
  };
  for (const auto& [variables, message] : cases) {
    const auto names = FindNames("", With(variables));
    ASSERT_FALSE(names) << message;
    EXPECT_EQ(names.error().message, message);
  }
}

// R10. Fails if: a variable changes a name that the base gives.
TEST(TableNames, R10AGivenBaseNamesAllTables) {
  const Variables variables{{"LIMITER_TABLES_BASE_NAME", "other"}, {"LIMIT_TABLE", "two"}};
  EXPECT_EQ(FindNames("acme", With(variables)).value(), FindNames("acme", With({})).value());
}

TEST(TableLayouts, HaveTheKeysAndIndexesOfTheReadme) {
  const TableLayouts layouts = LayoutsOf(FindNames("acme", With({})).value());
  EXPECT_EQ(layouts.tokens.keys, (dynamo::IndexLayout{"resourceName", "accountId", ""}));
  EXPECT_EQ(layouts.limits.keys, (dynamo::IndexLayout{"resourceName", "accountId", ""}));
  EXPECT_EQ(layouts.slots.keys, (dynamo::IndexLayout{"resourceCoordinate", "reservationId", ""}));
  EXPECT_TRUE(layouts.tokens.global_indexes.empty());
  EXPECT_EQ(layouts.limits.global_indexes.at("acme-limits-service-index"),
            (dynamo::IndexLayout{"serviceName", "", "ALL"}));
  EXPECT_EQ(layouts.slots.global_indexes.at("acme-resource-index"),
            (dynamo::IndexLayout{"resourceId", "", "ALL"}));
}

// Keys, sort keys below a bound, indexes without a sort key, some attributes only.
TEST(TableLayouts, AreMadeWrittenAndAsked) {
  const TableLayouts layouts = LayoutsOf(FindNames("acme", With({})).value());
  dynamo::SimTable sim(layouts.slots);
  for (const char* const id : {"a", "b", "w-c"}) {
    sim.Put({{std::string(kCoordinate), dynamo::Of("emr:acme")},
             {std::string(kReservationId), dynamo::Of(id)},
             {std::string(kResourceId), dynamo::Of("j-1")},
             {std::string(kAccountId), dynamo::Of("acme")}});
  }
  const auto ask = [&](const dynamo::QueryRequest& request) {
    return sim
        .Ask<std::vector<dynamo::Item>>(
            [&](auto done) { sim.table.QueryAll(request, 10, Deadline::Never(), std::move(done)); })
        .value();
  };
  dynamo::QueryRequest below{.index = {}, .partition = "emr:acme"};
  below.sort_below = "w";
  below.attributes = {std::string(kReservationId)};
  below.limit = 1;
  EXPECT_EQ(ask(below),
            (std::vector<dynamo::Item>{{{std::string(kReservationId), dynamo::Of("a")}},
                                       {{std::string(kReservationId), dynamo::Of("b")}}}));
  EXPECT_EQ(ask({.index = "acme-resource-index", .partition = "j-1"}).size(), 3U);
  EXPECT_TRUE(sim.Get({.pk = "emr:acme", .sk = "b"}));
  EXPECT_EQ(sim.AllKeys().size(), 3U);
}

}  // namespace
}  // namespace weir::rate_limiter_py
