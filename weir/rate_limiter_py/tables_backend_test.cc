// The three tables as one backend.
#include "weir/rate_limiter_py/tables_backend.h"

#include <gtest/gtest.h>

#include "weir/dynamodb/testing/sim_table.h"
#include "weir/rate_limiter_py/testing/token_fixture.h"
#include "weir/sim/dynamodb/dynamo_table.h"

namespace weir::rate_limiter_py {
namespace {

class TablesBackendTest : public testing::Test {
 protected:
  template <class T, class Start>
  Result<T> Ask(Start start) {
    std::optional<Result<T>> result;
    start(Done<T>([&](Result<T> received) { result.emplace(std::move(received)); }));
    scheduler_.RunAll();
    return result.value_or(Fail(Code::kInternal, "no answer came"));
  }
  Result<TokenResult> Take() {
    return Ask<TokenResult>([&](auto done) {
      backend_.tokens().Take(kKey, {10, std::chrono::seconds(1)}, 1, kStart, Deadline::Never(),
                             std::move(done));
    });
  }

  sim::SimScheduler scheduler_;
  sim::SimDynamo server_{scheduler_.clock(), 1};
  dynamo::DirectClient client_{server_};
  TablesBackend backend_{client_,
                         scheduler_,
                         FindNames("acme", [](const std::string&) { return std::nullopt; }).value(),
                         {.seed = 1}};
};

TEST_F(TablesBackendTest, EachStoreIsOnItsTable) {
  ASSERT_TRUE(Ask<TablesMade>([&](auto done) {
    MakeTables(backend_.tables(), scheduler_, Deadline::Never(), std::move(done));
  }));
  EXPECT_EQ(Take()->available, 9);
  EXPECT_TRUE(Ask<void>([&](auto done) {
    backend_.limits().Change(PutAccountLimit{{.key = kKey, .limit = {.limit = 1}}, {}},
                             Deadline::Never(), std::move(done));
  }));
  const auto claimed = Ask<ClaimResult>([&](auto done) {
    backend_.slots().Claim({.slot = {kKey, NewSlotId(1, 2)}, .limit = 1, .ttl = milliseconds(5000)},
                           kStart, Deadline::Never(), std::move(done));
  });
  ASSERT_TRUE(claimed) << claimed.error().message;
  EXPECT_TRUE(claimed->slot);
  for (const auto* const table : {"acme-fungible-tokens", "acme-limits"}) {
    EXPECT_EQ(server_.Table(table)->items().size(), 1U) << table;
  }
  EXPECT_GE(server_.Table("acme-non-fungible-tokens")->items().size(), 1U);
}

TEST_F(TablesBackendTest, ATableThatIsNotThereIsNotFound) {
  EXPECT_EQ(Take().error().code, Code::kNotFound);
}

TEST_F(TablesBackendTest, IsNamedByItsTables) {
  EXPECT_EQ(backend_.Describe(),
            "rate-limiter-py's tables acme-fungible-tokens, acme-limits, acme-non-fungible-tokens");
}

}  // namespace
}  // namespace weir::rate_limiter_py
