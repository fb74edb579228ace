#include "weir/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <vector>

namespace weir {
namespace {

// Fails if: a task waits for another thread's, though a thread is free. (The test does not end.)
TEST(ThreadPool, RunsAsManyTasksAtOnceAsItHasThreads) {
  std::latch all(3);
  std::latch ended(3);
  ThreadPool pool(3);
  for (int i = 0; i < 3; ++i) {
    pool.Post([&] {
      all.arrive_and_wait();
      ended.count_down();
    });
  }
  ended.wait();
}

TEST(ThreadPool, RunsEachTaskOnce) {
  constexpr int kTasks = 1'000;
  std::vector<std::atomic<int>> runs(kTasks);
  std::latch ended(kTasks);
  ThreadPool pool(4);
  for (std::atomic<int>& run : runs) {
    pool.Post([&] {
      ++run;
      ended.count_down();
    });
  }
  ended.wait();
  for (const std::atomic<int>& run : runs) EXPECT_EQ(run, 1);
}

TEST(ThreadPool, OfOneThreadKeepsTheOrder) {
  std::vector<int> order;
  std::latch ended(1);
  ThreadPool pool(1);
  for (int i = 0; i < 100; ++i) pool.Post([&order, i] { order.push_back(i); });
  pool.Post([&] { ended.count_down(); });
  ended.wait();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

// Fails if: the destructor leaves a task that runs, or keeps what a task that waits owns.
TEST(ThreadPool, ItsEndWaitsForWhatRunsAndDropsTheRest) {
  const auto owned = std::make_shared<int>(0);
  std::atomic<bool> has_ended = false;
  {
    std::latch began(1);
    ThreadPool pool(1);
    pool.Post([&] {
      began.count_down();
      for (int i = 0; i < 100; ++i) std::this_thread::yield();
      has_ended = true;
    });
    began.wait();
    for (int i = 0; i < 10; ++i) {
      pool.Post([owned] { std::this_thread::yield(); });
    }
  }
  EXPECT_TRUE(has_ended);
  EXPECT_EQ(owned.use_count(), 1);
}

}  // namespace
}  // namespace weir
