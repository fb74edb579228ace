#include "weir/runtime/await.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "weir/base/time.h"
#include "weir/runtime/loop.h"

namespace weir {
namespace {

TEST(Await, ReturnsWhatWasAnsweredBeforeTheCallReturned) {
  const Result<int> answer = Await<int>([](Done<int> done) { done(42); });
  EXPECT_EQ(answer, 42);
}

TEST(Await, ReturnsTheErrorAsItIs) {
  const Error error{Code::kUnavailable, "away", milliseconds(3)};
  const Result<int> answer = Await<int>([&](Done<int> done) { done(Fail(error)); });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(), error);
}

TEST(Await, WaitsForAnAnswerFromAnotherThread) {
  SystemClock clock;
  Loop loop(clock);
  const Result<std::string> answer = Await<std::string>([&](Done<std::string> done) {
    loop.At(clock.Now() + milliseconds(1), [done = std::move(done)]() mutable { done("late"); });
  });
  EXPECT_EQ(answer, "late");
}

TEST(Await, TakesValuesThatOnlyMoveAndCallsWithoutAValue) {
  auto answer = Await<std::unique_ptr<int>>(
      [](Done<std::unique_ptr<int>> done) { done(std::make_unique<int>(7)); });
  ASSERT_TRUE(answer);
  EXPECT_EQ(**answer, 7);
  EXPECT_TRUE(Await<void>([](Done<void> done) { done({}); }));
}

TEST(Await, ACallThatIsDroppedUnansweredIsCancelled) {
  const Result<int> at_once = Await<int>([](Done<int>) {});
  ASSERT_FALSE(at_once);
  EXPECT_EQ(at_once.error().code, Code::kCancelled);

  SystemClock clock;
  auto loop = std::make_unique<Loop>(clock);
  std::jthread destroyer;
  const Result<int> with_the_loop = Await<int>([&](Done<int> done) {
    loop->At(Instant{INT64_MAX}, [done = std::move(done)]() mutable { done(1); });
    destroyer = std::jthread([&loop] { loop.reset(); });
  });
  ASSERT_FALSE(with_the_loop);
  EXPECT_EQ(with_the_loop.error().code, Code::kCancelled);
}

TEST(Await, AnswersThatRaceWithTheReturnAllArrive) {
  constexpr int kCalls = 20'000;
  SystemClock clock;
  Loop loop(clock);
  // Posting and returning at once lets the answer come before, while and after the caller begins to
  // wait.
  for (int i = 0; i < kCalls; ++i) {
    const Result<int> answer = Await<int>([&](Done<int> done) {
      loop.Post([i, done = std::move(done)]() mutable { done(i); });
      for (int pause = 0; pause < i % 64; ++pause) std::this_thread::yield();
    });
    ASSERT_EQ(answer, i);
  }
}

TEST(Await, ManyThreadsMayWaitOnOneLoop) {
  constexpr int kThreads = 4, kCalls = 500;
  SystemClock clock;
  Loop loop(clock);
  std::vector<int> sums(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int& sum : sums) {
      threads.emplace_back([&loop, &sum] {
        for (int i = 0; i < kCalls; ++i) {
          sum += Await<int>([&](Done<int> done) {
                   loop.Post([done = std::move(done)]() mutable { done(1); });
                 }).value_or(0);
        }
      });
    }
  }
  for (const int sum : sums) EXPECT_EQ(sum, kCalls);
}

}  // namespace
}  // namespace weir
