#include "weir/zae_table/actor/fence_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

constexpr FenceValue kValue{
    .instance = 0xA1B2C3D4E5F6, .at = {1'767'225'600'013}, .draw = 0x01020304};

TEST(FenceSlots, AreStoredAsSixteenBytes) {
  const Value value = Of(kValue);
  const auto& stored = std::get<Bytes>(value.held);
  EXPECT_EQ(stored.content, std::string("\xA1\xB2\xC3\xD4\xE5\xF6\x01\x9B\x76\xDA\xA8\x0D"
                                        "\x01\x02\x03\x04"));
  const FenceSlots slots = ReadSlots({{"w_0", Of(kValue)}, {"w_f", Of(kValue)}});
  EXPECT_EQ(slots[0], kValue);
  EXPECT_EQ(slots[15], kValue);
  EXPECT_EQ(slots[1], std::nullopt);
}

TEST(FenceSlots, WhatNoWriterStoresIsUnreadable) {
  const Item item{{"w_0", Of("text")}, {"w_1", {Bytes{"15 bytes, or so"}}}, {"w_2", {Bytes{""}}}};
  const FenceSlots slots = ReadSlots(item);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(slots[i], kUnreadableSlot) << i;
}

class FencedTableTest : public testing::Test {
 protected:
  FencedTableTest() { table_.Put(ShardItem(0, 1, 50'000)); }

  FencedItem Seen() {
    const Item item = table_.Get(key_).value_or(Item{});
    return {.slots = ReadSlots(item), .rf = {GetNumber(item, "rf").value_or(0)}};
  }
  /// Returns a write that counts how often it is applied.
  Write Counting(const WriteFence::Guard& guard) {
    Write write{.key = key_};
    write.expression.Add("counted", 1);
    AddFence(write.expression, guard);
    return write;
  }
  bool Apply(const Write& write) {
    bool is_applied = false;
    table_.table.Apply(write, false, kNever,
                       [&](const auto& result) { is_applied = result.has_value(); });
    return is_applied;
  }
  std::int64_t counted() {
    return GetNumber(table_.Get(key_).value_or(Item{}), "counted").value_or(0);
  }

  const TableKey key_ = kShardKeys.Bucket({"acme", "llm", 0});
  ZaeSimTable table_;
  WriteFence fence_{kValue.instance};
};

TEST_F(FencedTableTest, OneOfTheWritesOfARoundIsAppliedInAnyOrder) {
  const auto early = fence_.Begin({1}, Seen(), kNewYear, 1);
  const auto late = fence_.Begin({1}, Seen(), kNewYear, 2);
  ASSERT_TRUE(early && late);
  EXPECT_TRUE(Apply(Counting(*late)));
  EXPECT_FALSE(Apply(Counting(*early)));
  EXPECT_FALSE(Apply(Counting(*late))) << "delivered twice";
  EXPECT_EQ(counted(), 1);
  EXPECT_THAT(fence_.OnFailed(early->write, Seen()).applied, testing::ElementsAre(1))
      << "the item names the write that was applied";
}

TEST_F(FencedTableTest, AClaimIsOfTheItemThatWasSeen) {
  const auto claim = fence_.Begin({1}, Seen(), kNewYear, 1);
  ASSERT_TRUE(claim);
  Item again = ShardItem(0, 1, 100'000);
  again["rf"] = Of(kShardStart.value + 1);
  table_.Put(std::move(again));
  EXPECT_FALSE(Apply(Counting(*claim)));
}

TEST_F(FencedTableTest, ExpiredSlotsLeaveUnlessTheirProcessWroteMeanwhile) {
  Item item = ShardItem(0, 1, 50'000);
  const UnixMillis now = kNewYear;
  for (std::size_t i = 0; i < 6; ++i) {
    const milliseconds age = kSlotLife - milliseconds(i == 0 ? 1 : 0);
    item[SlotAttribute(i)] = Of(FenceValue{i + 1, now - age, 1});
  }
  item[SlotAttribute(6)] = Of("damaged");
  table_.Put(item);
  const auto remove = [&](const FenceSlots& seen) {
    Write write{.key = key_};
    RemoveExpiredSlots(write.expression, seen, 1, now);
    return Apply(write);
  };
  const FenceSlots seen = Seen().slots;
  ASSERT_TRUE(remove(seen));
  const auto left = [&] {
    std::vector<std::size_t> slots;
    for (std::size_t i = 0; i < kFenceSlots; ++i) {
      if (Seen().slots[i]) slots.push_back(i);
    }
    return slots;
  };
  EXPECT_THAT(left(), testing::ElementsAre(0, 1, 6)) << "a young one, the own one, four at a time";
  ASSERT_TRUE(remove(Seen().slots));
  EXPECT_THAT(left(), testing::ElementsAre(0, 1));

  table_.Put(item);
  item[SlotAttribute(3)] = Of(FenceValue{4, now, 2});
  table_.Put(item);
  EXPECT_FALSE(remove(seen)) << "slot 3 is in use again";
}

}  // namespace
}  // namespace weir::dynamo
