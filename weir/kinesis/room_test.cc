#include "weir/kinesis/room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::kinesis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr RoomOptions kSmallRoom{.max_records = 10, .max_bytes = 1000};

std::vector<Room::Ticket> Back(Room& room, Room::Tenant tenant, Load load) {
  std::vector<Room::Ticket> served;
  room.GiveBack(tenant, load);
  room.Serve(served);
  return served;
}

std::size_t Fill(Room& room, Room::Tenant tenant) {
  std::size_t records = 0;
  while (room.Take(tenant, {1, 1})) ++records;
  return records;
}

TEST(Room, IsBoundedByRecordsAndByBytes) {
  Room room(kSmallRoom);
  const Room::Tenant tenant{room.AddStream(), {}};
  EXPECT_TRUE(room.Take(tenant, {9, 100}));
  EXPECT_FALSE(room.Take(tenant, {2, 1}));
  EXPECT_FALSE(room.Take(tenant, {1, 901}));
  EXPECT_TRUE(room.Take(tenant, {1, 900}));
  EXPECT_EQ(room.used().records, 10U);
  EXPECT_EQ(room.used().bytes, 1000U);
  EXPECT_THAT(Back(room, tenant, {5, 500}), IsEmpty());
  EXPECT_TRUE(room.Take(tenant, {5, 500}));
}

// Fails if: bytes are still held without a record, and the room counts as empty.
TEST(Room, I14BytesThatAreHeldWithoutARecordCount) {
  Room room(kSmallRoom);
  const Room::Tenant tenant{room.AddStream(), {}};
  ASSERT_TRUE(room.Take(tenant, {1, 900}));
  EXPECT_THAT(Back(room, tenant, {1, 0}), IsEmpty());
  EXPECT_FALSE(room.Take(tenant, {1, 200}));
  EXPECT_THAT(Back(room, tenant, {0, 900}), IsEmpty());
  EXPECT_TRUE(room.Take(tenant, {1, 5000})) << "it is empty";
}

TEST(Room, OneThatIsLargerThanAllGoesInAlone) {
  Room room(kSmallRoom);
  const Room::Tenant tenant{room.AddStream(), {}};
  EXPECT_TRUE(room.Take(tenant, {1, 5000}));
  EXPECT_FALSE(room.Take(tenant, {1, 1}));
  EXPECT_THAT(Back(room, tenant, {1, 5000}), IsEmpty());
  EXPECT_TRUE(room.Take(tenant, {1, 1}));
}

TEST(Room, ServesWhoWaitsInOrder) {
  Room room(kSmallRoom);
  const Room::Tenant tenant{room.AddStream(), {}};
  ASSERT_TRUE(room.Take(tenant, {10, 10}));
  const auto large = room.Wait(tenant, {4, 4});
  const auto small = room.Wait(tenant, {1, 1});
  EXPECT_THAT(Back(room, tenant, {3, 3}), IsEmpty()) << "the small one does not pass the large one";
  EXPECT_FALSE(room.Take(tenant, {1, 1})) << "nor does who comes now";
  EXPECT_THAT(Back(room, tenant, {2, 2}), ElementsAre(large, small));
  EXPECT_FALSE(room.anybody_waits());
}

TEST(Room, WhoLeavesIsNotServed) {
  Room room(kSmallRoom);
  const Room::Tenant tenant{room.AddStream(), {}};
  ASSERT_TRUE(room.Take(tenant, {10, 10}));
  const auto first = room.Wait(tenant, {1, 1});
  const auto second = room.Wait(tenant, {1, 1});
  std::vector<Room::Ticket> served;
  EXPECT_TRUE(room.Leave(first, served));
  EXPECT_FALSE(room.Leave(first, served));
  EXPECT_THAT(Back(room, tenant, {2, 2}), ElementsAre(second));
  EXPECT_FALSE(room.Leave(second, served)) << "it has its room";
  EXPECT_THAT(served, IsEmpty());
  EXPECT_EQ(room.used().records, 9U);
}

// Fails if: a load behind a large one that leaves waits on, though there is room for it.
TEST(Room, I14ALoadThatLeavesLetsThoseBehindItIn) {
  Room room(kSmallRoom);
  const Room::Tenant tenant{room.AddStream(), {}};
  ASSERT_TRUE(room.Take(tenant, {1, kSmallRoom.max_bytes / 2}));
  const auto large = room.Wait(tenant, {1, kSmallRoom.max_bytes});
  const auto small = room.Wait(tenant, {1, 1});
  std::vector<Room::Ticket> served;
  EXPECT_TRUE(room.Leave(large, served));
  EXPECT_THAT(served, ElementsAre(small));
  EXPECT_FALSE(room.anybody_waits());
  EXPECT_TRUE(room.Take(tenant, {1, 1}));
}

// Fails without the share: the stuck one takes the room as it is given back.
TEST(Room, OneTenantThatIsStuckLeavesRoomForOthers) {
  Room room(kSmallRoom);
  const Room::Tenant stuck{room.AddStream(), {}};
  const Room::Tenant lively{room.AddStream(), {}};
  while (room.Take(stuck, {1, 1})) {
  }
  EXPECT_EQ(room.used(stuck).records, 5U);
  const auto more = room.Wait(stuck, {1, 1});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(room.Take(lively, {1, 1}));
    EXPECT_THAT(Back(room, lively, {1, 1}), IsEmpty());
  }
  EXPECT_THAT(Back(room, stuck, {1, 1}), ElementsAre(more));
}

/// Shard `number` of a stream.
Room::Tenant ShardOf(std::size_t stream, std::uint64_t number) { return {stream, ShardId{number}}; }

// Fails if: one shard of a stream may take all of the room.
TEST(Room, OneShardThatIsStuckLeavesRoomForOthers) {
  Room room({.max_records = 1'000, .max_bytes = 1'000'000});
  const std::size_t stream = room.AddStream();
  room.SetShards(stream, 10);
  EXPECT_EQ(Fill(room, ShardOf(stream, 0)), 500U);
  EXPECT_EQ(Fill(room, ShardOf(stream, 1)), 250U);
  EXPECT_TRUE(room.Take(ShardOf(stream, 2), {100, 100}));
}

TEST(Room, TheOnlyShardOfTheOnlyStreamHasAllOfIt) {
  Room room(kSmallRoom);
  const std::size_t stream = room.AddStream();
  room.SetShards(stream, 1);
  EXPECT_EQ(Fill(room, ShardOf(stream, 0)), 10U);
}

// Fails if: a stream of many shards has more of the room than a stream of one.
TEST(Room, OneStreamOfManyShardsThatAreStuckLeavesRoomForOthers) {
  Room room({.max_records = 1'000, .max_bytes = 1'000'000});
  const std::size_t stuck = room.AddStream();
  const std::size_t lively = room.AddStream();
  room.SetShards(stuck, 100);
  std::size_t records = 0;
  for (std::uint64_t shard = 0; shard < 100; ++shard) {
    records += Fill(room, ShardOf(stuck, shard));
  }
  EXPECT_LE(records, 500U);
  EXPECT_GE(records, 490U);
  EXPECT_GE(Fill(room, {lively, {}}), 245U);
}

// Fails if: a busy shard has all that its stream may have beside other streams.
TEST(Room, OneShardThatIsStuckLeavesItsStreamRoomBesideOtherStreams) {
  Room room({.max_records = 999, .max_bytes = 999'000});
  const std::size_t stream = room.AddStream();
  room.AddStream();
  room.SetShards(stream, 10);
  EXPECT_EQ(Fill(room, ShardOf(stream, 0)), 333U);
  EXPECT_EQ(Fill(room, ShardOf(stream, 1)), 111U);
}

// Fails if: a shard that is gone keeps a part of the room, or an entry in the memory of the room.
TEST(Room, ATenantIsForgottenWhenItHasNoRoom) {
  Room room(kSmallRoom);
  const std::size_t stream = room.AddStream();
  for (std::uint64_t shard = 0; shard < 1'000; ++shard) {
    ASSERT_TRUE(room.Take(ShardOf(stream, shard), {10, 10}));
    EXPECT_THAT(Back(room, ShardOf(stream, shard), {10, 0}), IsEmpty());
    EXPECT_EQ(room.tenants(), 1U) << "bytes without a record count";
    EXPECT_THAT(Back(room, ShardOf(stream, shard), {0, 10}), IsEmpty());
  }
  EXPECT_EQ(room.tenants(), 0U);
  EXPECT_EQ(room.used().records, 0U);
}

// Fails if: a caller of another shard waits behind one whose shard has its part.
TEST(Room, ACallerOfAHotShardDoesNotHoldUpOthers) {
  Room room({.max_records = 100, .max_bytes = 100'000});
  const std::size_t stream = room.AddStream();
  room.SetShards(stream, 2);
  EXPECT_EQ(Fill(room, ShardOf(stream, 0)), 50U);
  const auto hot = room.Wait(ShardOf(stream, 0), {1, 1});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(room.Take(ShardOf(stream, 1), {1, 1}));
    EXPECT_THAT(Back(room, ShardOf(stream, 1), {1, 1}), IsEmpty());
  }
  EXPECT_THAT(Back(room, ShardOf(stream, 0), {1, 1}), ElementsAre(hot));
}

// Fails if: a busy shard shuts out the others of its stream because another stream is busy, too.
TEST(Room, I14AShardHasRoomBesideABusyOneAndABusyStream) {
  Room room({.max_records = 9'990, .max_bytes = 9'990'000});
  const std::size_t stream = room.AddStream();
  const std::size_t other = room.AddStream();
  room.SetShards(stream, 10);
  Fill(room, ShardOf(stream, 0));
  Fill(room, {other, {}});
  EXPECT_GE(Fill(room, ShardOf(stream, 1)), 40U);
  EXPECT_EQ(Fill(room, ShardOf(stream, 0)), 0U);
}

// Fails if: a large load waits for ever because another stream takes all that it gives back.
TEST(Room, I14ALargeLoadBesideABusyStreamIsLetIn) {
  Room room({.max_records = 1'000, .max_bytes = 1'000});
  const std::size_t stream = room.AddStream();
  const Room::Tenant other{room.AddStream(), {}};
  room.SetShards(stream, 10);
  Fill(room, other);
  const auto large = room.Wait(ShardOf(stream, 0), {1, 600});
  std::vector<Room::Ticket> served;
  for (int i = 0; i < 3'000 && served.empty(); ++i) {
    served = Back(room, other, {1, 1});
    while (served.empty() && room.Take(other, {1, 1})) {
    }
  }
  EXPECT_THAT(served, ElementsAre(large));
  Back(room, ShardOf(stream, 0), {1, 600});
  EXPECT_TRUE(room.Take(other, {1, 1}));
}

// Fails if: a large load that does not fit beside a stuck stream stops all others.
TEST(Room, I14ALargeLoadBesideAStuckStreamStopsNobody) {
  Room room({.max_records = 1'000, .max_bytes = 1'000});
  const std::size_t stream = room.AddStream();
  const Room::Tenant stuck{room.AddStream(), {}};
  const Room::Tenant lively{room.AddStream(), {}};
  room.SetShards(stream, 10);
  Fill(room, stuck);
  const auto large = room.Wait(ShardOf(stream, 0), {1, 700});
  std::vector<Room::Ticket> served;
  for (int i = 0; i < 3'000 && served.empty(); ++i) {
    ASSERT_TRUE(room.Take(lively, {1, 1}));
    served = Back(room, lively, {1, 1});
  }
  EXPECT_THAT(served, ElementsAre(large));
  EXPECT_LE(room.used().bytes, 1'000U + 700U);
}

// Fails if: who waited before the shards were known waits for what the unknown shard gives back.
TEST(Room, I14WhoWaitsMovesToItsShard) {
  Room room({.max_records = 1'000, .max_bytes = 1'000'000});
  const std::size_t stream = room.AddStream();
  const Room::Tenant unknown{stream, {}};
  Fill(room, unknown);
  const auto early = room.Wait(unknown, {1, 1});
  room.SetShards(stream, 10);
  room.MoveWaiting({{early, ShardOf(stream, 1)}});
  EXPECT_THAT(Back(room, unknown, {20, 20}), ElementsAre(early));
}

// Fails if: small loads of other shards take what is given back before a large one fits.
TEST(Room, ALargeLoadOfAnEmptyShardIsNotPassedForEver) {
  Room room({.max_records = 1'000, .max_bytes = 1'000});
  const std::size_t stream = room.AddStream();
  room.SetShards(stream, 10);
  for (std::uint64_t shard = 0; shard < 9; ++shard) Fill(room, ShardOf(stream, shard));
  const auto large = room.Wait(ShardOf(stream, 9), {1, 200});
  std::vector<Room::Ticket> served;
  for (int i = 0; i < 1'000 && served.empty(); ++i) {
    const Room::Tenant tenant = ShardOf(stream, static_cast<std::uint64_t>(i) % 9);
    if (room.used(tenant).records > 0) served = Back(room, tenant, {1, 1});
    while (served.empty() && room.Take(tenant, {1, 1})) {
    }
  }
  EXPECT_THAT(served, ElementsAre(large));
}

}  // namespace
}  // namespace weir::kinesis
