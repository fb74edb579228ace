// The tests that every Scheduler must pass. Include this header in a test program and instantiate
// SchedulerContract with a function that makes a harness.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/runtime/scheduler.h"

namespace weir {

/// The machine's clock, as after a suspension of `jump`.
class JumpingClock final : public Clock {
 public:
  Instant Now() const override { return machine_.Now() + jump.load(); }
  UnixMillis WallNow() const override { return machine_.WallNow(); }

  std::atomic<nanoseconds> jump{};

 private:
  SystemClock machine_;
};

/// A scheduler under test, and a way to run its tasks.
class SchedulerHarness {
 public:
  virtual ~SchedulerHarness() = default;
  virtual Scheduler& scheduler() = 0;
  /// Runs tasks, and returns once one of them has set the flag.
  virtual void RunUntil(const std::atomic<bool>& flag) = 0;
};

using MakeSchedulerHarness = std::unique_ptr<SchedulerHarness> (*)();

class SchedulerContract : public testing::TestWithParam<MakeSchedulerHarness> {
 protected:
  Scheduler& scheduler() { return harness_->scheduler(); }
  Instant Now() { return scheduler().clock().Now(); }

  /// Runs `body` in a task, so that no task that it schedules starts before it has returned, and
  /// then runs all tasks that are due up to `last`.
  void RunInTask(Task body, Instant last) {
    // Shared, because the waiting thread may have returned between the last two lines of the task.
    const auto done = std::make_shared<std::atomic<bool>>(false);
    scheduler().Post([this, done, last, body = std::move(body)]() mutable {
      body();
      scheduler().At(std::max(last, Now()), [done = std::move(done)] {
        *done = true;
        done->notify_all();
      });
    });
    harness_->RunUntil(*done);
  }
  /// Runs the tasks that were posted before.
  void RunPosted() {
    RunInTask([] {}, Now());
  }

  std::unique_ptr<SchedulerHarness> harness_ = GetParam()();
};

TEST_P(SchedulerContract, PostsRunInOrder) {
  std::vector<int> ran;
  for (int i = 0; i < 100; ++i) scheduler().Post([&ran, i] { ran.push_back(i); });
  RunPosted();
  ASSERT_EQ(ran.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

TEST_P(SchedulerContract, TimersRunInOrderOfTheirInstantsHoweverTheyWereGiven) {
  constexpr int kTimers = 200;
  const Instant start = Now();
  Rng rng(7);
  std::vector<std::pair<Instant, int>> ran;
  RunInTask(
      [&] {
        for (int i = 0; i < kTimers; ++i) {
          const Instant when = start + std::chrono::microseconds(rng.Between(-2000, 2000));
          scheduler().At(when, [&ran, when, i] { ran.emplace_back(when, i); });
        }
      },
      start + milliseconds(2));
  ASSERT_EQ(ran.size(), static_cast<std::size_t>(kTimers));
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
}

TEST_P(SchedulerContract, EqualInstantsRunInOrderOfTheCalls) {
  const Instant when = Now() + milliseconds(1);
  std::vector<int> ran;
  RunInTask(
      [&] {
        for (int i = 0; i < 50; ++i) scheduler().At(when, [&ran, i] { ran.push_back(i); });
      },
      when);
  ASSERT_EQ(ran.size(), 50U);
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
}

TEST_P(SchedulerContract, NoTimerRunsBeforeItsInstant) {
  constexpr int kTimers = 60;
  const Instant start = Now();
  const auto due = [start](int i) { return start + std::chrono::microseconds(100) * i; };
  std::vector<nanoseconds> early;
  // The timers are close together, so that the scheduler is awake when it takes the next one.
  RunInTask(
      [&] {
        for (int i = 0; i < kTimers; ++i) {
          scheduler().At(due(i), [&, i] { early.push_back(due(i) - Now()); });
        }
      },
      due(kTimers));
  ASSERT_EQ(early.size(), static_cast<std::size_t>(kTimers));
  for (const nanoseconds by : early) EXPECT_LE(by, nanoseconds(0));
}

TEST_P(SchedulerContract, ATimerThatWasDueEarlierRunsBeforeAPost) {
  std::vector<int> ran;
  RunInTask(
      [&] {
        scheduler().Post([&] { ran.push_back(2); });
        scheduler().At(Now() - milliseconds(5), [&] { ran.push_back(1); });
      },
      Now());
  EXPECT_EQ(ran, (std::vector{1, 2}));
}

TEST_P(SchedulerContract, ATaskMayPostAndThatRunsAfterItself) {
  std::vector<int> ran;
  scheduler().Post([&] {
    scheduler().Post([&] { ran.push_back(2); });
    ran.push_back(1);
  });
  RunPosted();
  RunPosted();
  EXPECT_EQ(ran, (std::vector{1, 2}));
}

TEST_P(SchedulerContract, ACancelledTimerNeverRunsAndIsCancelledOnce) {
  const Instant when = Now() + milliseconds(1);
  bool first_cancel = false, second_cancel = true, ran = false, other_ran = false;
  RunInTask(
      [&] {
        const TimerId id = scheduler().At(when, [&] { ran = true; });
        scheduler().At(when, [&] { other_ran = true; });
        first_cancel = scheduler().Cancel(id);
        second_cancel = scheduler().Cancel(id);
      },
      when);
  EXPECT_TRUE(first_cancel);
  EXPECT_FALSE(second_cancel);
  EXPECT_FALSE(ran);
  EXPECT_TRUE(other_ran);
}

TEST_P(SchedulerContract, CancelIsFalseForATimerThatRanOrRuns) {
  TimerId id{};
  bool while_it_runs = true;
  RunInTask([&] { id = scheduler().At(Now(), [&] { while_it_runs = scheduler().Cancel(id); }); },
            Now());
  RunPosted();
  EXPECT_FALSE(while_it_runs);
  EXPECT_FALSE(scheduler().Cancel(id));
  EXPECT_FALSE(scheduler().Cancel(TimerId{}));
}

TEST_P(SchedulerContract, TimerIdsDifferAndAreNotZero) {
  const Instant far = Now() + std::chrono::hours(24);
  std::vector<TimerId> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(scheduler().At(far, [] {}));
  std::sort(ids.begin(), ids.end());
  EXPECT_GT(ids.front(), TimerId{0});
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

TEST_P(SchedulerContract, WhatACancelledTaskOwnsMayCallTheScheduler) {
  bool posted_ran = false;
  std::shared_ptr<void> owned(nullptr,
                              [&](void*) { scheduler().Post([&] { posted_ran = true; }); });
  const TimerId id = scheduler().At(Now() + std::chrono::hours(1), [owned = std::move(owned)] {});
  EXPECT_TRUE(scheduler().Cancel(id));
  RunPosted();
  EXPECT_TRUE(posted_ran);
}

TEST_P(SchedulerContract, WhatATaskOwnsIsDestroyedBeforeTheNextTaskRuns) {
  auto owned = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = owned;
  bool alive_in_next = true;
  scheduler().Post([owned = std::move(owned)] {});
  scheduler().Post([&] { alive_in_next = !watch.expired(); });
  RunPosted();
  EXPECT_FALSE(alive_in_next);
}

}  // namespace weir
