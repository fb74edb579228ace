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
  const Result<int> result = Await<int>([](Done<int> done) { done(42); });
  EXPECT_EQ(result, 42);
}

TEST(Await, ReturnsTheErrorAsItIs) {
  const Error error{Code::kUnavailable, "away", milliseconds(3)};
  const Result<int> result = Await<int>([&](Done<int> done) { done(Fail(error)); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), error);
}

TEST(Await, WaitsForAnAnswerFromAnotherThread) {
  SystemClock clock;
  Loop loop(clock);
  const Result<std::string> result = Await<std::string>([&](Done<std::string> done) {
    loop.At(clock.Now() + milliseconds(1), [done = std::move(done)]() mutable { done("late"); });
  });
  EXPECT_EQ(result, "late");
}

// Fails if: the loop's thread blocks in Await for a task of the same loop, without end.
TEST(AwaitUnlessInCallback, FailsOnAThreadThatRunsCallbacks) {
  SystemClock clock;
  Loop loop(clock);
  int started = 0;
  const Result<int> inner = Await<int>([&](Done<int> done) {
    loop.Post([&, done = std::move(done)]() mutable {
      done(AwaitUnlessInCallback<int>([&](Done<int> never) {
        ++started;
        loop.Post([never = std::move(never)]() mutable { never(1); });
      }));
    });
  });
  ASSERT_FALSE(inner);
  EXPECT_EQ(inner.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(started, 0);
}

TEST(Await, TakesValuesThatOnlyMoveAndCallsWithoutAValue) {
  auto result = Await<std::unique_ptr<int>>(
      [](Done<std::unique_ptr<int>> done) { done(std::make_unique<int>(7)); });
  ASSERT_TRUE(result);
  EXPECT_EQ(**result, 7);
  EXPECT_TRUE(Await<void>([](Done<void> done) { done({}); }));
}

// Fails if: a call starts only after another has completed, or the results are not in order.
TEST(AwaitAll, HasAllCallsInFlightAndReturnsTheirResultsInOrder) {
  std::vector<Done<int>> in_flight;
  const auto results = AwaitAll<int>(3, [&](std::size_t i, Done<int> done) {
    in_flight.push_back(std::move(done));
    if (i < 2) return;
    in_flight[2](20);
    in_flight[0](0);
    in_flight[1](Fail(Code::kUnavailable, "away"));
  });
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0], 0);
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().message, "away");
  EXPECT_EQ(results[2], 20);
  EXPECT_TRUE(AwaitAll<int>(0, [](std::size_t, Done<int>) { FAIL(); }).empty());
}

TEST(AwaitAll, WaitsForAnswersFromAnotherThread) {
  SystemClock clock;
  Loop loop(clock);
  const auto results = AwaitAll<std::size_t>(20, [&](std::size_t i, Done<std::size_t> done) {
    loop.At(clock.Now() + nanoseconds(100'000 * (20 - static_cast<std::int64_t>(i))),
            [i, done = std::move(done)]() mutable { done(i); });
  });
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i], i);
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
  // The loop runs the Done before, while and after the caller begins to wait, depending on the
  // number of pauses.
  for (int i = 0; i < kCalls; ++i) {
    const Result<int> result = Await<int>([&](Done<int> done) {
      loop.Post([i, done = std::move(done)]() mutable { done(i); });
      for (int pause = 0; pause < i % 64; ++pause) std::this_thread::yield();
    });
    ASSERT_EQ(result, i);
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
