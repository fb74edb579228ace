#include "weir/zae_table/actor/write_fence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::dynamo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr UnixMillis kNow{1'767'225'600'000};
constexpr std::uint64_t kOwn = 7;
constexpr std::uint64_t kOther = 8;

FencedItem EmptyItem() { return {.slots = {}, .rf = kNow}; }

/// Returns the item after a write with this guard.
FencedItem After(FencedItem item, const WriteFence::Guard& guard) {
  item.slots[guard.slot] = guard.value;
  return item;
}

class WriteFenceTest : public testing::Test {
 protected:
  WriteFence::Guard Begin(std::vector<WriteFence::PartId> parts) {
    const auto guard = fence.Begin(std::move(parts), item, kNow, ++draws);
    EXPECT_TRUE(guard.has_value());
    return guard.value_or(WriteFence::Guard{});
  }
  /// Applies a write, so that the slot is held.
  void Hold() {
    const auto guard = Begin({});
    item = After(item, guard);
    fence.OnApplied(guard.write);
  }

  WriteFence fence{kOwn};
  FencedItem item = EmptyItem();
  std::uint32_t draws = 0;
};

TEST_F(WriteFenceTest, TheFirstWriteClaimsAnEmptySlotOfTheItemAsItWasSeen) {
  const auto guard = Begin({1});
  EXPECT_EQ(guard.expected, std::nullopt);
  EXPECT_EQ(guard.rf, kNow);
  EXPECT_EQ(guard.value.instance, kOwn);
}

// Fails if: a claim keeps requiring an rf that others have moved.
TEST_F(WriteFenceTest, AClaimBeginsAgainWhenOthersMovedRf) {
  const auto first = Begin({1});
  item.rf = kNow + milliseconds(1);
  EXPECT_EQ(Begin({1}).rf, kNow) << "no second write of the claim can be applied besides the first";
  EXPECT_THAT(fence.OnFailed(first.write, item).unknown, ElementsAre(1));
  EXPECT_EQ(Begin({2}).rf, item.rf);
}

TEST_F(WriteFenceTest, AHeldSlotMustHaveTheLatestValueAndNothingElse) {
  const auto first = Begin({1});
  EXPECT_THAT(fence.OnApplied(first.write).applied, ElementsAre(1));
  const auto second = Begin({2});
  EXPECT_EQ(second.slot, first.slot);
  EXPECT_EQ(second.expected, first.value);
  EXPECT_EQ(second.rf, std::nullopt);
}

TEST_F(WriteFenceTest, ASlotOfAnotherProcessIsClaimedOnlyIfItIsIdle) {
  for (auto& slot : item.slots) slot = FenceValue{kOther, kNow - milliseconds(9'999), 1};
  EXPECT_EQ(fence.Begin({1}, item, kNow, 1), std::nullopt);
  item.slots[5] = FenceValue{kOther, kNow - milliseconds(10'001), 1};
  item.slots[9] = FenceValue{kOther, kNow - milliseconds(10'000), 1};
  const auto guard = Begin({1});
  EXPECT_EQ(guard.slot, 5U) << "the least recently written";
  EXPECT_EQ(guard.expected, item.slots[5]);
  EXPECT_EQ(guard.rf, kNow);
}

TEST_F(WriteFenceTest, ASlotWithATimeFarAheadIsIdle) {
  for (auto& slot : item.slots) slot = FenceValue{kOther, kNow + milliseconds(60'000), 1};
  EXPECT_EQ(fence.Begin({1}, item, kNow, 1), std::nullopt);
  item.slots[3]->at = kNow + milliseconds(60'001);
  EXPECT_EQ(Begin({1}).slot, 3U);
}

TEST_F(WriteFenceTest, AnUnreadableSlotIsNotClaimed) {
  for (auto& slot : item.slots) slot = kUnreadableSlot;
  EXPECT_EQ(fence.Begin({1}, item, kNow, 1), std::nullopt);
}

TEST_F(WriteFenceTest, AnIdleSlotOfTheSameProcessIsClaimedAtOnce) {
  for (auto& slot : item.slots) slot = FenceValue{kOther, kNow, 1};
  item.slots[2]->instance = kOwn;
  EXPECT_EQ(Begin({1}).slot, 2U);
}

TEST_F(WriteFenceTest, AFailedConditionSaysThatAnEarlierWriteWasApplied) {
  Hold();
  const auto lost = Begin({1, 2});
  const auto next = Begin({1, 2, 3});
  EXPECT_EQ(fence.open_writes(), 2U);
  const auto settled = fence.OnFailed(next.write, After(item, lost));
  EXPECT_THAT(settled.applied, ElementsAre(1, 2));
  EXPECT_THAT(settled.not_applied, ElementsAre(3));
  EXPECT_THAT(settled.unknown, IsEmpty());
  EXPECT_EQ(fence.open_writes(), 0U);
}

TEST_F(WriteFenceTest, AnAppliedWriteSaysThatTheOthersNeverWillBe) {
  Hold();
  Begin({1, 2});
  const auto next = Begin({2, 3});
  const auto settled = fence.OnApplied(next.write);
  EXPECT_THAT(settled.applied, ElementsAre(2, 3));
  EXPECT_THAT(settled.not_applied, ElementsAre(1));
}

TEST_F(WriteFenceTest, APartOfAWriteWithoutResponseIsInDoubtThoughAnotherWriteFailed) {
  Hold();
  Begin({1});
  const auto next = Begin({1, 2});
  const auto settled = fence.OnFailed(next.write, item);
  EXPECT_THAT(settled.applied, IsEmpty());
  EXPECT_THAT(settled.not_applied, ElementsAre(2));
  EXPECT_EQ(fence.open_writes(), 1U);
}

TEST_F(WriteFenceTest, AWriteThatWasNotSentIsNotApplied) {
  Hold();
  const auto guard = Begin({1});
  EXPECT_THAT(fence.OnNotApplied(guard.write).not_applied, ElementsAre(1));
  EXPECT_EQ(fence.open_writes(), 0U);
}

TEST_F(WriteFenceTest, ALostSlotLeavesOnlyThePartsOfOpenWritesUnknown) {
  Hold();
  Begin({1});
  const auto next = Begin({1, 2});
  for (auto& slot : item.slots) slot = FenceValue{kOther, kNow, 9};
  const auto settled = fence.OnFailed(next.write, item);
  EXPECT_THAT(settled.unknown, ElementsAre(1));
  EXPECT_THAT(settled.not_applied, ElementsAre(2));
  EXPECT_EQ(fence.Begin({2}, item, kNow, 1), std::nullopt) << "another slot is claimed";
}

TEST_F(WriteFenceTest, AnItemThatWasDeletedHasNoSlot) {
  Hold();
  Begin({1});
  const auto next = Begin({2});
  const auto settled = fence.OnFailed(next.write, std::nullopt);
  EXPECT_THAT(settled.unknown, ElementsAre(1));
  EXPECT_THAT(settled.not_applied, ElementsAre(2));
}

TEST_F(WriteFenceTest, ResponsesOfAnEarlierRoundChangeNothing) {
  Hold();
  const auto late = Begin({1});
  const auto next = Begin({1});
  fence.OnApplied(next.write);
  const auto current = Begin({2});
  EXPECT_THAT(fence.OnFailed(late.write, std::nullopt).unknown, IsEmpty());
  EXPECT_THAT(fence.OnApplied(late.write).applied, IsEmpty());
  EXPECT_EQ(fence.open_writes(), 1U);
  EXPECT_EQ(current.expected, next.value);
}

// Fails if: a round keeps failed writes without a bound, or drops those in flight.
TEST_F(WriteFenceTest, AManyTimesRefusedRoundKeepsTheWritesInFlight) {
  Hold();
  const auto slow = Begin({1});
  for (int i = 0; i < 100; ++i) fence.OnFailed(Begin({2}).write, item);
  EXPECT_EQ(fence.open_writes(), 1U);
  EXPECT_THAT(fence.OnFailed(Begin({2}).write, After(item, slow)).applied, ElementsAre(1));
}

}  // namespace
}  // namespace weir::dynamo
