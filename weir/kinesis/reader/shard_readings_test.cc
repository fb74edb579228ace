#include "weir/kinesis/reader/shard_readings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using Stage = ShardReading::Stage;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

ReadShard ListedShard(std::uint64_t id, std::vector<ShardId> parents = {}, bool closed = false) {
  return {.id = {id}, .range = {0, 9}, .parents = std::move(parents), .closed = closed};
}

ShardReadings ReadingsOf(std::optional<ShardId> only = std::nullopt, Position from = {}) {
  return ShardReadings({.from = std::move(from),
                        .only = only,
                        .failures = {.backoff = Backoff(milliseconds(1), milliseconds(1))}});
}

/// Begins the shards that are ready. Returns the shards that are due.
std::vector<std::uint64_t> BeginAll(ShardReadings& readings) {
  readings.BeginReady(kStart);
  std::vector<std::uint64_t> due;
  while (readings.NextWake()) due.push_back(readings.TakeDue().shard.id.number);
  return due;
}

// Fails if: a child is read before its parents are.
TEST(ShardReadings, AChildBeginsAfterItsParents) {
  ShardReadings readings = ReadingsOf();
  EXPECT_FALSE(readings.is_listed());
  ASSERT_TRUE(readings.OnListed(
      {ListedShard(3, {{1}, {2}}), ListedShard(1, {}, true), ListedShard(2, {}, true)}, kStart));
  EXPECT_TRUE(readings.is_listed());
  EXPECT_THAT(BeginAll(readings), ElementsAre(1, 2));
  EXPECT_FALSE(readings.End(readings.at({1}), {}, kStart));
  EXPECT_THAT(BeginAll(readings), IsEmpty());
  EXPECT_FALSE(readings.End(readings.at({2}), {}, kStart));
  EXPECT_THAT(BeginAll(readings), ElementsAre(3));
  EXPECT_FALSE(readings.HaveAllEnded());
}

TEST(ShardReadings, AtTheEndOfTheStreamNoParentIsAwaitedAndNoClosedShardRead) {
  ShardReadings readings = ReadingsOf(std::nullopt, {.at = Position::At::kLatest});
  ASSERT_TRUE(readings.OnListed({ListedShard(1, {}, true), ListedShard(2, {{1}})}, kStart));
  EXPECT_THAT(BeginAll(readings), ElementsAre(2));
  EXPECT_EQ(readings.at({1}).stage, Stage::kEnded);
}

TEST(ShardReadings, AShardThatIsFoundLaterIsReadFromItsBeginning) {
  ShardReadings readings = ReadingsOf(std::nullopt, {.at = Position::At::kLatest});
  ASSERT_TRUE(readings.OnListed({ListedShard(1)}, kStart));
  ASSERT_TRUE(readings.OnListed({ListedShard(1), ListedShard(2)}, kStart));
  EXPECT_EQ(readings.at({1}).position.at, Position::At::kLatest);
  EXPECT_EQ(readings.at({2}).position.at, Position::At::kTrimHorizon);
}

TEST(ShardReadings, AtTheEndOfAShardItsChildrenAreAdded) {
  ShardReadings readings = ReadingsOf();
  ASSERT_TRUE(readings.OnListed({ListedShard(1)}, kStart));
  BeginAll(readings);
  EXPECT_FALSE(readings.End(readings.at({1}), {ListedShard(2, {{1}})}, kStart));
  EXPECT_THAT(BeginAll(readings), ElementsAre(2));
}

// Fails if: a child of a merge is added although its other parent is not known.
TEST(ShardReadings, AChildWithAnUnknownParentNeedsAListing) {
  ShardReadings readings = ReadingsOf();
  ASSERT_TRUE(readings.OnListed({ListedShard(1)}, kStart));
  BeginAll(readings);
  EXPECT_TRUE(readings.End(readings.at({1}), {ListedShard(3, {{1}, {2}})}, kStart));
  EXPECT_THAT(BeginAll(readings), IsEmpty());
  EXPECT_TRUE(readings.HaveAllEnded());
}

TEST(ShardReadings, AnEndWithoutChildrenNeedsAListing) {
  ShardReadings readings = ReadingsOf();
  ASSERT_TRUE(readings.OnListed({ListedShard(1)}, kStart));
  EXPECT_TRUE(readings.End(readings.at({1}), {}, kStart));
}

// Fails if: the records that came between the end of the page and the close are not read.
TEST(ShardReadings, AShardThatIsClosedAfterItWasReadIsReadOnceMore) {
  ShardReadings readings = ReadingsOf();
  ASSERT_TRUE(readings.OnListed({ListedShard(1)}, kStart));
  BeginAll(readings);
  readings.at({1}).stage = Stage::kCaughtUp;
  ASSERT_TRUE(readings.OnListed({ListedShard(1, {}, true)}, kStart + seconds(1)));
  EXPECT_EQ(readings.NextWake(), kStart + seconds(1));
  EXPECT_EQ(readings.at({1}).stage, Stage::kReads);
}

// Fails if: a parent that was listed before it was divided counts as an open shard: it is read to
// its end once, and its children never begin.
TEST(ShardReadings, AShardWithAListedChildIsClosed) {
  ShardReadings readings = ReadingsOf();
  ASSERT_TRUE(readings.OnListed({ListedShard(1), ListedShard(2, {{1}})}, kStart));
  EXPECT_TRUE(readings.at({1}).shard.closed);
  EXPECT_FALSE(readings.at({2}).shard.closed);
  ASSERT_TRUE(readings.OnListed({ListedShard(4, {{5}}), ListedShard(5)}, kStart));
  EXPECT_FALSE(readings.at({5}).shard.closed) << "no shard has a younger parent";
}

TEST(ShardReadings, OnlyOneShardIsRead) {
  ShardReadings readings = ReadingsOf(ShardId{2});
  ASSERT_TRUE(readings.OnListed({ListedShard(1), ListedShard(2)}, kStart));
  EXPECT_THAT(BeginAll(readings), ElementsAre(2));
  EXPECT_FALSE(readings.End(readings.at({2}), {ListedShard(3, {{2}})}, kStart));
  EXPECT_TRUE(readings.HaveAllEnded());
}

TEST(ShardReadings, AShardThatCannotBeReadIsAnError) {
  ShardReadings only = ReadingsOf(ShardId{2});
  EXPECT_EQ(only.OnListed({ListedShard(1)}, kStart).error().code, Code::kNotFound);
  ShardReadings readings = ReadingsOf();
  ASSERT_TRUE(readings.OnListed({ListedShard(1)}, kStart));
  readings.at({1}).is_missing = true;
  EXPECT_TRUE(readings.OnListed({ListedShard(1, {}, true)}, kStart));
  EXPECT_EQ(readings.OnListed({ListedShard(1)}, kStart).error().code, Code::kNotFound);
}
}  // namespace
}  // namespace weir::kinesis
