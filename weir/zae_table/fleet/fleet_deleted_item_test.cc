// Takes and returns in doubt on an item that is deleted, and created again by another process.
#include <gtest/gtest.h>

#include "weir/dynamodb/testing/sim_table.h"
#include "weir/zae_table/testing/fleet_callers_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;

class FleetDeletedItem : public testing::Test {
 protected:
  void Delete() {
    const HttpResponse response = fleet_.server().Handle(RequestOf(
        {.operation = "DeleteItem",
         .body = R"({"TableName":"limits","Key":{"PK":{"S":"ns-fleet/BUCKET#acme#llm#0"},)"
                 R"("SK":{"S":"#STATE"}}})"}));
    ASSERT_EQ(response.status, 200) << response.body;
  }
  Decision Acquire(FleetProcess& process, std::int64_t amount) {
    Decision result;
    Start(process, amount, result);
    fleet_.scheduler().RunAll();
    return result;
  }
  void Start(FleetProcess& process, std::int64_t amount, Decision& result) {
    const Charge charge{target_, {amount}};
    process.buckets().Acquire({&charge, 1}, process.now(), Soon(),
                              [&result](Result<Decision> decision) {
                                if (decision) result = *std::move(decision);
                              });
  }
  void Adjust(FleetProcess& process, std::int64_t delta, AdjustId token) {
    const Charge charge{target_, {delta}};
    process.buckets().Adjust({&charge, 1}, token, process.now(), Soon(), [](const Status&) {});
  }
  void AdjustShared(FleetProcess& process, std::int64_t delta, AdjustId token) {
    const Charge charge{target_, {delta}};
    AdjustTerms terms = token;
    terms.is_shared = true;
    process.buckets().Adjust({&charge, 1}, terms, process.now(), Soon(), [](const Status&) {});
  }
  Deadline Soon() const { return Deadline::After(fleet_.scheduler().clock(), seconds(3)); }
  /// The next write of the process is applied, and its response is lost.
  void LoseNextResponse(FleetProcess& process) { process.network().faults.lose_response = 1; }
  /// Runs until that write is applied. Later responses arrive.
  void RunUntilApplied(FleetProcess& process) {
    const std::size_t writes = fleet_.table().stream().size();
    while (fleet_.table().stream().size() == writes && fleet_.scheduler().RunNext()) {
    }
    process.network().faults = kUsualTrips;
  }
  std::int64_t Consumed() const {
    std::int64_t sum = 0;
    for (const auto& [name, consumed] : weir::dynamo::Consumed(fleet_)) sum += consumed;
    return sum;
  }

  mutable Fleet fleet_{11};
  FleetProcess& here_ = fleet_.Join();
  FleetProcess& there_ = fleet_.Join();
  const TargetPtr target_ = OneLimit("acme", PerMinute(60).Burst(50));
};

TEST_F(FleetDeletedItem, ATakeInDoubtCountsOnceOrSaysThatItMayBeTwice) {
  here_.network().faults = there_.network().faults = kUsualTrips;
  ASSERT_TRUE(Acquire(here_, 1'000).admitted);
  Decision decision;
  LoseNextResponse(here_);
  Start(here_, 3'000, decision);
  RunUntilApplied(here_);
  Delete();
  ASSERT_TRUE(Acquire(there_, 1'000).admitted);
  fleet_.scheduler().RunAll();
  const std::int64_t times = (Consumed() - 2'000) / 3'000;
  EXPECT_TRUE(decision.admitted);
  EXPECT_LE(times, decision.maybe_charged_twice ? 2 : 1);
  EXPECT_GE(times, 1);
}

TEST_F(FleetDeletedItem, AReturnInDoubtCountsOnce) {
  here_.network().faults = there_.network().faults = kUsualTrips;
  ASSERT_TRUE(Acquire(here_, 9'000).admitted);
  LoseNextResponse(here_);
  Adjust(here_, -3'000, {1, 2});
  RunUntilApplied(here_);
  Delete();
  ASSERT_TRUE(Acquire(there_, 30'000).admitted);
  fleet_.scheduler().RunAll();
  EXPECT_EQ(Consumed(), 9'000 - 3'000 + 30'000);
}

TEST_F(FleetDeletedItem, AWriteThatArrivesAfterTheItemWasMadeAgainIsNotApplied) {
  for (const std::int64_t late : {1, 20, 300}) {
    here_.network().faults = there_.network().faults = kUsualTrips;
    const std::int64_t before = Consumed();
    ASSERT_TRUE(Acquire(here_, 1'000).admitted);
    here_.network().faults.tail = 1;
    here_.network().faults.longest_tail = milliseconds(late * 2);
    Decision decision;
    Start(here_, 2'000, decision);
    here_.network().faults = kUsualTrips;
    Delete();
    ASSERT_TRUE(Acquire(there_, 1'000).admitted);
    EXPECT_TRUE(decision.admitted);
    EXPECT_GE(Consumed() - before, 4'000) << late;
    EXPECT_LE(Consumed() - before, decision.maybe_charged_twice ? 6'000 : 4'000) << late;
    fleet_.scheduler().Advance(seconds(60));
  }
}

TEST_F(FleetDeletedItem, ATokenThatIsSentThroughTwoProcessesCountsOnce) {
  here_.network().faults = there_.network().faults = kUsualTrips;
  ASSERT_TRUE(Acquire(here_, 9'000).admitted);
  AdjustShared(here_, -2'000, {7, 7});
  AdjustShared(there_, -2'000, {7, 7});
  fleet_.scheduler().RunAll();
  AdjustShared(there_, -2'000, {7, 7});
  fleet_.scheduler().RunAll();
  EXPECT_EQ(Consumed(), 7'000);
}

}  // namespace
}  // namespace weir::dynamo
