// The file of accounts' limits: its format, and loading it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/weir/limits/account_limits_file.h"
#include "apps/weir/limits/account_limits_load.h"
#include "weir/runtime/await.h"
#include "weir/runtime/loop.h"
#include "weir/store/memory/memory_reservations.h"

namespace weir::app {
namespace {

using testing::AllOf;
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

// rate-limiter-py's loader joins account and resource to one text, so these two are one row for it.
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
      {R"({"limits": [7]})", "entry 1: not a JSON object"},
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
       "entry 2: r for a is declared already, by entry 1"},
  };
  for (const Bad& bad : cases) {
    const auto rows = ParseAccountLimits(bad.text, "limits.json", "jobs");
    ASSERT_FALSE(rows) << bad.text;
    EXPECT_EQ(rows.error().code, Code::kInvalidArgument);
    EXPECT_THAT(rows.error().message, HasSubstr(bad.told)) << bad.text;
    EXPECT_THAT(rows.error().message, HasSubstr("limits.json: "));
  }
}

// rate-limiter-py truncates 0.5 to 0 after its check for blocked accounts, and divides by it.
TEST(RateLimiterPyDefects, L16_AFractionIsNoLimit) {
  EXPECT_FALSE(ParseAccountLimits(
      R"({"limits": [{"accountId": "a", "resourceName": "r", "limit": 0.5}]})", "f", "jobs"));
}

// A store with a stale list of a service's rows. It completes requests in groups of `responds_at`,
// on a thread of its own.
class LimitsWithALaggingIndex final : public AccountLimitStore {
 public:
  explicit LimitsWithALaggingIndex(AccountLimitStore& inner) : inner_(inner) {}

  void Get(const AccountKey& key, Deadline deadline,
           Done<std::optional<AccountLimitRow>> done) override {
    if (key == unreadable) {
      return done(Fail(Code::kFailedPrecondition, "its limit is not a number"));
    }
    Hold([this, key, deadline, done = std::move(done)]() mutable {
      inner_.Get(key, deadline, std::move(done));
    });
  }
  void KeysOfService(const std::string&, Deadline, Done<std::vector<AccountKey>> done) override {
    done(listed);
  }
  void Change(const AccountLimitChange& change, Deadline deadline, Done<void> done) override {
    Hold([this, change, deadline, done = std::move(done)]() mutable {
      inner_.Change(change, deadline, std::move(done));
    });
  }

  std::vector<AccountKey> listed;
  std::optional<AccountKey> unreadable;
  std::size_t responds_at = 1;  ///< the number of requests in flight at which they complete
  std::atomic<std::size_t> max_in_flight = 0;

 private:
  using WriteResult = std::move_only_function<void()>;

  void Hold(WriteResult result) {
    if (responds_at == 1) return result();
    held_.push_back(std::move(result));
    max_in_flight = std::max(max_in_flight.load(), ++in_flight_);
    if (held_.size() < responds_at) return;
    loop_.Post([this, held = std::exchange(held_, {})]() mutable {
      for (WriteResult& each : held) {
        --in_flight_;
        each();
      }
    });
  }

  AccountLimitStore& inner_;
  std::vector<WriteResult> held_;
  std::atomic<std::size_t> in_flight_ = 0;
  SystemClock clock_;
  Loop loop_{clock_};
};

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
    WEIR_ASSIGN_OR_RETURN(const LiveLimits live,
                          ReadAccountLimits(store(), "jobs", declared, Deadline::Never));
    return MakeLoadPlan(declared, live, "jobs", prune);
  }

  std::unique_ptr<ReservationBackend> backend_ = MakeMemoryReservations();
};

// Fails if: the index's copy of a row is used instead of the row.
TEST_F(AccountLimitsLoadTest, R6RowsOfALaggingIndexAreNotBelieved) {
  Put(Row("other", 1));
  Put(Row("taken", 1, "web"));
  LimitsWithALaggingIndex lagging(store());
  lagging.listed = {Row("other", 1).key, Row("taken", 1).key, Row("deleted", 1).key};
  const auto live = ReadAccountLimits(lagging, "jobs", {Row("new", 1)}, Deadline::Never);
  ASSERT_TRUE(live) << live.error().message;
  EXPECT_THAT(live->rows, ElementsAre(Row("other", 1)));
  const auto plan = MakeLoadPlan({Row("new", 1)}, *live, "jobs", true);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(TextOf(*plan),
            "+ create emr for new: 1\n- delete emr for other: 1\n"
            "create 1, update 0, delete 1, leave 0, unchanged 0\n");
}

// Fails if: the requests of a large file are sent one after the other, or all at once.
TEST_F(AccountLimitsLoadTest, R6ALargeFileHasABoundedNumberOfRequestsInFlight) {
  Rows declared;
  for (int i = 0; i < 1000; ++i) declared.push_back(Row("a" + std::to_string(1000 + i), i));
  LimitsWithALaggingIndex slow(store());
  slow.responds_at = kLoadInFlight;
  const Rows first(declared.begin(), declared.begin() + 960);  // a multiple of kLoadInFlight
  const auto live = ReadAccountLimits(slow, "jobs", first, Deadline::Never);
  ASSERT_TRUE(live) << live.error().message;
  EXPECT_EQ(slow.max_in_flight, kLoadInFlight);
  slow.max_in_flight = 0;
  const auto plan = MakeLoadPlan(first, *live, "jobs", false);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(ApplyLoadPlan(*plan, slow, Deadline::Never));
  EXPECT_EQ(slow.max_in_flight, kLoadInFlight);
  EXPECT_EQ(Plan(declared)->Count(PlannedAction::kCreate), 40U);
  EXPECT_EQ(Plan(declared)->unchanged, 960U);
}

// Fails if: one row without a limit prevents the other rows of the file from being loaded.
TEST_F(AccountLimitsLoadTest, R16ARowThatCannotBeReadIsLeftOutByItself) {
  Put(Row("good", 1));
  Put(Row("bad", 1));
  LimitsWithALaggingIndex damaged(store());
  damaged.listed = {Row("good", 1).key, Row("bad", 1).key};
  damaged.unreadable = Row("bad", 1).key;
  const Rows declared = {Row("bad", 2), Row("good", 2)};
  const auto live = ReadAccountLimits(damaged, "jobs", declared, Deadline::Never);
  ASSERT_TRUE(live) << live.error().message;
  EXPECT_EQ(live->unreadable.size(), 1U);
  EXPECT_EQ(live->unreadable.at(Row("bad", 1).key), "its limit is not a number");
  const auto plan = MakeLoadPlan(declared, *live, "jobs", true);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(ApplyLoadPlan(*plan, damaged, Deadline::Never));
  EXPECT_EQ(Get("good"), Row("good", 2));
  EXPECT_EQ(Get("bad"), Row("bad", 1)) << "it is neither changed nor deleted";
}

// Fails if: a key that another client wrote, and that stores refuse, prevents all rows from being
// loaded.
TEST_F(AccountLimitsLoadTest, R16AKeyThatStoresRefuseIsLeftOutByItself) {
  Put(Row("good", 1));
  LimitsWithALaggingIndex foreign(store());
  const AccountKey too_long = Row(std::string(300, 'a'), 1).key;
  const AccountKey empty = Row("", 1).key;
  foreign.listed = {Row("good", 1).key, too_long, empty};
  const Rows declared = {Row("good", 2)};
  const auto live = ReadAccountLimits(foreign, "jobs", declared, Deadline::Never);
  ASSERT_TRUE(live) << live.error().message;
  EXPECT_EQ(live->unreadable.size(), 2U);
  EXPECT_THAT(live->unreadable.at(too_long),
              AllOf(HasSubstr("limit of 'emr for aaa"), HasSubstr("is 300 bytes long")));
  EXPECT_THAT(live->unreadable.at(empty),
              AllOf(HasSubstr("limit of 'emr for ': "), HasSubstr("is empty")));
  const auto plan = MakeLoadPlan(declared, *live, "jobs", true);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(ApplyLoadPlan(*plan, foreign, Deadline::Never));
  EXPECT_EQ(Get("good"), Row("good", 2));
}

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
  EXPECT_EQ(requests, 4) << "the list of the service's rows, and each row";
  const auto plan = MakeLoadPlan(declared, *live, "jobs", false);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(ApplyLoadPlan(*plan, store(), each));
  EXPECT_EQ(requests, 6) << "one is created and one changed";
}

// In rate-limiter-py, an empty file deletes nothing, and another file deletes all rows that it
// lacks.
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

// In rate-limiter-py, the last writer wins: a row changes its owner without a message.
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
  EXPECT_THAT(applied.error().message, HasSubstr("1 of 2 changes were made; emr for b: "));
  EXPECT_EQ(Get("b"), Row("b", 9, "web"));
}

}  // namespace
}  // namespace weir::app
