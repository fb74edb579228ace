#include "weir/dynamo/write_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/dynamo/fleet_fixture.h"

namespace weir::dynamo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

const BucketKey kKey{"acme", "llm", 0};
const TargetPtr kTarget = MakeTarget(kKey, {{"rps", PerSecond(1000).Burst(1000)}});

TEST(WriteTurns, AreTakenInOrderUntilOneIsKept) {
  WriteTurns turns;
  std::vector<int> order;
  const auto turn = [&order](int name, bool keeps) {
    return [&order, name, keeps] {
      order.push_back(name);
      return keeps;
    };
  };
  EXPECT_TRUE(turns.Enter(kKey, turn(1, false)));
  EXPECT_FALSE(turns.Enter(kKey, turn(2, false)));
  EXPECT_FALSE(turns.Enter(kKey, turn(3, true)));
  EXPECT_FALSE(turns.Enter(kKey, turn(4, false)));
  EXPECT_TRUE(turns.Enter({"other", "llm", 0}, turn(5, false)));
  turns.Leave(kKey);
  EXPECT_THAT(order, ElementsAre(2, 3));
  turns.Leave(kKey);
  EXPECT_THAT(order, ElementsAre(2, 3, 4));
  EXPECT_TRUE(turns.Enter(kKey, turn(6, false))) << "nobody has it";
}

/// One process of a fleet, and what its calls answered.
class TurnsOfAProcess : public testing::Test {
 protected:
  void SetUp() override { process_.network().faults.longest_trip = milliseconds(5); }

  void Ask(std::int64_t tokens, nanoseconds patience) {
    const std::vector<Charge> charges{{kTarget, {tokens * kMillitokens}}};
    auto& scheduler = fleet_.scheduler();
    process_.unjoined().Acquire(
        charges, process_.now(), Deadline::After(scheduler.clock(), patience),
        [this, &scheduler](Result<Decision> decision) {
          ended_.push_back(scheduler.clock().Now());
          codes_.push_back(decision ? std::nullopt : std::optional(decision.error().code));
        });
  }

  Fleet fleet_{1};
  FleetProcess& process_ = fleet_.Join();
  std::vector<Instant> ended_;
  std::vector<std::optional<Code>> codes_;
};

// The bucket is full again before each burst, so the first of it refills.
TEST_F(TurnsOfAProcess, OnAFullBucketDoNotMakeEachOtherFail) {
  Ask(1, std::chrono::seconds(5));
  fleet_.scheduler().RunAll();
  const std::uint64_t before = fleet_.server().counts().AllRequests();
  for (int burst = 0; burst < 10; ++burst) {
    fleet_.scheduler().Advance(milliseconds(500));
    for (int i = 0; i < 50; ++i) Ask(1, std::chrono::seconds(5));
  }
  fleet_.scheduler().RunAll();
  EXPECT_THAT(codes_, SizeIs(501));
  EXPECT_THAT(codes_, Each(std::nullopt));
  EXPECT_EQ(fleet_.server().counts().AllRequests() - before, 500U);
}

// Fails if: each write that had to wait leaves a timer until its deadline.
TEST_F(TurnsOfAProcess, D15LeaveNoTimersBehind) {
  Ask(1, std::chrono::seconds(5));
  fleet_.scheduler().RunAll();
  fleet_.scheduler().Advance(std::chrono::seconds(1));
  for (int i = 0; i < 50; ++i) Ask(1, std::chrono::hours(1));
  fleet_.scheduler().Advance(std::chrono::seconds(10));
  EXPECT_THAT(codes_, SizeIs(51));
  EXPECT_EQ(fleet_.scheduler().pending(), 0U);
}

TEST_F(TurnsOfAProcess, AreNotWaitedForBeyondTheDeadline) {
  Ask(1, std::chrono::seconds(5));
  fleet_.scheduler().RunAll();
  fleet_.scheduler().Advance(std::chrono::seconds(2));
  process_.network().faults.lose_request = 1;
  codes_.clear();
  ended_.clear();
  const Instant began = fleet_.scheduler().clock().Now();
  Ask(1, std::chrono::seconds(4));
  Ask(1, std::chrono::seconds(1));
  fleet_.scheduler().RunAll();
  ASSERT_THAT(codes_, SizeIs(2));
  EXPECT_EQ(codes_.front(), Code::kDeadlineExceeded);
  EXPECT_EQ(ended_.front() - began, std::chrono::seconds(1));
}

}  // namespace
}  // namespace weir::dynamo
