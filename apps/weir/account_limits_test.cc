// The file of accounts' limits: what it may say, and what loading it does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "apps/weir/account_limits_file.h"
#include "apps/weir/account_limits_load.h"
#include "weir/runtime/await.h"
#include "weir/store/memory_reservations.h"

namespace weir::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Rows = std::vector<AccountLimitRow>;

AccountLimitRow Row(std::string account, std::int64_t limit, std::string service = "jobs",
                    std::int64_t window = 0) {
  return {.key = {"emr", std::move(account)},
          .limit = {.limit = limit, .window = std::chrono::seconds(window)},
          .service = std::move(service)};
}

Rows Parsed(std::string_view text) {
  auto rows = ParseAccountLimits(text, "limits.json", "jobs");
  EXPECT_TRUE(rows) << rows.error().message;
  return rows.value_or(Rows());
}

TEST(AccountLimitsFile, IsRateLimiterPys) {
  EXPECT_THAT(Parsed(R"({"limits": [
    {"accountId": "b", "resourceName": "emr", "limit": 5, "windowSec": 60},
    {"accountId": "a", "resourceName": "emr", "limit": 0}]})"),
              ElementsAre(Row("a", 0), Row("b", 5, "jobs", 60)));
  EXPECT_THAT(Parsed(R"({"limits": []})"), ElementsAre());
}

// Its loader joins account and resource to one text, and takes these two for one row.
TEST(RateLimiterPyDefects, L11_NamesThatRunTogetherAreTwoRows) {
  EXPECT_EQ(Parsed(R"({"limits": [{"accountId": "ab", "resourceName": "c", "limit": 1},
                                  {"accountId": "a", "resourceName": "bc", "limit": 2}]})")
                .size(),
            2U);
}

struct Bad {
  const char* text;
  const char* told;
};

TEST(AccountLimitsFile, NamesWhatIsWrongAndWhere) {
  const Bad cases[] = {
      {R"({"limits": [)", "byte 13"},
      {R"([])", "no list of limits"},
      {R"({"limits": {}})", "no list of limits"},
      {R"({"limits": [], "more": 1})", "no list of limits"},
      {R"({"limits": [7]})", "entry 1: it is no object"},
      {R"({"limits": [{"accountId": "a", "resourceName": "r", "limt": 1}]})", "did you mean"},
      {R"({"limits": [{"resourceName": "r", "limit": 1}]})", "accountId"},
      {R"({"limits": [{"accountId": 7, "resourceName": "r", "limit": 1}]})", "accountId"},
      {R"({"limits": [{"accountId": "a", "resourceName": "r"}]})", "limit is missing"},
      {R"({"limits": [{"accountId": "a", "resourceName": "r", "limit": "9"}]})", "limit is \"9\""},
      {R"({"limits": [{"accountId": "", "resourceName": "r", "limit": 1}]})", "account"},
      {R"({"limits": [{"accountId": "a", "resourceName": "r", "limit": 18446744073709551615}]})",
       "limit"},
      {R"({"limits": [{"accountId": "a", "resourceName": "r", "limit": 1, "windowSec": -1}]})",
       "window"},
      {R"({"limits": [{"accountId": "a", "resourceName": "r", "limit": 1},
                      {"accountId": "a", "resourceName": "r", "limit": 2}]})",
       "entry 2: r for a is there already, as entry 1"},
  };
  for (const Bad& bad : cases) {
    const auto rows = ParseAccountLimits(bad.text, "limits.json", "jobs");
    ASSERT_FALSE(rows) << bad.text;
    EXPECT_EQ(rows.error().code, Code::kInvalidArgument);
    EXPECT_THAT(rows.error().message, HasSubstr(bad.told)) << bad.text;
    EXPECT_THAT(rows.error().message, HasSubstr("limits.json: "));
  }
}

// It truncates 0.5 to 0 behind its test for blocked accounts, and divides by that.
TEST(RateLimiterPyDefects, L16_AFractionIsNoLimit) {
  EXPECT_FALSE(ParseAccountLimits(
      R"({"limits": [{"accountId": "a", "resourceName": "r", "limit": 0.5}]})", "f", "jobs"));
}

class AccountLimitsLoadTest : public testing::Test {
 protected:
  AccountLimitStore& store() { return backend_->limits(); }
  void Put(const AccountLimitRow& row) {
    ASSERT_TRUE(Await<void>([&](auto done) {
      store().Change(PutAccountLimit{.row = row, .seen = {}}, Deadline::Never(), std::move(done));
    }));
  }
  std::optional<AccountLimitRow> Get(const std::string& account) {
    return Await<std::optional<AccountLimitRow>>([&](auto done) {
             store().Get({"emr", account}, Deadline::Never(), std::move(done));
           })
        .value();
  }
  Result<LoadPlan> Plan(const Rows& declared, bool prune = false) {
    WEIR_ASSIGN_OR_RETURN(const Rows live,
                          ReadAccountLimits(store(), "jobs", declared, Deadline::Never));
    return MakeLoadPlan(declared, live, "jobs", prune);
  }

  std::unique_ptr<ReservationBackend> backend_ = MakeMemoryReservations();
};

TEST_F(AccountLimitsLoadTest, CreatesUpdatesAndLeavesAlone) {
  Put(Row("same", 1));
  Put(Row("other", 1));
  Put(Row("gone", 1));
  const auto plan = Plan({Row("new", 3), Row("other", 2), Row("same", 1)});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(TextOf(*plan),
            "  leave emr for gone: 1\n+ create emr for new: 3\n~ update emr for other: 1 -> 2\n"
            "create 1, update 1, delete 0, leave 1, unchanged 1\n");
  ASSERT_TRUE(ApplyLoadPlan(*plan, store(), Deadline::Never));
  EXPECT_EQ(Get("new"), Row("new", 3));
  EXPECT_EQ(Get("other"), Row("other", 2));
  EXPECT_EQ(Get("gone"), Row("gone", 1));
  EXPECT_EQ(Plan({Row("new", 3), Row("other", 2), Row("same", 1)})->unchanged, 3U);
}

// Fails if: all rows share one deadline.
TEST_F(AccountLimitsLoadTest, Z5EachRowHasADeadlineOfItsOwn) {
  Put(Row("same", 1));
  int requests = 0;
  const NextDeadline each = [&requests] {
    ++requests;
    return Deadline::Never();
  };
  const Rows declared = {Row("new", 3), Row("other", 2), Row("same", 1)};
  const auto live = ReadAccountLimits(store(), "jobs", declared, each);
  ASSERT_TRUE(live) << live.error().message;
  EXPECT_EQ(requests, 3) << "the rows of the service, and the two that it lacks";
  const auto plan = MakeLoadPlan(declared, *live, "jobs", false);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(ApplyLoadPlan(*plan, store(), each));
  EXPECT_EQ(requests, 5) << "two more are created";
}

// An empty file deletes nothing there, and a file that is not empty deletes what it lacks.
TEST_F(AccountLimitsLoadTest, L11_DeletesWhereThatIsAskedFor) {
  Put(Row("gone", 1));
  Put(Row("theirs", 1, "web"));
  EXPECT_EQ(Plan({})->Count(PlannedAction::kDelete), 0U);
  const auto plan = Plan({}, true);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->Count(PlannedAction::kDelete), 1U);
  ASSERT_TRUE(ApplyLoadPlan(*plan, store(), Deadline::Never));
  EXPECT_EQ(Get("gone"), std::nullopt);
  EXPECT_EQ(Get("theirs"), Row("theirs", 1, "web"));
}

// The last writer wins there: a row changes its owner in silence.
TEST_F(AccountLimitsLoadTest, L11_TakesNoRowOfAnotherService) {
  Put(Row("theirs", 1, "web"));
  const auto plan = Plan({Row("theirs", 2)});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(plan.error().message, HasSubstr("emr for theirs belongs to service 'web'"));
}

TEST_F(AccountLimitsLoadTest, TakesARowThatNobodyOwns) {
  Put(Row("old", 1, ""));
  const auto plan = Plan({Row("old", 1)});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->Count(PlannedAction::kUpdate), 1U);
}

TEST_F(AccountLimitsLoadTest, WhatChangedSinceThePlanIsNotOverwritten) {
  Put(Row("a", 1));
  const auto plan = Plan({Row("a", 2), Row("b", 2)});
  ASSERT_TRUE(Await<void>([&](auto done) {
    store().Change(PutAccountLimit{.row = Row("b", 9, "web"), .seen = {}}, Deadline::Never(),
                   std::move(done));
  }));
  const Status applied = ApplyLoadPlan(*plan, store(), Deadline::Never);
  ASSERT_FALSE(applied);
  EXPECT_THAT(applied.error().message, HasSubstr("1 changes are made, then emr for b"));
  EXPECT_EQ(Get("b"), Row("b", 9, "web"));
}

}  // namespace
}  // namespace weir::app
