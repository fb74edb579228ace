#include "weir/telemetry/counter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <set>
#include <thread>
#include <vector>

namespace weir {
namespace {

constexpr int kThreads = 8;

/// Runs `body` with a thread's number on all threads at the same time.
template <class Body>
void OnAllThreads(Body body) {
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      body(t);
    });
  }
  threads.clear();
}

TEST(Counter, CountsWhatWasAdded) {
  Counter counter;
  EXPECT_EQ(counter.Value(), 0U);
  counter.Add();
  counter.Add(41);
  counter.Add(0);
  EXPECT_EQ(counter.Value(), 42U);
}

TEST(Counter, IsExactUnderThreads) {
  constexpr int kAdds = 1'000'000;
  Counter counter;
  OnAllThreads([&counter](int t) {
    for (int i = 0; i < kAdds; ++i) counter.Add(static_cast<std::uint64_t>(t));
  });
  EXPECT_EQ(counter.Value(), static_cast<std::uint64_t>(kAdds) * kThreads * (kThreads - 1) / 2);
}

TEST(Counter, NeverGoesBackForAReader) {
  Counter counter;
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) counter.Add();
    });
  }
  std::uint64_t last = 0;
  for (int i = 0; i < 5'000; ++i) {
    const std::uint64_t now = counter.Value();
    ASSERT_GE(now, last);
    last = now;
  }
  stop = true;
}

TEST(Counter, CountersDoNotShareWhatTheyCount) {
  Counter one, other;
  one.Add(3);
  EXPECT_EQ(other.Value(), 0U);
}

TEST(ThreadNumber, StaysForAThreadAndDiffersBetweenThreads) {
  std::vector<std::uint32_t> numbers(kThreads);
  OnAllThreads([&numbers](int t) {
    const std::uint32_t number = ThreadNumber();
    EXPECT_EQ(ThreadNumber(), number);
    numbers[static_cast<std::size_t>(t)] = number;
  });
  EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), numbers.size());
}

TEST(Gauge, GoesUpAndDownAndIsSet) {
  Gauge gauge;
  gauge.Add(5);
  gauge.Add(-8);
  EXPECT_EQ(gauge.Value(), -3);
  gauge.Set(INT64_MAX);
  EXPECT_EQ(gauge.Value(), INT64_MAX);
}

TEST(Gauge, IsExactUnderThreads) {
  constexpr int kAdds = 1'000'000;
  Gauge gauge;
  OnAllThreads([&gauge](int t) {
    for (int i = 0; i < kAdds; ++i) gauge.Add(t % 2 == 0 ? 2 : -1);
  });
  EXPECT_EQ(gauge.Value(), kAdds * (kThreads / 2));
}

}  // namespace
}  // namespace weir
