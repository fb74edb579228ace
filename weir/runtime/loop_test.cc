#include "weir/runtime/loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "weir/runtime/scheduler_contract.h"

namespace weir {
namespace {

class LoopHarness final : public SchedulerHarness {
 public:
  Scheduler& scheduler() override { return loop_; }
  void RunUntil(const std::atomic<bool>& flag) override { flag.wait(false); }

 private:
  SystemClock clock_;
  Loop loop_{clock_};
};

INSTANTIATE_TEST_SUITE_P(Loop, SchedulerContract,
                         testing::Values(+[]() -> std::unique_ptr<SchedulerHarness> {
                           return std::make_unique<LoopHarness>();
                         }),
                         [](const auto&) { return "Loop"; });

class LoopTest : public testing::Test {
 protected:
  /// Runs `body` on the loop and waits for its end.
  template <class Body>
  static void RunOn(Loop& loop, Body body) {
    std::promise<void> done;
    loop.Post([&] {
      body();
      done.set_value();
    });
    done.get_future().wait();
  }

  /// Returns false once the loop destroys new tasks at once, which it does while it is being
  /// destroyed.
  static bool TakesTasks(Loop& loop) {
    auto posted = std::make_shared<int>(0), timed = std::make_shared<int>(0);
    const std::weak_ptr<int> watch_posted = posted, watch_timed = timed;
    loop.Post([owned = std::move(posted)] {});
    loop.At(Instant{INT64_MAX}, [owned = std::move(timed)] {});
    return !watch_posted.expired() || !watch_timed.expired();
  }

  SystemClock clock_;
};

TEST_F(LoopTest, TasksRunOnOneThreadOfItsOwn) {
  Loop loop(clock_);
  std::thread::id first, second;
  bool inside = false;
  RunOn(loop, [&] {
    first = std::this_thread::get_id();
    inside = loop.InLoopThread();
  });
  RunOn(loop, [&] { second = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
  EXPECT_TRUE(inside);
  EXPECT_FALSE(loop.InLoopThread());
  EXPECT_EQ(&loop.clock(), &clock_);
}

TEST_F(LoopTest, AnIdleLoopIsDestroyedAtOnce) { Loop loop(clock_); }

TEST_F(LoopTest, PendingTasksAreDestroyedUnrunWithTheLoop) {
  const auto token = std::make_shared<int>(0);
  int ran = 0;
  {
    Loop loop(clock_);
    std::promise<void> all_given;
    // Occupies the loop until its destruction has begun; from then on the loop accepts no task.
    loop.Post([&loop, given = all_given.get_future()] {
      given.wait();
      while (TakesTasks(loop)) std::this_thread::yield();
    });
    loop.Post([&ran, token] { ++ran; });
    loop.At(clock_.Now(), [&ran, token] { ++ran; });
    loop.At(clock_.Now() + std::chrono::hours(1), [&ran, token] { ++ran; });
    loop.At(Instant{INT64_MAX}, [&ran, token] { ++ran; });
    EXPECT_EQ(token.use_count(), 5);
    all_given.set_value();
  }
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(ran, 0);
}

TEST_F(LoopTest, ATaskThatRunsIsFinishedBeforeTheLoopIsGone) {
  std::promise<void> started;
  bool finished = false;
  {
    Loop loop(clock_);
    loop.Post([&] {
      started.set_value();
      while (TakesTasks(loop)) std::this_thread::yield();
      finished = true;
    });
    started.get_future().wait();
  }
  EXPECT_TRUE(finished);
}

TEST_F(LoopTest, WhatPendingTasksOwnMayCallTheLoopWhileItIsDestroyed) {
  bool late_ran = false;
  int destroyed = 0;
  {
    Loop loop(clock_);
    std::shared_ptr<void> owned(nullptr, [&](void*) {
      ++destroyed;
      loop.Post([&] { late_ran = true; });
      loop.Cancel(loop.At(clock_.Now(), [&] { late_ran = true; }));
    });
    loop.At(Instant{INT64_MAX}, [owned = std::move(owned)] {});
  }
  EXPECT_EQ(destroyed, 1);
  EXPECT_FALSE(late_ran);
}

TEST_F(LoopTest, AnEarlierTaskWakesALoopThatSleepsForALaterOne) {
  constexpr int kRounds = 1'000;
  Loop loop(clock_);
  loop.At(clock_.Now() + std::chrono::hours(1), [] { ADD_FAILURE() << "an hour passed"; });
  // The pauses have different lengths, so that a task is added before, while and after the loop
  // goes to sleep.
  for (int round = 0; round < kRounds; ++round) {
    std::promise<void> ran;
    const auto run = [&ran] { ran.set_value(); };
    if (round % 2 == 0) {
      loop.Post(run);
    } else {
      loop.At(clock_.Now() + std::chrono::microseconds(round % 10), run);
    }
    ran.get_future().wait();
    for (int pause = 0; pause < round % 32; ++pause) std::this_thread::yield();
  }
}

// Fails if: a loop that slept through a suspension sleeps on, whatever comes.
TEST_F(LoopTest, ATaskWakesALoopWhoseClockHasJumped) {
  for (const bool is_posted : {true, false}) {
    JumpingClock clock;
    Loop loop(clock);
    RunOn(loop, [&] { loop.At(clock.Now() + std::chrono::hours(1), [] {}); });
    std::this_thread::yield();  // it goes to sleep
    clock.jump = std::chrono::hours(2);
    std::promise<void> ran;
    const auto run = [&ran] { ran.set_value(); };
    is_posted ? loop.Post(run) : (void)loop.At(clock.Now() + milliseconds(1), run);
    ran.get_future().wait();
  }
}

TEST_F(LoopTest, TasksThatKeepPostingDoNotHoldATimerUp) {
  Loop loop(clock_);
  const Instant when = clock_.Now() + milliseconds(1);
  const Instant give_up = when + std::chrono::seconds(20);
  std::promise<bool> ran;
  bool timer_ran = false;
  Task again = [&] {
    if (timer_ran || clock_.Now() > give_up) return ran.set_value(timer_ran);
    loop.Post([&] { again(); });
  };
  loop.Post([&] { again(); });
  loop.At(when, [&] { timer_ran = true; });
  EXPECT_TRUE(ran.get_future().get());
}

TEST_F(LoopTest, ACancelledTimerDoesNotHoldUpTheNext) {
  Loop loop(clock_);
  std::promise<void> ran;
  // In a task, so that the timer cannot run before it is cancelled.
  RunOn(loop, [&] {
    const Instant when = clock_.Now() + milliseconds(1);
    const TimerId id = loop.At(when, [] { ADD_FAILURE() << "cancelled"; });
    EXPECT_TRUE(loop.Cancel(id));
    loop.At(when + milliseconds(1), [&ran] { ran.set_value(); });
  });
  ran.get_future().wait();
}

TEST_F(LoopTest, PostsOfSeveralThreadsAllRunEachThreadsInOrder) {
  constexpr int kThreads = 4, kPosts = 500;
  Loop loop(clock_);
  std::vector<std::vector<int>> ran(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::vector<int>& mine : ran) {
      threads.emplace_back([&loop, &mine] {
        for (int i = 0; i < kPosts; ++i) loop.Post([&mine, i] { mine.push_back(i); });
      });
    }
  }
  RunOn(loop, [] {});
  for (const std::vector<int>& mine : ran) {
    EXPECT_EQ(mine.size(), static_cast<std::size_t>(kPosts));
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
  }
}

TEST_F(LoopTest, EachTimerRunsOrIsCancelledNeverBoth) {
  constexpr int kTimers = 2000;
  std::atomic<int> ran = 0;
  int cancelled = 0;
  {
    Loop loop(clock_);
    for (int i = 0; i < kTimers; ++i) {
      const TimerId id = loop.At(clock_.Now(), [&ran] { ++ran; });
      if (loop.Cancel(id)) ++cancelled;
    }
    RunOn(loop, [] {});
  }
  EXPECT_EQ(ran + cancelled, kTimers);
}

}  // namespace
}  // namespace weir
