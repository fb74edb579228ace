// Tests of LimiterOptions::callbacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weir/limiter/limiter.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

/// Keeps the tasks until the test runs them.
class KeptTasks final : public Executor {
 public:
  void Post(Task task) override { tasks_.push_back(std::move(task)); }
  void Run() {
    for (Task& task : std::exchange(tasks_, {})) task();
  }
  void Drop() { tasks_.clear(); }
  std::size_t size() const { return tasks_.size(); }

 private:
  std::vector<Task> tasks_;
};

class LimiterCallbacksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        limiter_.Apply({Put(Level::System(), {{"rpm", PerMinute(10)}})}, Deadline::Never()));
  }
  AcquireRequest One() { return {.entity = "a", .resource = "r", .amounts = {{"rpm", 1}}}; }

  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> memory_ = MakeMemoryBackend({}, &scheduler_.clock());
  KeptTasks tasks_;
  Limiter limiter_{*memory_, scheduler_, {.callbacks = &tasks_, .seed = 1}};
};

TEST_F(LimiterCallbacksTest, CallbacksRunOnTheExecutorAndMayBlock) {
  int results = 0;
  limiter_.Acquire(One(), Deadline::Never(), [&](Result<Outcome> outcome) {
    ASSERT_TRUE(outcome && outcome->admitted());
    EXPECT_TRUE(limiter_.Acquire(One(), Deadline::Never())->admitted());
    std::move(*outcome).lease().Adjust({{"rpm", 2}}, [&](const Status& adjusted) {
      EXPECT_TRUE(adjusted);
      ++results;
    });
  });
  EXPECT_EQ(tasks_.size(), 1U);
  tasks_.Run();
  EXPECT_EQ(results, 0);
  tasks_.Run();
  EXPECT_EQ(results, 1);
}

TEST_F(LimiterCallbacksTest, BlockingCallsDoNotUseTheExecutor) {
  auto outcome = limiter_.Acquire(One(), Deadline::Never());
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::move(*outcome).lease().Cancel());
  EXPECT_EQ(tasks_.size(), 0U);
}

TEST_F(LimiterCallbacksTest, AnExecutorThatDropsATaskStillYieldsAResult) {
  std::optional<Result<Outcome>> outcome;
  limiter_.Acquire(One(), Deadline::Never(),
                   [&](Result<Outcome> result) { outcome = std::move(result); });
  tasks_.Drop();
  ASSERT_TRUE(outcome);
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error().code, Code::kCancelled);
}

}  // namespace
}  // namespace weir
