#include "weir/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <vector>

namespace weir {
namespace {

// Fails if: a task waits for another one although a thread is free. (Then the test does not end.)
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

// Fails if: the destructor does not wait for a running task, or keeps the objects of a queued task.
TEST(ThreadPool, ItsEndWaitsForWhatRunsAndDropsTheRest) {
  const auto owned = std::make_shared<int>(0);
  std::atomic<bool> has_ended = false;
  std::atomic<int> ran = 0;
  {
    std::latch is_queued(3);
    ThreadPool pool(1);
    // Runs until the pool destroys a newly posted task at once, which it does from the beginning of
    // its destructor on.
    pool.Post([&] {
      for (std::weak_ptr<int> posted; true; std::this_thread::yield()) {
        auto task_owns = std::make_shared<int>(0);
        posted = task_owns;
        pool.Post([task_owns = std::move(task_owns), owned, &ran] { ++ran; });
        if (posted.expired()) break;
        if (!is_queued.try_wait()) is_queued.count_down();
      }
      has_ended = true;
    });
    is_queued.wait();
  }
  EXPECT_TRUE(has_ended);
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(owned.use_count(), 1);
}

}  // namespace
}  // namespace weir
