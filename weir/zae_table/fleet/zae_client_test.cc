// The model of zae-limiter's client behaves as 0.17.0 was observed to, alone and together with
// Weir.
#include "weir/zae_table/testing/zae_client_fixture.h"

#include <gtest/gtest.h>

#include "weir/zae_table/testing/zae_aggregator_fixture.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;

class ZaeClientTest : public testing::Test {
 protected:
  std::vector<ZaeHeld> Acquire(std::int64_t tokens) { return AcquireAll({{target_, {tokens}}}); }
  std::vector<ZaeHeld> AcquireAll(const std::vector<Charge>& charges) {
    std::vector<ZaeHeld> result;
    client_.Acquire(charges, [&](std::vector<ZaeHeld> held) { result = std::move(held); });
    fleet_.scheduler().RunAll();
    return result;
  }
  int AcquireOnes(int times) {
    int admitted = 0;
    for (; times > 0; --times) admitted += Acquire(1'000).empty() ? 0 : 1;
    return admitted;
  }
  bool WeirAcquires(std::int64_t tokens) {
    const Charge charge{target_, {tokens}};
    bool admitted = false;
    weir_.buckets().Acquire(
        {&charge, 1}, weir_.now(), Deadline::Never(),
        [&](const Result<Decision>& decision) { admitted = decision && decision->admitted; });
    fleet_.scheduler().RunAll();
    return admitted;
  }
  std::optional<std::int64_t> Stored(const std::string& name, std::uint32_t shard = 0) {
    const auto item = Get(shard);
    return item ? GetNumber(*item, name) : std::nullopt;
  }
  std::optional<Item> Get(std::uint32_t shard) {
    const TableKey key = keys_.Bucket({"acme", "llm", shard});
    std::optional<Item> found;
    table_.Get(key, Deadline::Never(), [&](auto item) { found = std::move(item).value(); });
    fleet_.scheduler().RunAll();
    return found;
  }

  Fleet fleet_{1};
  FleetLedger ledger_{fleet_.scheduler().clock()};
  FleetProcess& weir_ = fleet_.Join();
  ZaeClient client_{fleet_, ledger_, 7};
  SimProcess looker_{fleet_.scheduler(), fleet_.server(), 9, milliseconds(0)};
  Table table_{looker_.client(), looker_.scheduler(), std::string(kFleetTable), 10, ZaeLayout()};
  const Keys keys_{std::string(kFleetNamespace)};
  const TargetPtr target_ = MakeTarget({"acme", "llm", 0}, {{"rpm", PerMinute(100)}});
};

TEST_F(ZaeClientTest, SharesABucketWithWeirExactly) {
  int admitted = 0;
  for (int i = 0; i < 60; ++i) {
    admitted += Acquire(1'000).empty() ? 0 : 1;
    admitted += WeirAcquires(1'000) ? 1 : 0;
  }
  EXPECT_EQ(admitted, 100);
  EXPECT_EQ(Stored("b_rpm_tc"), 100'000);
}

// Defect W1: writes on stored balances take the tokens of an idle bucket before its refill.
TEST_F(ZaeClientTest, AdmitsNearlyTwiceTheCapacityAfterARest) {
  EXPECT_EQ(AcquireOnes(1), 1);
  fleet_.scheduler().Advance(seconds(61));
  EXPECT_EQ(AcquireOnes(300), 199);
}

TEST_F(ZaeClientTest, LosesFractionsOfARefill) {
  EXPECT_EQ(AcquireOnes(100), 100);
  for (int i = 0; i < 100; ++i) {
    fleet_.scheduler().Advance(milliseconds(7));
    Acquire(1'000);
  }
  EXPECT_LT(Stored("b_rpm_tc").value_or(0), 102'000);
}

TEST_F(ZaeClientTest, ReturnsWithinTheCeilingOrAsksForAPass) {
  ASSERT_FALSE(Acquire(1'000).empty());
  const auto held = Acquire(30'000);
  ASSERT_FALSE(held.empty());
  client_.Adjust(held.front(), {-10'000});
  fleet_.scheduler().RunAll();
  EXPECT_EQ(Stored("b_rpm_tk"), 79'000);
  client_.Adjust(held.front(), {-90'000});
  fleet_.scheduler().RunAll();
  EXPECT_EQ(client_.tally().unproven, 1);
  EXPECT_EQ(Stored("vu"), 0);
  EXPECT_EQ(Stored("b_rpm_tk"), 169'000);
  ASSERT_FALSE(Acquire(1'000).empty());
  EXPECT_EQ(Stored("b_rpm_tk"), 99'000);
}

TEST_F(ZaeClientTest, AParameterSyncLeavesALimitWithoutTokensAndTheNextPassSeedsIt) {
  ASSERT_FALSE(Acquire(1'000).empty());
  const TargetPtr grown =
      MakeTarget(target_->key, {{"rpm", PerMinute(100)}, {"tpm", PerMinute(1'000)}});
  client_.SyncParameters(grown, {});
  fleet_.scheduler().RunAll();
  EXPECT_EQ(Stored("b_tpm_cp"), 1'000'000);
  EXPECT_EQ(Stored("b_tpm_tk"), std::nullopt);
  EXPECT_TRUE(WeirAcquires(1'000));
  ASSERT_FALSE(AcquireAll({{grown, {1'000, 5'000}}}).empty());
  EXPECT_EQ(Stored("b_tpm_tk"), 995'000);
  EXPECT_EQ(client_.tally().seeds, 1);
}

TEST_F(ZaeClientTest, GivesBackTheChildWhereTheParentRefuses) {
  const TargetPtr small = MakeTarget({"team", "llm", 0}, {{"rpm", PerMinute(2)}});
  ASSERT_EQ(AcquireAll({{target_, {1'000}}, {small, {2'000}}}).size(), 2U);
  EXPECT_TRUE(AcquireAll({{target_, {1'000}}, {small, {2'000}}}).empty());
  EXPECT_EQ(Stored("b_rpm_tc"), 1'000);
  EXPECT_EQ(client_.tally().compensated, 1);
}

TEST_F(ZaeClientTest, CountsAgainWhatGotNoAnswer) {
  ASSERT_FALSE(Acquire(1'000).empty());
  client_.network().Script("UpdateItem", 2, sim::NetworkFault::kLoseResponse);
  ASSERT_FALSE(Acquire(1'000).empty());
  EXPECT_EQ(Stored("b_rpm_tc"), 3'000);
  EXPECT_EQ(ledger_.calls().back().stored->most, 2);
}

// Defect W3: a doubling creates tokens.
TEST_F(ZaeClientTest, ItsAggregatorDoublesABusyBucketByFullClones) {
  Fleet fleet(2, 40'000);
  FleetLedger ledger(fleet.scheduler().clock());
  ZaeClient client(fleet, ledger, 3);
  const Instant end = fleet.scheduler().clock().Now() + milliseconds(60);
  const ZaeAggregator aggregator(fleet, 4, milliseconds(50), end);
  for (int i = 0; i < 39; ++i) {
    const Charge charge{target_, {1'000}};
    client.Acquire({&charge, 1}, [](std::vector<ZaeHeld>) {});
    fleet.scheduler().RunReady();
  }
  fleet.scheduler().RunAll();
  EXPECT_EQ(aggregator.tally().bumps, 2);
  EXPECT_EQ(aggregator.tally().clones, 1);
  const auto movements = fleet.ReadMovements();
  ASSERT_EQ(movements.size(), 1U);
  EXPECT_EQ(movements.begin()->second.back().consumed, -50'000);
}

}  // namespace
}  // namespace weir::dynamo
