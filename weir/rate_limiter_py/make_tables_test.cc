// Creation of the three tables, with and without existing tables.
#include "weir/rate_limiter_py/make_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/dynamodb/testing/sim_table.h"
#include "weir/sim/dynamodb/dynamo_table.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::DirectClient;
using dynamo::Feature;
using testing::HasSubstr;
using testing::IsEmpty;

struct MakingSim {
  Result<TablesMade> Make() {
    std::optional<Result<TablesMade>> result;
    MakeTables(tables, scheduler, Deadline::Never(), [&](auto made) { result = std::move(made); });
    scheduler.RunAll();
    return result.value_or(Fail(Code::kInternal, "no answer came"));
  }
  // Creates a table as another program would.
  void MakeAs(const std::string& name, const dynamo::TableLayout& layout) {
    dynamo::CreateTableIn(server, name, layout);
  }
  std::vector<std::string> Check(dynamo::Table& table, const dynamo::TablePurpose& purpose) {
    dynamo::TableAdmin admin(table, scheduler, purpose);
    std::vector<std::string> lines{"no answer"};
    admin.Check(Deadline::Never(), [&](auto found) { lines = found.value(); });
    return lines;
  }
  const sim::DynamoTable* Made(const std::string& name) { return server.Table(name); }

  sim::SimScheduler scheduler;
  sim::SimDynamo server{scheduler.clock(), 1};
  DirectClient client{server};
  Tables tables{client, scheduler,
                FindNames("acme", [](const std::string&) { return std::nullopt; }).value(), 1};
};

const dynamo::TablePurpose kLimitsPurpose{
    .time_to_live = "", .recovery = true, .version = false, .exact = true};
const dynamo::TablePurpose kSlotsPurpose{
    .time_to_live = "expirationTime", .recovery = false, .version = false, .exact = true};

TEST(MakeTables, MakesAllThree) {
  MakingSim sim;
  const auto made = sim.Make();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->tokens.created && made->limits.created && made->slots.created);
  EXPECT_EQ(made->slots.time_to_live, Feature::kOn);
  EXPECT_EQ(made->limits.recovery, Feature::kOn);
  EXPECT_FALSE(made->limits.wrote_version);
  EXPECT_EQ(sim.Made("acme-non-fungible-tokens")->ttl_attribute, "expirationTime");
  EXPECT_EQ(sim.Made("acme-fungible-tokens")->ttl_attribute, "");
  EXPECT_EQ(sim.Made("acme-limits")->ttl_attribute, "");
  EXPECT_TRUE(sim.Made("acme-limits")->backups);
  EXPECT_FALSE(sim.Made("acme-fungible-tokens")->backups);
  EXPECT_TRUE(sim.Made("acme-limits")->items().empty()) << "no record of ours";
  EXPECT_THAT(sim.Check(sim.tables.limits, kLimitsPurpose), IsEmpty());
  EXPECT_THAT(sim.Check(sim.tables.slots, kSlotsPurpose), IsEmpty());
}

TEST(MakeTables, WhatIsThereIsNotMadeAgain) {
  MakingSim sim;
  ASSERT_TRUE(sim.Make());
  const auto again = sim.Make();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->tokens.created || again->limits.created || again->slots.created);
  EXPECT_EQ(again->slots.time_to_live, Feature::kOn);
}

TEST(MakeTables, WaitsUntilTheyCanBeUsed) {
  MakingSim sim;
  sim.server.faults.table_creation = std::chrono::seconds(5);
  const Instant start = sim.scheduler.clock().Now();
  ASSERT_TRUE(sim.Make());
  EXPECT_GE(sim.scheduler.clock().Now() - start, std::chrono::seconds(15));
}

// Billing, streams and further indexes of an existing table belong to its owner.
TEST(MakeTables, TakesTablesThatSomebodyElseMade) {
  MakingSim sim;
  dynamo::TableLayout limits = sim.tables.layouts.limits;
  limits.stream = "NEW_AND_OLD_IMAGES";
  limits.global_indexes["by-account"] = {"accountId", "", "ALL"};
  sim.MakeAs("acme-limits", limits);
  const auto made = sim.Make();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(made->limits.created);
  EXPECT_TRUE(made->slots.created);
  EXPECT_THAT(sim.Check(sim.tables.limits, kLimitsPurpose),
              testing::ElementsAre("global index by-account: should not be there",
                                   "stream: NEW_AND_OLD_IMAGES, should be none"));
}

TEST(MakeTables, ATableOfOtherKeysIsRefusedByNameAndLeftAlone) {
  MakingSim sim;
  sim.MakeAs("acme-limits", sim.tables.layouts.slots);
  const auto made = sim.Make();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(made.error().message, HasSubstr("table acme-limits exists with another layout"));
  EXPECT_THAT(made.error().message, HasSubstr("resourceCoordinate, should be resourceName"));
  EXPECT_FALSE(sim.Made("acme-limits")->backups);
}

TEST(MakeTables, ATableWithoutTheIndexIsRefused) {
  MakingSim sim;
  sim.MakeAs("acme-non-fungible-tokens", [&] {
    dynamo::TableLayout bare = sim.tables.layouts.slots;
    bare.global_indexes.clear();
    bare.key_types.erase("resourceId");
    return bare;
  }());
  const auto made = sim.Make();
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("global index acme-resource-index: missing"));
  EXPECT_EQ(sim.Made("acme-non-fungible-tokens")->ttl_attribute, "");
}

TEST(MakeTables, ACallThatWasCutOffIsCompletedByTheNext) {
  for (const auto fault : {DirectClient::Fault::kUnsent, DirectClient::Fault::kLostResponse}) {
    bool succeeded = false;
    for (std::uint64_t nth = 1; !succeeded; ++nth) {
      ASSERT_LT(nth, 40U);
      MakingSim sim;
      sim.client.FailFrom(nth, fault);
      succeeded = sim.Make().has_value();
      sim.client.Heal();
      const auto again = sim.Make();
      ASSERT_TRUE(again) << nth << ": " << again.error().message;
      EXPECT_THAT(sim.Check(sim.tables.limits, kLimitsPurpose), IsEmpty()) << nth;
      EXPECT_THAT(sim.Check(sim.tables.slots, kSlotsPurpose), IsEmpty()) << nth;
    }
  }
}

}  // namespace
}  // namespace weir::rate_limiter_py
