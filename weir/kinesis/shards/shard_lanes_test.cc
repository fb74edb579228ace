#include "weir/kinesis/shards/shard_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Each lane admits two records at once, and then one in 100 ms.
constexpr ShardLimiterOptions kTwoAtOnce{.records = PerSecond(10).Burst(2)};

KinesisRecord RecordFor(std::uint64_t number, std::optional<ShardId> shard,
                        Instant expires = kStart + seconds(60)) {
  KinesisRecord record{.data = "x", .shard = shard, .deadline = kStart, .expires = expires};
  record.records.push_back({.number = number});
  return record;
}

/// Puts records into a lane. Returns the numbers of those that left it.
std::vector<std::uint64_t> PutInLane(ShardLanes& lanes, std::vector<std::uint64_t> numbers,
                                     std::optional<ShardId> shard, Instant now = kStart) {
  std::vector<std::uint64_t> left;
  for (const std::uint64_t number : numbers) {
    const auto admitted = Numbers(lanes.Put(RecordFor(number, shard), now).admitted);
    left.insert(left.end(), admitted.begin(), admitted.end());
  }
  return left;
}

TEST(ShardLanes, EachShardHasARateOfItsOwn) {
  ShardLanes lanes(kTwoAtOnce);
  EXPECT_THAT(PutInLane(lanes, {1, 2, 3}, ShardId{0}), ElementsAre(1, 2));
  EXPECT_THAT(PutInLane(lanes, {4}, ShardId{1}), ElementsAre(4));
  EXPECT_EQ(lanes.size(), 2U);
  EXPECT_TRUE(lanes.is_waiting());
  EXPECT_FALSE(lanes.IsDue(kStart));
  const Instant due = *lanes.NextWake();
  EXPECT_EQ(due, kStart + milliseconds(100));
  ASSERT_TRUE(lanes.IsDue(due));
  EXPECT_THAT(Numbers(lanes.DrainDue(due).admitted), ElementsAre(3));
  EXPECT_FALSE(lanes.is_waiting());
  EXPECT_EQ(lanes.NextWake(), std::nullopt);
}

// Fails if: a lane stays due for a time that its records no longer wait for.
TEST(ShardLanes, AnEarlierExpiryMovesTheWakeUp) {
  ShardLanes lanes(kTwoAtOnce);
  PutInLane(lanes, {1, 2, 3}, ShardId{0});
  lanes.Put(RecordFor(4, ShardId{0}, kStart + milliseconds(10)), kStart);
  EXPECT_EQ(lanes.NextWake(), kStart + milliseconds(10));
  const auto drained = lanes.DrainDue(kStart + milliseconds(10));
  EXPECT_THAT(Numbers(drained.expired), ElementsAre(4));
  EXPECT_THAT(drained.admitted, IsEmpty());
  EXPECT_EQ(lanes.NextWake(), kStart + milliseconds(100));
}

TEST(ShardLanes, RecordsWithoutAShardHaveTheRateOfTheShardsThatResponded) {
  ShardLanes lanes(kTwoAtOnce);
  EXPECT_THAT(lanes.UpdateShardlessRate(kStart).admitted, IsEmpty()) << "there is no lane";
  EXPECT_THAT(PutInLane(lanes, {1, 2, 3, 4, 5}, std::nullopt), ElementsAre(1, 2));
  EXPECT_EQ(lanes.NextWake(), kStart + milliseconds(100));
  lanes.OnSeen({0}, kStart);
  lanes.OnSeen({1}, kStart);
  const auto more = lanes.UpdateShardlessRate(kStart);
  EXPECT_THAT(Numbers(more.admitted), ElementsAre(3, 4)) << "the capacity of two shards";
  EXPECT_EQ(lanes.NextWake(), kStart + milliseconds(50)) << "and twice the rate";
}

// Fails if: the backlog of a shard that was divided stays in the lane of that shard.
TEST(ShardLanes, RecordsWithoutAnOpenShardAreTakenAndNoneIsDueAfterwards) {
  ShardMap map({}, 1);
  map.Next(kStart);
  map.OnListed(ShardPage{{{{0}, {0, 9}}, {{1}, {10, kMaxHashKey}}, {{2}, {10, kMaxHashKey}}}, ""},
               kStart);
  ShardLanes lanes(kTwoAtOnce);
  PutInLane(lanes, {1, 2, 3}, std::nullopt);
  PutInLane(lanes, {4, 5, 6}, ShardId{0});
  PutInLane(lanes, {7, 8, 9}, ShardId{1});
  PutInLane(lanes, {10, 11, 12}, ShardId{8});
  std::vector<KinesisRecord> taken;
  lanes.TakeUnplaced(map, taken);
  EXPECT_THAT(Numbers(taken), ElementsAre(3, 9, 12)) << "of none, of a parent, of one not listed";
  EXPECT_THAT(Numbers(lanes.DrainDue(*lanes.NextWake()).admitted), ElementsAre(6));
  EXPECT_FALSE(lanes.is_waiting());
}

TEST(ShardLanes, AThrottleLowersTheRateOfItsShardOnly) {
  ShardLanes lanes({.records = kTwoAtOnce.records, .after_throttle = 50});
  lanes.OnThrottled(ShardId{0}, kStart);
  PutInLane(lanes, {1, 2, 3}, ShardId{0});
  EXPECT_EQ(lanes.NextWake(), kStart + milliseconds(200));
  PutInLane(lanes, {4, 5, 6}, ShardId{1});
  EXPECT_EQ(lanes.NextWake(), kStart + milliseconds(100));
}

// Fails if: a lane with records is removed with its shard.
TEST(ShardLanes, LanesOfClosedShardsGoWhenTheyAreEmpty) {
  ShardMap map({}, 1);
  map.Next(kStart);
  map.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, kStart);
  ShardLanes lanes(kTwoAtOnce);
  PutInLane(lanes, {1}, ShardId{0});
  PutInLane(lanes, {2}, ShardId{8});
  PutInLane(lanes, {3, 4, 5}, ShardId{9});
  PutInLane(lanes, {6}, std::nullopt);
  lanes.RemoveClosed(map);
  EXPECT_EQ(lanes.size(), 3U) << "only that of shard 8 has gone";
}

// Fails if: the lead is not applied, so that a record leaves that expires before its budget.
TEST(ShardLanes, ARecordThatWouldExpireWithinTheLeadLetsOthersPass) {
  ShardLanes lanes(kTwoAtOnce);
  lanes.SetLead(seconds(1));
  PutInLane(lanes, {1, 2}, ShardId{0});
  lanes.Put(RecordFor(3, ShardId{0}, kStart + milliseconds(500)), kStart);
  lanes.Put(RecordFor(4, ShardId{0}), kStart);
  EXPECT_THAT(Numbers(lanes.DrainDue(*lanes.NextWake()).admitted), ElementsAre(4));
}

TEST(ShardLanes, AllRecordsAreTakenAtTheEnd) {
  ShardLanes lanes(kTwoAtOnce);
  PutInLane(lanes, {1, 2, 3, 4}, ShardId{0});
  lanes.Put(RecordFor(5, ShardId{0}, kStart + milliseconds(1)), kStart);
  std::vector<KinesisRecord> taken;
  lanes.TakeAll(kStart + milliseconds(1), taken);
  EXPECT_THAT(Numbers(taken), ElementsAre(5, 3, 4)) << "the expired one first";
  EXPECT_EQ(lanes.size(), 0U);
  EXPECT_EQ(lanes.NextWake(), std::nullopt);
}
}  // namespace
}  // namespace weir::kinesis
