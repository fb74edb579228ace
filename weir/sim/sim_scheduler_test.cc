#include "weir/sim/sim_scheduler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "weir/runtime/scheduler_contract.h"

namespace weir::sim {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;

class SimHarness final : public SchedulerHarness {
 public:
  Scheduler& scheduler() override { return scheduler_; }
  void RunUntil(const std::atomic<bool>& flag) override {
    while (!flag) ASSERT_TRUE(scheduler_.RunNext());
  }

 private:
  SimScheduler scheduler_;
};

}  // namespace
}  // namespace weir::sim

namespace weir {
namespace {

INSTANTIATE_TEST_SUITE_P(Sim, SchedulerContract,
                         testing::Values(+[]() -> std::unique_ptr<SchedulerHarness> {
                           return std::make_unique<sim::SimHarness>();
                         }),
                         [](const auto&) { return "SimScheduler"; });

}  // namespace
}  // namespace weir

namespace weir::sim {
namespace {

TEST(SimClock, StartsFarFromZeroAndOffEveryRoundNumber) {
  const SimClock clock;
  EXPECT_GT(clock.Now(), Instant{} + hours(1));
  EXPECT_NE(clock.Now().nanos % 1'000'000, 0);
  EXPECT_GT(clock.WallNow(), UnixMillis{1'700'000'000'000});
  EXPECT_NE(clock.WallNow().value % 1000, 0);
}

// Fails if: the part of a millisecond that the wall clock cannot show is lost at each step.
RC_GTEST_PROP(SimClockProperty, BothClocksMoveAlikeHoweverTimeIsCut, ()) {
  const auto steps =
      *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 3'000'000));
  SimClock clock;
  const Instant start = clock.Now();
  const UnixMillis wall = clock.WallNow();
  for (const std::int64_t step : steps) clock.Advance(nanoseconds(step));
  const nanoseconds moved = clock.Now() - start;
  RC_ASSERT(clock.WallNow() - wall == std::chrono::floor<milliseconds>(moved));
}

TEST(SimClock, TheWallClockIsSetAloneInBothDirections) {
  SimClock clock;
  const Instant now = clock.Now();
  clock.Advance(microseconds(999));
  clock.SetWall(UnixMillis{5});
  EXPECT_EQ(clock.WallNow(), UnixMillis{5});
  EXPECT_EQ(clock.Now(), now + microseconds(999));
  clock.Advance(microseconds(999));
  EXPECT_EQ(clock.WallNow(), UnixMillis{5});
  clock.Advance(microseconds(1));
  EXPECT_EQ(clock.WallNow(), UnixMillis{6});
}

TEST(SimClock, TheTimeSinceBootFollowsAdvancesAndSuspensionsThatAreCounted) {
  SimClock clock;
  const Instant now = clock.Now();
  const nanoseconds boot = clock.BootNow();
  const UnixMillis wall = clock.WallNow();
  clock.SetWall(wall + hours(1));
  EXPECT_EQ(clock.BootNow(), boot);
  clock.Suspend(hours(2), /*is_counted=*/true);
  clock.Suspend(hours(4), /*is_counted=*/false);
  EXPECT_EQ(clock.BootNow(), boot + hours(2));
  EXPECT_EQ(clock.Now(), now + hours(2));
  EXPECT_EQ(clock.WallNow(), wall + hours(7));
  clock.Advance(microseconds(3));
  EXPECT_EQ(clock.BootNow(), boot + hours(2) + microseconds(3));
  clock.Reboot();
  EXPECT_EQ(clock.BootNow(), nanoseconds(0));
}

TEST(SimScheduler, NothingRunsAndNoTimePassesByItself) {
  SimScheduler scheduler;
  const Instant start = scheduler.clock().Now();
  bool ran = false;
  scheduler.Post([&] { ran = true; });
  scheduler.At(start + milliseconds(1), [] {});
  EXPECT_FALSE(ran);
  EXPECT_EQ(scheduler.pending(), 2U);
  EXPECT_EQ(scheduler.clock().Now(), start);
}

TEST(SimScheduler, RunReadyRunsWhatIsDueAndWhatThatSchedulesForNow) {
  SimScheduler scheduler;
  const Instant start = scheduler.clock().Now();
  int ran = 0;
  scheduler.Post([&] {
    ++ran;
    scheduler.Post([&] { ++ran; });
    scheduler.At(start + nanoseconds(1), [&] { ran += 100; });
  });
  EXPECT_EQ(scheduler.RunReady(), 2U);
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(scheduler.pending(), 1U);
  EXPECT_EQ(scheduler.clock().Now(), start);
}

TEST(SimScheduler, RunNextMovesTimeToTheTask) {
  SimScheduler scheduler;
  const Instant when = scheduler.clock().Now() + hours(3);
  Instant seen;
  scheduler.At(when, [&] { seen = scheduler.clock().Now(); });
  EXPECT_TRUE(scheduler.RunNext());
  EXPECT_EQ(seen, when);
  EXPECT_FALSE(scheduler.RunNext());
  EXPECT_EQ(scheduler.clock().Now(), when);
}

TEST(SimScheduler, ATaskThatIsLateDoesNotTurnTimeBack) {
  SimScheduler scheduler;
  const Instant now = scheduler.clock().Now();
  scheduler.At(now - hours(1), [] {});
  EXPECT_TRUE(scheduler.RunNext());
  EXPECT_EQ(scheduler.clock().Now(), now);
}

TEST(SimScheduler, AdvanceRunsEachTaskAtItsOwnInstantAndEndsWhereItShould) {
  SimScheduler scheduler;
  const Instant start = scheduler.clock().Now();
  std::vector<nanoseconds> seen;
  const auto note = [&] { seen.push_back(scheduler.clock().Now() - start); };
  scheduler.At(start + milliseconds(2), [&] {
    note();
    scheduler.At(start + milliseconds(3), note);
  });
  scheduler.At(start + milliseconds(5), note);
  scheduler.At(start + milliseconds(5) + nanoseconds(1), note);
  scheduler.Advance(milliseconds(5));
  EXPECT_EQ(seen, (std::vector<nanoseconds>{milliseconds(2), milliseconds(3), milliseconds(5)}));
  EXPECT_EQ(scheduler.clock().Now(), start + milliseconds(5));
  EXPECT_EQ(scheduler.pending(), 1U);
}

TEST(SimScheduler, RunAllEndsWithNothingScheduledOrAtItsBound) {
  SimScheduler scheduler;
  int left = 10;
  Task again = [&] {
    if (--left > 0) scheduler.At(scheduler.clock().Now() + milliseconds(1), [&] { again(); });
  };
  scheduler.Post([&] { again(); });
  EXPECT_FALSE(scheduler.RunAll(9));
  EXPECT_EQ(left, 1);
  EXPECT_TRUE(scheduler.RunAll(1));
  EXPECT_EQ(left, 0);
  EXPECT_TRUE(scheduler.RunAll(0));
}

TEST(SimScheduler, WhatPendingTasksOwnMayScheduleWhileItIsDestroyed) {
  int destroyed = 0;
  bool ran = false;
  {
    SimScheduler scheduler;
    std::shared_ptr<void> owned(nullptr, [&](void*) {
      ++destroyed;
      const TimerId id = scheduler.At(Instant{}, [&ran] { ran = true; });
      scheduler.Post([&ran] { ran = true; });
      scheduler.Cancel(id);
    });
    scheduler.Post([owned = std::move(owned)] {});
  }
  EXPECT_EQ(destroyed, 1);
  EXPECT_FALSE(ran);
}

/// Returns the order in which 20 tasks of one instant, and then 5 of the next, run.
std::vector<int> OrderOf(SimScheduler& scheduler) {
  std::vector<int> order;
  const Instant later = scheduler.clock().Now() + milliseconds(1);
  for (int i = 20; i < 25; ++i) scheduler.At(later, [&order, i] { order.push_back(i); });
  for (int i = 0; i < 20; ++i) scheduler.Post([&order, i] { order.push_back(i); });
  scheduler.RunAll();
  return order;
}

std::vector<int> OrderOf(std::uint64_t seed) {
  SimScheduler scheduler(seed);
  return OrderOf(scheduler);
}

TEST(SimScheduler, ASeedShufflesEqualInstantsAndNothingElse) {
  SimScheduler plain;
  const std::vector<int> in_order = OrderOf(plain);
  ASSERT_TRUE(std::is_sorted(in_order.begin(), in_order.end()));
  std::vector<int> shuffled = OrderOf(1);
  EXPECT_NE(shuffled, in_order);
  EXPECT_TRUE(std::all_of(shuffled.begin(), shuffled.begin() + 20, [](int i) { return i < 20; }));
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, in_order);
}

// Fails if: the order depends on anything but the seed, or not on the seed.
RC_GTEST_PROP(SimSchedulerProperty, AShuffleReplaysByItsSeedAndDiffersBetweenSeeds, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  RC_ASSERT(OrderOf(seed) == OrderOf(seed));
  RC_ASSERT(OrderOf(seed) != OrderOf(seed + 1));
}

TEST(SimScheduler, AShuffledTaskIsCancelledByItsOwnId) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimScheduler scheduler(seed);
    std::vector<int> ran;
    std::vector<TimerId> ids;
    for (int i = 0; i < 8; ++i) {
      ids.push_back(scheduler.At(scheduler.clock().Now(), [&ran, i] { ran.push_back(i); }));
    }
    EXPECT_TRUE(scheduler.Cancel(ids[3]));
    EXPECT_FALSE(scheduler.Cancel(ids[3]));
    scheduler.RunReady();
    EXPECT_EQ(ran.size(), 7U);
    EXPECT_EQ(std::count(ran.begin(), ran.end(), 3), 0);
  }
}

}  // namespace
}  // namespace weir::sim
