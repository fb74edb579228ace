// Processes that share a stream, under faults. Each simulation prints its seed.
#include "weir/dynamodb/streams/stream_consumer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "weir/dynamodb/streams/testing/stream_fleet.h"

namespace weir::dynamo {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Each;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class StreamSeeds : public testing::TestWithParam<std::uint64_t> {
 protected:
  FleetOptions Options() const { return {.seed = GetParam()}; }
};

INSTANTIATE_TEST_SUITE_P(Simulation, StreamSeeds, testing::Range<std::uint64_t>(1, 21));

/// Writes while shards are replaced.
void WriteAndReplace(StreamFleet& fleet, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    fleet.Write(30, milliseconds(200));
    fleet.ReplaceShard(round % 3 != 2);
  }
}

// Fails if: a child is read before its parent, a page's rest is dropped, or a batch is delivered
// twice when it is released.
TEST_P(StreamSeeds, WithoutCrashesEachRecordIsDeliveredOnce) {
  StreamFleet fleet(Options());
  fleet.Write(20, milliseconds(10));
  fleet.Start();
  WriteAndReplace(fleet, 3);
  fleet.Start();
  fleet.Start();
  WriteAndReplace(fleet, 5);
  EXPECT_TRUE(fleet.RunUntilRead(minutes(5)));
  EXPECT_THAT(fleet.FindFaults(), IsEmpty());
  EXPECT_THAT(fleet.CountDeliveries(), Each(Pair(testing::_, 1)));
  EXPECT_THAT(fleet.EventsOf<ShardLost>(), IsEmpty());
}

TEST_P(StreamSeeds, LostResponsesAndFailuresLoseNothing) {
  FleetOptions options = Options();
  options.lost = 0.1;
  options.unavailable = 0.1;
  StreamFleet fleet(options);
  fleet.server.faults.throttle = 0.05;
  fleet.server.faults.empty_stream_page = 0.3;
  fleet.server.faults.stream_page = 3;
  fleet.Start();
  fleet.Start();
  WriteAndReplace(fleet, 6);
  EXPECT_TRUE(fleet.RunUntilRead(minutes(10)));
  EXPECT_THAT(fleet.FindFaults(), IsEmpty());
  EXPECT_GT(fleet.server.counts().throttled, 0U);
}

// Fails if: a process keeps the epoch of the lease that it takes, or a position is stored before
// its batch is completed.
TEST_P(StreamSeeds, ACrashLosesNothing) {
  FleetOptions options = Options();
  options.lost = 0.05;
  // Each batch of half of the seeds is stored at once.
  if (GetParam() % 2 == 0) options.consumer.checkpoint_interval = nanoseconds(0);
  StreamFleet fleet(options);
  std::string first = fleet.Start();
  std::string second = fleet.Start();
  for (int round = 0; round < 4; ++round) {
    fleet.Write(30, milliseconds(200));
    fleet.Kill(first);
    first = std::exchange(second, fleet.Start());
    fleet.ReplaceShard(true);
  }
  EXPECT_TRUE(fleet.RunUntilRead(minutes(20))) << fleet.Describe();
  EXPECT_THAT(fleet.FindFaults(), IsEmpty());
}

// Fails if: the drain does not wait for the batch in flight, or does not store its position.
TEST_P(StreamSeeds, ADrainHandsOverWithoutRepetitions) {
  StreamFleet fleet(Options());
  std::string running = fleet.Start();
  for (int round = 0; round < 4; ++round) {
    fleet.Write(30, milliseconds(200));
    fleet.Drain(running);
    fleet.Write(5, milliseconds(200));
    fleet.Run(seconds(2));
    EXPECT_TRUE(fleet.IsDone(running));
    running = fleet.Start();
    fleet.ReplaceShard(true);
  }
  EXPECT_TRUE(fleet.RunUntilRead(minutes(5)));
  EXPECT_THAT(fleet.FindFaults(), IsEmpty());
  EXPECT_THAT(fleet.CountDeliveries(), Each(Pair(testing::_, 1)));
}

// Fails if: a trimmed position is resumed without a gap, or the gap ends the shard.
TEST_P(StreamSeeds, ALongOutageIsReportedAsAGap) {
  StreamFleet fleet(Options());
  const std::string process = fleet.Start();
  WriteAndReplace(fleet, 2);
  fleet.RunUntilRead(minutes(5));
  fleet.Drain(process);
  fleet.Run(minutes(1));
  fleet.Write(40, hours(1));
  if (GetParam() % 2 == 0) fleet.ReplaceShard(true);
  fleet.Run(hours(30));
  fleet.Write(10, milliseconds(100));
  fleet.Start();
  fleet.RunUntilRead(minutes(5));
  EXPECT_THAT(fleet.FindFaults(), IsEmpty());
  const auto gaps = fleet.gaps;
  ASSERT_FALSE(gaps.empty());
  EXPECT_TRUE(fleet.completed.contains(fleet.records())) << "reading goes on after the gap";
  for (const StreamGap& gap : gaps) {
    EXPECT_FALSE(gap.shard.empty());
    EXPECT_FALSE(gap.reason.empty());
    EXPECT_LT(gap.after.value_or(UnixMillis{}), gap.before);
  }
}

// The shard continues, but the records of its beginning are trimmed. Fails if: it is begun at the
// horizon.
TEST_P(StreamSeeds, AShardWhoseBeginningIsTrimmedHasAGap) {
  StreamFleet fleet(Options());
  const std::string process = fleet.Start();
  fleet.Write(20, milliseconds(100));
  fleet.Run(seconds(20));
  fleet.ReplaceShard(true);
  fleet.Run(minutes(1));  // the children are known, and have no record
  fleet.Drain(process);
  fleet.Run(minutes(1));
  EXPECT_THAT(fleet.gaps, IsEmpty());
  fleet.Write(30, minutes(1));
  fleet.Run(hours(25));
  fleet.Write(10, milliseconds(100));
  fleet.Start();
  fleet.RunUntilRead(minutes(1));
  EXPECT_THAT(fleet.FindFaults(), IsEmpty());
  EXPECT_TRUE(fleet.completed.contains(fleet.records()));
  EXPECT_THAT(fleet.gaps, SizeIs(2)) << "one of each child";
}

TEST_P(StreamSeeds, AShortOutageHasNoGap) {
  StreamFleet fleet(Options());
  const std::string process = fleet.Start();
  WriteAndReplace(fleet, 2);
  fleet.Drain(process);
  fleet.Run(minutes(1));
  fleet.Write(20, minutes(40));
  fleet.ReplaceShard(true);
  fleet.Start();
  EXPECT_TRUE(fleet.RunUntilRead(minutes(5)));
  EXPECT_THAT(fleet.FindFaults(), IsEmpty());
}

TEST(StreamConsumer, ExpiredIteratorsAreReplaced) {
  FleetOptions options;
  options.longest_work = minutes(40);  // longer than an iterator lives
  options.consumer.batch_records = 10;
  StreamFleet fleet(options);
  fleet.Write(50, milliseconds(10));
  fleet.Start();
  EXPECT_TRUE(fleet.RunUntilRead(hours(10)));
  EXPECT_GT(fleet.server.counts().expired_iterators, 0U);
  EXPECT_THAT(fleet.FindFaults(), IsEmpty());
  EXPECT_THAT(fleet.CountDeliveries(), Each(Pair(testing::_, 1)));
}

TEST(StreamConsumer, LatestBeginsAtTheEnd) {
  FleetOptions options;
  options.consumer.from = ShardPosition::At::kLatest;
  StreamFleet fleet(options);
  fleet.Write(20, milliseconds(10));
  fleet.ReplaceShard(true);
  fleet.Write(20, milliseconds(10));
  const std::uint64_t before = fleet.records();
  fleet.Start();
  fleet.Run(seconds(5));
  fleet.Write(20, milliseconds(100));
  fleet.ReplaceShard(true);
  fleet.Write(20, milliseconds(100));
  fleet.Run(minutes(2));
  for (const auto& [number, count] : fleet.CountDeliveries()) {
    EXPECT_EQ(count, number <= before ? 0 : 1) << number;
  }
}

// An iterator at the end that expires before the first record must not skip records.
TEST(StreamConsumer, LatestLosesNothingWhenItsProcessEnds) {
  FleetOptions options;
  options.consumer.from = ShardPosition::At::kLatest;
  StreamFleet fleet(options);
  const std::string process = fleet.Start();
  fleet.Run(seconds(5));
  fleet.Drain(process);
  fleet.Run(seconds(5));
  fleet.Write(10, milliseconds(10));
  fleet.Start();
  EXPECT_TRUE(fleet.RunUntilRead(minutes(2)));
}

// Fails if: records are lost in a shard whose first holder comes long after its lease was created.
TEST(StreamConsumer, LatestLosesNothingInAShardThatIsTakenLate) {
  FleetOptions options;
  options.consumer.from = ShardPosition::At::kLatest;
  options.consumer.max_shards = 1;
  StreamFleet fleet(options);
  fleet.Write(20, milliseconds(10));
  fleet.ReplaceShard(true);
  fleet.Write(20, milliseconds(10));
  const std::uint64_t before = fleet.records();
  fleet.Run(minutes(2));  // more than the margin of clocks
  fleet.Start();
  fleet.Run(seconds(30));
  fleet.Write(60, milliseconds(100));
  fleet.Run(minutes(5));
  fleet.Start();
  fleet.Run(minutes(5));
  EXPECT_THAT(fleet.gaps, IsEmpty());
  for (const auto& [number, count] : fleet.CountDeliveries()) {
    EXPECT_EQ(count, number <= before ? 0 : 1) << number;
  }
}

// Fails if: a process that has read only old records stores that it has read.
TEST(StreamConsumer, LatestIsStoredForEachLaterProcess) {
  FleetOptions options;
  options.consumer.from = ShardPosition::At::kLatest;
  options.consumer.batch_records = 10;
  StreamFleet fleet(options);
  fleet.Write(400, milliseconds(10));
  fleet.Run(minutes(5));
  for (const auto time : {seconds(5), seconds(4)}) {
    const std::string process = fleet.Start();
    fleet.Run(time);
    fleet.Drain(process);
    fleet.Run(minutes(5));
  }
  fleet.Start();
  fleet.Run(minutes(5));
  EXPECT_EQ(fleet.deliveries.size(), 0U);
}

// Fails if: a process that continues counts records from before the first one began.
TEST(StreamConsumer, LatestIsStoredForTheNextProcess) {
  FleetOptions options;
  options.consumer.from = ShardPosition::At::kLatest;
  StreamFleet fleet(options);
  fleet.Write(20, milliseconds(10));
  const std::uint64_t before = fleet.records();
  fleet.Run(minutes(2));  // more than the margin of clocks
  const std::string process = fleet.Start();
  fleet.Run(seconds(5));
  fleet.Drain(process);
  fleet.Run(minutes(5));
  fleet.Write(20, milliseconds(10));
  fleet.Start();
  fleet.Run(minutes(2));
  for (const auto& [number, count] : fleet.CountDeliveries()) {
    EXPECT_EQ(count, number <= before ? 0 : 1) << number;
  }
}

// Fails if: the gap of a removed shard, or of a removed parent, is lost with the process that did
// not complete it.
TEST_P(StreamSeeds, AGapThatWasNotCompletedIsDeliveredAgain) {
  FleetOptions options = Options();
  options.longest_work = hours(1);
  StreamFleet fleet(options);
  const std::string first = fleet.Start();
  fleet.Run(seconds(30));
  fleet.Drain(first);
  fleet.Run(minutes(30));
  fleet.Write(20, milliseconds(100));
  if (GetParam() % 2 == 0) fleet.ReplaceShard(true);
  fleet.Run(milliseconds(100));
  fleet.ReplaceShard(true);
  fleet.Write(5, milliseconds(100));
  fleet.Run(hours(30));
  std::string process = fleet.Start();
  for (int i = 0; i < 200 && fleet.gaps.empty(); ++i) fleet.Run(seconds(5));
  ASSERT_FALSE(fleet.gaps.empty());
  fleet.Run(seconds(20));  // positions are stored meanwhile
  ASSERT_TRUE(fleet.completed_gaps.empty());
  fleet.Kill(process);
  const std::string shard = fleet.gaps.front().shard;
  fleet.gaps.clear();
  fleet.Start();
  fleet.Run(hours(6));
  EXPECT_NE(std::ranges::find(fleet.completed_gaps, shard, &StreamGap::shard),
            fleet.completed_gaps.end())
      << shard;
}

TEST(StreamConsumer, AShardIsReadAtMostFiveTimesInASecond) {
  StreamFleet fleet({});
  fleet.Start();
  fleet.Write(300, milliseconds(20));
  EXPECT_TRUE(fleet.RunUntilRead(minutes(1)));
  EXPECT_EQ(fleet.server.counts().limited_reads, 0U);
}

TEST(StreamConsumer, AnIdleStreamIsReadAtTheIdleInterval) {
  StreamFleet fleet({});
  fleet.Start();
  fleet.Run(seconds(10));
  const std::uint64_t before = fleet.server.counts().Requests("GetRecords");
  fleet.Run(seconds(100));
  EXPECT_LE(fleet.server.counts().Requests("GetRecords") - before, 100U);
  EXPECT_GE(fleet.server.counts().Requests("GetRecords") - before, 80U);
}

TEST(StreamConsumer, BatchesHaveABound) {
  FleetOptions options;
  options.consumer.batch_bytes = 1;
  StreamFleet fleet(options);
  fleet.Write(20, milliseconds(1));
  fleet.Start();
  EXPECT_TRUE(fleet.RunUntilRead(minutes(1)));
  EXPECT_THAT(fleet.FindFaults(), IsEmpty());
}

// Fails if: a process keeps more than its share, or takes shards without being asked to.
TEST(StreamConsumer, ShardsAreSharedEvenly) {
  StreamFleet fleet({});
  for (int i = 0; i < 3; ++i) fleet.ReplaceShard(true);
  fleet.Start();
  fleet.Run(minutes(2));
  fleet.Start();
  fleet.Run(minutes(5));
  std::map<std::string, int> owned;
  for (const ShardLease& lease : fleet.leases.ReadAll()) {
    if (!lease.owner.empty()) ++owned[lease.owner];
  }
  ASSERT_THAT(owned, SizeIs(2));
  EXPECT_THAT(owned, Each(Pair(testing::_, 2)));
}

TEST(StreamConsumer, LeasesOfRemovedShardsAreRemoved) {
  StreamFleet fleet({});
  fleet.Start();
  for (int i = 0; i < 10; ++i) {
    fleet.Write(2, milliseconds(10));
    fleet.ReplaceShard(false);
    fleet.Run(hours(4));
  }
  EXPECT_LE(fleet.leases.ReadAll().size(), 9U);
  EXPECT_THAT(fleet.FindFaults(), IsEmpty());
}

TEST(StreamConsumer, AMissingStreamEndsIt) {
  sim::SimScheduler scheduler;
  StreamConsumer consumer({.stream_arn = "arn", .owner = "a"}, 1);
  const Moment now{scheduler.clock().Now(), scheduler.clock().WallNow()};
  const ConsumerStep first = consumer.OnWake(now);
  ASSERT_EQ(first.requests.size(), 1U);
  EXPECT_EQ(first.requests[0].operation, "DescribeStream");
  const ConsumerStep last =
      consumer.OnResponse(first.requests[0].id,
                          tl::unexpected(AwsFailure{.kind = FailureClass::kPermanent,
                                                    .code = "ResourceNotFoundException",
                                                    .message = "DescribeStream: no such stream"}),
                          now);
  EXPECT_TRUE(last.done);
  ASSERT_TRUE(last.error);
  EXPECT_EQ(last.error->code, Code::kNotFound);
}

}  // namespace
}  // namespace weir::dynamo
