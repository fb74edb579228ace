#include "weir/zae_table/actor/callback_turn.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "weir/sim/sim_scheduler.h"

namespace weir::dynamo {
namespace {

std::vector<Task> OneTask(Task task) {
  std::vector<Task> tasks;
  tasks.push_back(std::move(task));
  return tasks;
}

// A caller makes a new call in each of its callbacks. Fails if: each callback runs deeper on the
// stack.
TEST(CallbackTurnTest, ACallbackThatAsksAgainIsAnsweredAfterItHasReturned) {
  sim::SimScheduler scheduler;
  int depth = 0;
  int deepest = 0;
  int ran = 0;
  std::function<void()> ask = [&] {
    deepest = std::max(deepest, ++depth);
    if (++ran < 200) RunInTurn(OneTask([&] { ask(); }), scheduler);
    --depth;
  };
  RunInTurn(OneTask([&] { ask(); }), scheduler);
  EXPECT_EQ(ran, 200);
  EXPECT_EQ(deepest, 1);
}

// Fails if: the thread that delivers one response runs callbacks for as long as callers make calls.
TEST(CallbackTurnTest, AfterKMostInTurnTheOthersAreTheSchedulers) {
  sim::SimScheduler scheduler;
  int ran = 0;
  std::function<void()> ask = [&] {
    if (++ran < 1'000) RunInTurn(OneTask([&] { ask(); }), scheduler);
  };
  RunInTurn(OneTask([&] { ask(); }), scheduler);
  EXPECT_EQ(ran, static_cast<int>(kMaxInTurn));
  scheduler.RunAll();
  EXPECT_EQ(ran, 1'000);
}

TEST(CallbackTurnTest, TheOrderIsKept) {
  sim::SimScheduler scheduler;
  std::vector<int> order;
  std::vector<Task> tasks;
  for (int i = 0; i < 600; ++i) tasks.emplace_back([&order, i] { order.push_back(i); });
  RunInTurn(std::move(tasks), scheduler);
  scheduler.RunAll();
  ASSERT_EQ(order.size(), 600U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

}  // namespace
}  // namespace weir::dynamo
