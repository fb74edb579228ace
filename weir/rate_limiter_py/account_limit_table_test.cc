// Limits of accounts, in rows that rate-limiter-py's clients and ours have written.
#include "weir/rate_limiter_py/account_limit_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/dynamodb/testing/sim_table.h"
#include "weir/rate_limiter_py/tables.h"
#include "weir/rate_limiter_py/testing/token_fixture.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::DirectClient;
using dynamo::Item;
using dynamo::Of;
using std::chrono::seconds;
using testing::HasSubstr;
using Keys = std::vector<AccountKey>;
using MaybeRow = std::optional<AccountLimitRow>;

const AccountLimitRow kRow{.key = kKey, .limit = {10, seconds(60)}, .service = "billing"};

TableLayouts Layouts() {
  return LayoutsOf(FindNames("acme", [](const std::string&) { return std::nullopt; }).value());
}

struct LimitSim {
  Result<MaybeRow> Get(const AccountKey& key = kKey) {
    return sim.Ask<MaybeRow>(
        [&](auto done) { limits.Get(key, Deadline::Never(), std::move(done)); });
  }
  Result<Keys> KeysOfService(const std::string& service) {
    return sim.Ask<Keys>(
        [&](auto done) { limits.KeysOfService(service, Deadline::Never(), std::move(done)); });
  }
  Status Change(const AccountLimitChange& change) {
    return sim.Ask<void>(
        [&](auto done) { limits.Change(change, Deadline::Never(), std::move(done)); });
  }
  Status Put(const AccountLimitRow& row, const MaybeRow& seen = {}) {
    return Change(PutAccountLimit{row, seen});
  }
  // Puts a row as another program would write it.
  void PutItem(Item attributes, const AccountKey& key = kKey) {
    attributes.merge(dynamo::ToItem(TableKeyOf(key), layouts.limits.keys));
    sim.Put(std::move(attributes));
  }
  Item RawItem() { return sim.Get(TableKeyOf(kKey)).value_or(Item{}); }

  const TableLayouts layouts = Layouts();
  dynamo::SimTable sim{layouts.limits};
  AccountLimitTable limits{sim.table, "acme-limits-service-index"};
};

class AccountLimitTableTest : public testing::Test {
 protected:
  LimitSim t_;
};

TEST_F(AccountLimitTableTest, APutIsWhatItsClientsRead) {
  ASSERT_TRUE(t_.Put(kRow));
  EXPECT_EQ(t_.RawItem(), (Item{{"resourceName", Of("emr")},
                                {"accountId", Of("acme")},
                                {"limit", Of(10)},
                                {"windowSec", Of(60)},
                                {"serviceName", Of("billing")}}));
  EXPECT_EQ(t_.Get().value(), kRow);
}

TEST_F(AccountLimitTableTest, NoRowIsNothing) {
  EXPECT_EQ(t_.Get().value(), std::nullopt);
  EXPECT_EQ(t_.KeysOfService("billing").value(), Keys());
}

// L16: theirs fails with a KeyError.
TEST_F(AccountLimitTableTest, L16ARowWithoutAWindowHasNone) {
  t_.PutItem({{"limit", Of(5)}});
  const AccountLimitRow row{.key = kKey, .limit = {5, seconds(0)}};
  EXPECT_EQ(t_.Get().value(), row);
  ASSERT_TRUE(t_.Put(kRow, row)) << "as it was seen";
  EXPECT_EQ(t_.Get().value(), kRow);
}

TEST_F(AccountLimitTableTest, AnAccountMayBeBlocked) {
  t_.PutItem({{"limit", Of(0)}, {"windowSec", Of(0)}});
  EXPECT_TRUE(t_.Get().value()->limit.blocked());
  t_.PutItem({{"limit", Of(-3)}});
  EXPECT_TRUE(t_.Get().value()->limit.blocked());
}

// L16: theirs lets 0.5 pass the test for a blocked account, and divides by its whole part.
TEST_F(AccountLimitTableTest, L16WhatIsNoLimitIsToldByRowAndAttribute) {
  struct Case {
    Item item;
    std::string_view told;
  };
  const auto number = [](const char* text) { return dynamo::Value{dynamo::Number{text}}; };
  for (const Case& wrong :
       {Case{{{"limit", number("0.5")}}, "limit: 0.5; expected a whole number from"},
        Case{{{"limit", Of("NaN")}}, "limit: the text 'NaN'"},
        Case{{{"windowSec", Of(5)}}, "limit: is missing; expected a whole number"},
        Case{{{"limit", Of(kMaxAccountTokens + 1)}}, "to 9000000000000"},
        Case{{{"limit", Of(1)}, {"windowSec", number("1.5")}}, "windowSec: 1.5"},
        Case{{{"limit", Of(1)}, {"windowSec", Of(-1)}},
             "windowSec: -1; expected a whole "
             "number from 0 to 31622400"},
        Case{{{"limit", Of(1)}, {"windowSec", Of(kLongestWindow.count() + 1)}},
             "windowSec: 3162"}}) {
    Item item = wrong.item;
    item.emplace("serviceName", Of("billing"));
    t_.PutItem(item);
    const Error error = t_.Get().error();
    EXPECT_EQ(error.code, Code::kFailedPrecondition);
    EXPECT_THAT(error.message, HasSubstr("limit of emr for acme: "));
    EXPECT_THAT(error.message, HasSubstr(std::string(wrong.told)));
    EXPECT_EQ(t_.KeysOfService("billing").value(), Keys{kKey}) << "R16: others can be read";
  }
}

TEST_F(AccountLimitTableTest, WhatIsForeignInARowStays) {
  t_.PutItem({{"limit", Of(1)}, {"configVersion", Of(3)}});
  ASSERT_TRUE(t_.Put(kRow, AccountLimitRow{.key = kKey, .limit = {.limit = 1}}));
  EXPECT_EQ(t_.RawItem()["configVersion"], Of(3));
}

TEST_F(AccountLimitTableTest, APutWithoutAServiceLeavesTheIndex) {
  ASSERT_TRUE(t_.Put(kRow));
  AccountLimitRow nobodys = kRow;
  nobodys.service = "";
  ASSERT_TRUE(t_.Put(nobodys, kRow));
  EXPECT_EQ(t_.Get().value(), nobodys);
  EXPECT_EQ(t_.KeysOfService("billing").value(), Keys());
}

// L11: theirs takes over the row of another service, and overwrites rows without a check.
TEST_F(AccountLimitTableTest, L11NothingIsChangedButWhatWasSeen) {
  ASSERT_TRUE(t_.Put(kRow));
  AccountLimitRow mine = kRow;
  mine.service = "search";
  EXPECT_EQ(t_.Put(mine).error().code, Code::kAborted) << "nothing was seen";
  std::vector<AccountLimitRow> others(3, kRow);
  others[0].limit.limit = 11;
  others[1].limit.window = seconds(61);
  others[2].service = "search";
  for (const AccountLimitRow& other : others) {
    const Status put = t_.Put({.key = kKey, .limit = {.limit = 7}, .service = "audit"}, other);
    ASSERT_FALSE(put);
    EXPECT_EQ(put.error().code, Code::kAborted);
    EXPECT_THAT(put.error().message, HasSubstr("limit of emr for acme"));
    EXPECT_EQ(t_.Change(DeleteAccountLimit{other}).error().code, Code::kAborted);
  }
  EXPECT_EQ(t_.Get().value(), kRow);
  EXPECT_TRUE(t_.Put(mine, kRow)) << "who saw whose it is may take it";
}

TEST_F(AccountLimitTableTest, DeletesWhatWasSeen) {
  ASSERT_TRUE(t_.Put(kRow));
  ASSERT_TRUE(t_.Change(DeleteAccountLimit{kRow}));
  EXPECT_EQ(t_.Get().value(), std::nullopt);
}

// L11: theirs reads one page.
TEST_F(AccountLimitTableTest, L11AllPagesOfAServiceInOrder) {
  constexpr int kRows = 2500;
  Keys expected;
  for (int i = 0; i < kRows; ++i) {
    expected.push_back({"r" + std::to_string(i % 7), "a" + std::to_string(i)});
    ASSERT_TRUE(t_.Put({.key = expected.back(), .limit = {i, seconds(1)}, .service = "billing"}));
  }
  ASSERT_TRUE(t_.Put({.key = kKey, .limit = {.limit = 1}, .service = "search"}));
  std::ranges::sort(expected);
  EXPECT_EQ(t_.KeysOfService("billing").value(), expected);
  EXPECT_GE(t_.sim.server.counts().Requests("Query"), 3U);
}

// The items of an index without a sort key have no order.
TEST_F(AccountLimitTableTest, KeysComeInOrderWhateverTheOrderOfTheIndex) {
  struct Unordered final : JsonClient {
    void Call(JsonCall, Deadline, JsonDone done) override {
      static constexpr char kItem[] =
          R"({{"resourceName":{{"S":"{}"}},"accountId":{{"S":"a"}},"limit":{{"N":"1"}}}})";
      done(JsonReply{.body = fmt::format(R"({{"Items":[{},{}]}})", fmt::format(kItem, "two"),
                                         fmt::format(kItem, "one"))});
    }
  } client;
  dynamo::Table table(client, t_.sim.scheduler, "acme-limits", 1, t_.layouts.limits);
  AccountLimitTable limits(table, "acme-limits-service-index");
  Keys keys;
  limits.KeysOfService("billing", Deadline::Never(),
                       [&](Result<Keys> found) { keys = found.value(); });
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].resource, "one");
}

// L11: theirs takes 'ab' + 'c' and 'a' + 'bc' for one key.
TEST_F(AccountLimitTableTest, L11KeysDoNotCollide) {
  for (const AccountKey& key : {AccountKey{"ab", "c"}, AccountKey{"a", "bc"}}) {
    ASSERT_TRUE(t_.Put({.key = key, .limit = {.limit = 1}, .service = "billing"}));
  }
  EXPECT_EQ(t_.KeysOfService("billing").value().size(), 2U);
}

TEST_F(AccountLimitTableTest, WhatCannotBeIsRefusedBeforeItIsSent) {
  EXPECT_EQ(t_.Change(DeleteAccountLimit{{.key = {"", "acme"}}}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(t_.KeysOfService("").error().code, Code::kInvalidArgument);
  EXPECT_EQ(t_.Get({"", "acme"}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(t_.sim.client.calls(), 0U);
}

// A change whose response was lost is completed by the same change.
TEST_F(AccountLimitTableTest, ALostAnswerMayBeFollowedByTheSameChange) {
  AccountLimitRow raised = kRow;
  raised.limit.limit = 20;
  const std::vector<AccountLimitChange> changes = {
      PutAccountLimit{kRow, {}}, PutAccountLimit{raised, kRow}, DeleteAccountLimit{raised}};
  for (const auto fault : {DirectClient::Fault::kUnsent, DirectClient::Fault::kLostResponse}) {
    LimitSim t;
    for (const AccountLimitChange& change : changes) {
      t.sim.client.FailFrom(1, fault);
      EXPECT_EQ(t.Change(change).error().code, Code::kUnavailable);
      t.sim.client.Heal();
      const Status again = t.Change(change);
      EXPECT_TRUE(again) << again.error().message;
    }
    EXPECT_EQ(t.Get().value(), std::nullopt);
  }
}

TEST_F(AccountLimitTableTest, EachReadTellsWhatFailed) {
  for (int row = 0; row < 1500; ++row) {
    ASSERT_TRUE(t_.Put({.key = {"emr", std::to_string(row)}, .limit = {}, .service = "billing"}));
  }
  for (std::uint64_t nth = 1; nth <= 2; ++nth) {
    t_.sim.client.FailFrom(nth, DirectClient::Fault::kUnsent);
    EXPECT_EQ(t_.KeysOfService("billing").error().code, Code::kUnavailable);
    t_.sim.client.Heal();
  }
  t_.sim.client.FailFrom(1, DirectClient::Fault::kUnsent);
  EXPECT_EQ(t_.Get().error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace weir::rate_limiter_py
