// The faults of the service itself, each alone and counted.

#include <gmock/gmock.h>

#include "weir/sim/kinesis/kinesis_fixture.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using testing::SizeIs;

using SimKinesisFault = KinesisFixture;

const std::vector<json> kThree(3, PutEntry("k", "x", "0"));

TEST_F(SimKinesisFault, AnEntryIsThrottledAndUsesNothing) {
  kinesis.faults.throttle = 1;
  const json response = PutAll(kThree);
  EXPECT_EQ(response["FailedRecordCount"], 3);
  EXPECT_EQ(response["Records"][2]["ErrorCode"], "ProvisionedThroughputExceededException");
  EXPECT_EQ(kinesis.counts().throttled, 3U);
  EXPECT_EQ(kinesis.counts().over_limit, 0U);
  kinesis.faults.throttle = 0;
  EXPECT_EQ(PutMany(1000, 1), 1000U);
}

TEST_F(SimKinesisFault, AnEntryFailsBeforeItIsStored) {
  kinesis.faults.fail_before = 1;
  const json response = PutAll(kThree);
  EXPECT_EQ(response["Records"][0]["ErrorCode"], "InternalFailure");
  EXPECT_EQ(kinesis.counts().failed_before, 3U);
  EXPECT_EQ(kinesis.counts().stored, 0U);
}

TEST_F(SimKinesisFault, AnEntryFailsAfterItWasStored) {
  kinesis.faults.fail_after = 1;
  EXPECT_EQ(PutAll(kThree)["FailedRecordCount"], 3);
  EXPECT_EQ(kinesis.counts().failed_after, 3U);
  EXPECT_THAT(kinesis.Delivered("s"), SizeIs(3));
  const KinesisResponse one = Call("PutRecord", PutEntry("k", ""));
  EXPECT_EQ(one.status, 500);
  EXPECT_EQ(one.error, "InternalFailure");
  EXPECT_THAT(kinesis.Delivered("s"), SizeIs(4));
}

TEST_F(SimKinesisFault, FaultsComeAsOftenAsTheyShould) {
  kinesis.faults = {.throttle = 0.2, .fail_before = 0.2};
  PutMany(400, 1);
  EXPECT_NEAR(static_cast<double>(kinesis.counts().throttled), 80, 30);
  EXPECT_NEAR(static_cast<double>(kinesis.counts().failed_before), 64, 30);
}

TEST_F(SimKinesisFault, AnAnswerHasOneEntryLessOrMore) {
  kinesis.faults.miscount = 1;
  int less = 0;
  for (int i = 0; i < 40; ++i) {
    const std::size_t entries = PutAll(kThree)["Records"].size();
    EXPECT_TRUE(entries == 2 || entries == 4) << entries;
    less += entries == 2 ? 1 : 0;
  }
  EXPECT_GT(less, 5);
  EXPECT_LT(less, 35);
  EXPECT_EQ(kinesis.counts().miscounted, 40U);
  EXPECT_EQ(kinesis.counts().stored, 120U);
}

TEST_F(SimKinesisFault, AListingIsRefused) {
  kinesis.faults.refuse_list = 1;
  const auto response = Refused("ListShards", json::object(), "LimitExceededException");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(kinesis.counts().refused_lists, 1U);
  EXPECT_EQ(kinesis.counts().invalid, 0U);
  PutAll(kThree);
}

TEST_F(SimKinesisFault, ShardsSplitAndMergeBeforeAPut) {
  kinesis.faults.reshard = 1;
  for (int i = 0; i < 50; ++i) PutAll(kThree);
  const KinesisCounts& counts = kinesis.counts();
  EXPECT_GT(counts.splits, 10U);
  EXPECT_GT(counts.merges, 10U);
  const KinesisStream& stream = *kinesis.Stream("s");
  EXPECT_EQ(stream.shards().size(), 2 + 2 * counts.splits + counts.merges);
  EXPECT_EQ(stream.OpenShards().size(), 2 + counts.splits - counts.merges);
  EXPECT_THAT(kinesis.Delivered("s"), SizeIs(150));
}

TEST_F(SimKinesisFault, TheOpenShardsAlwaysHoldEachHashOnce) {
  kinesis.faults.reshard = 1;
  for (int i = 0; i < 100; ++i) {
    PutAll(kThree);
    std::map<Hash128, Hash128> ranges;
    const KinesisStream& stream = *kinesis.Stream("s");
    for (const std::uint64_t shard : stream.OpenShards()) {
      ranges[stream.shards()[shard].range.first] = stream.shards()[shard].range.last;
    }
    Hash128 next = 0;
    for (const auto& [first, last] : ranges) {
      ASSERT_EQ(first, next);
      next = last + 1;
    }
    ASSERT_EQ(next, Hash128{0}) << "past the last one";
  }
}

TEST_F(SimKinesisFault, ARequestEndsInAnErrorAndHalfOfThemWereCarriedOut) {
  kinesis.faults.error = 1;
  for (int i = 0; i < 100; ++i) {
    const KinesisResponse response = Call("PutRecords", {{"Records", {kThree[0]}}});
    EXPECT_EQ(response.status, 500);
    EXPECT_EQ(response.error, "InternalFailure");
  }
  EXPECT_EQ(kinesis.counts().errors, 100U);
  EXPECT_GT(kinesis.counts().stored, 25U);
  EXPECT_LT(kinesis.counts().stored, 75U);
}

/// Returns all responses of a run of puts.
std::string Trace(std::uint64_t seed, const KinesisFaults& faults) {
  SimClock clock;
  SimKinesis kinesis(clock, seed);
  kinesis.CreateStream("s", 2);
  kinesis.faults = faults;
  std::string trace;
  for (int i = 0; i < 50; ++i) {
    trace +=
        kinesis.Handle(KinesisRequest("PutRecords", {{"StreamName", "s"}, {"Records", kThree}}))
            .body;
    trace += kinesis.Handle(KinesisRequest("ListShards", {{"StreamName", "s"}})).body;
    clock.Advance(milliseconds(7));
  }
  return trace;
}

TEST(SimKinesisSeed, ReplaysARunAndAnotherSeedGivesAnother) {
  const KinesisFaults faults{.throttle = 0.1,
                             .fail_before = 0.1,
                             .fail_after = 0.1,
                             .miscount = 0.1,
                             .refuse_list = 0.1,
                             .reshard = 0.1,
                             .error = 0.1};
  EXPECT_EQ(Trace(1, faults), Trace(1, faults));
  EXPECT_NE(Trace(1, faults), Trace(2, faults));
}

}  // namespace
}  // namespace weir::sim
