// When a fleet divides the bucket of one busy item, and when it does not; and the cost of a damaged
// number of shards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weir/dynamodb/testing/sim_table.h"
#include "weir/zae_table/testing/fleet_callers_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;

constexpr int kHotProcesses = 55;

std::int64_t ShardsOf(const Fleet& fleet) {
  std::int64_t shards = 0;
  for (const auto& [key, stored] : fleet.table().items()) {
    if (stored.now && stored.now->contains("rf")) ++shards;
  }
  return shards;
}

/// Every process takes single tokens of one bucket; together they send `demand` requests a second.
void Demand(Fleet& fleet, FleetCallers& callers, int processes, int demand) {
  const TargetPtr target = OneLimit("hot", PerSecond(100'000).Burst(1'000'000));
  const nanoseconds gap = nanoseconds(seconds(1)) * processes / demand;
  for (int i = 0; i < processes; ++i) {
    FleetProcess& process = fleet.Join();
    process.network().faults = kUsualTrips;
    callers.AskEvery(process, OneToken(target), gap, gap * i / processes);
  }
}

// No process writes more than ten times a second, so no two decisions share a write.
TEST(FleetHotItem, D8AnItemAt550UnitsASecondIsDividedWithinFiveSeconds) {
  Fleet fleet(8);
  FleetCallers callers(fleet, seconds(5));
  Demand(fleet, callers, kHotProcesses, 550);
  fleet.scheduler().Advance(seconds(5));
  EXPECT_GT(ShardsOf(fleet), 1);
  fleet.scheduler().RunAll(100'000'000);
  EXPECT_EQ(callers.Sum().failed, 0);
}

std::int64_t ShardsAfterThrottles(const std::string& reason) {
  Fleet fleet(9);
  FleetCallers callers(fleet, seconds(3));
  Demand(fleet, callers, 4, 40);
  fleet.scheduler().Advance(seconds(1));
  fleet.server().faults = {.throttle = 0.3, .throttling_reason = reason};
  fleet.scheduler().Advance(seconds(2));
  fleet.server().faults = {};
  fleet.scheduler().RunAll(100'000'000);
  EXPECT_GT(fleet.server().counts().throttled, 0U);
  return ShardsOf(fleet);
}

TEST(FleetHotItem, D8ThrottlesOfItsKeyRangeDivideIt) {
  EXPECT_GT(ShardsAfterThrottles("TableWriteKeyRangeThroughputExceeded"), 1);
}

TEST(FleetHotItem, D8ThrottlesOfAnIndexOrTheAccountDoNot) {
  for (const char* reason :
       {"IndexWriteKeyRangeThroughputExceeded", "TableWriteAccountLimitExceeded",
        "TableWriteProvisionedThroughputExceeded", "TableWriteMaxOnDemandThroughputExceeded"}) {
    EXPECT_EQ(ShardsAfterThrottles(reason), 1) << reason;
  }
}

// Stores the number by a separate update, as damage or an old client would leave it.
void StoreShardCount(Fleet& fleet, std::int64_t shards) {
  const HttpResponse response = fleet.server().Handle(RequestOf(
      {.operation = "UpdateItem",
       .body = fmt::format(R"({{"TableName":"limits","Key":{{"PK":{{"S":"{}/BUCKET#hot#llm#0"}},)"
                           R"("SK":{{"S":"#STATE"}}}},"UpdateExpression":"SET shard_count = :n",)"
                           R"("ExpressionAttributeValues":{{":n":{{"N":"{}"}}}}}})",
                           kFleetNamespace, shards)}));
  ASSERT_EQ(response.status, 200) << response.body;
}

// Two processes send two requests a second each for ten minutes. 0: the number stays as it is.
std::uint64_t ReadsInTenMinutes(std::int64_t damaged) {
  Fleet fleet(10);
  FleetCallers callers(fleet, seconds(600));
  Demand(fleet, callers, 2, 4);
  fleet.scheduler().Advance(milliseconds(1'200));
  if (damaged != 0) StoreShardCount(fleet, damaged);
  fleet.scheduler().RunAll(100'000'000);
  EXPECT_GT(callers.Sum().admitted, 2'000) << damaged;
  return Reads(fleet);
}

TEST(FleetHotItem, D9ADamagedNumberOfShardsCostsFortyReadsInTenMinutes) {
  const std::uint64_t usual = ReadsInTenMinutes(0);
  for (const std::int64_t damaged : {33, 1'024, 1'000'000'000}) {
    EXPECT_LE(ReadsInTenMinutes(damaged), usual + 40U * 2) << damaged;
  }
}

}  // namespace
}  // namespace weir::dynamo
