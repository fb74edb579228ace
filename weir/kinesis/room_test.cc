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
  room.GiveBack(tenant, load, served);
  return served;
}

TEST(Room, IsBoundedByRecordsAndByBytes) {
  Room room(kSmallRoom);
  const auto tenant = room.AddTenant();
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
  const auto tenant = room.AddTenant();
  ASSERT_TRUE(room.Take(tenant, {1, 900}));
  EXPECT_THAT(Back(room, tenant, {1, 0}), IsEmpty());
  EXPECT_FALSE(room.Take(tenant, {1, 200}));
  EXPECT_THAT(Back(room, tenant, {0, 900}), IsEmpty());
  EXPECT_TRUE(room.Take(tenant, {1, 5000})) << "it is empty";
}

TEST(Room, OneThatIsLargerThanAllGoesInAlone) {
  Room room(kSmallRoom);
  const auto tenant = room.AddTenant();
  EXPECT_TRUE(room.Take(tenant, {1, 5000}));
  EXPECT_FALSE(room.Take(tenant, {1, 1}));
  EXPECT_THAT(Back(room, tenant, {1, 5000}), IsEmpty());
  EXPECT_TRUE(room.Take(tenant, {1, 1}));
}

TEST(Room, ServesWhoWaitsInOrder) {
  Room room(kSmallRoom);
  const auto tenant = room.AddTenant();
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
  const auto tenant = room.AddTenant();
  ASSERT_TRUE(room.Take(tenant, {10, 10}));
  const auto first = room.Wait(tenant, {1, 1});
  const auto second = room.Wait(tenant, {1, 1});
  EXPECT_TRUE(room.Leave(first));
  EXPECT_FALSE(room.Leave(first));
  EXPECT_THAT(Back(room, tenant, {2, 2}), ElementsAre(second));
  EXPECT_FALSE(room.Leave(second)) << "it has its room";
  EXPECT_EQ(room.used().records, 9U);
}

// Fails without the share: the stuck one takes the room as it is given back.
TEST(Room, OneTenantThatIsStuckLeavesRoomForOthers) {
  Room room(kSmallRoom);
  const auto stuck = room.AddTenant();
  const auto lively = room.AddTenant();
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

}  // namespace
}  // namespace weir::kinesis
