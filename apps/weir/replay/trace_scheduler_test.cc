#include "apps/weir/replay/trace_scheduler.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "apps/weir/testing/instants_fixture.h"
#include "weir/runtime/scheduler_contract.h"

namespace weir {
namespace {

using app::kStart;
using app::TraceScheduler;

class TraceHarness final : public SchedulerHarness {
 public:
  Scheduler& scheduler() override { return scheduler_; }
  void RunUntil(const std::atomic<bool>& flag) override {
    while (!flag) scheduler_.AdvanceTo(scheduler_.clock().WallNow() + milliseconds(1));
  }

 private:
  TraceScheduler scheduler_{kStart};
};

INSTANTIATE_TEST_SUITE_P(TraceScheduler, SchedulerContract,
                         testing::Values(+[]() -> std::unique_ptr<SchedulerHarness> {
                           return std::make_unique<TraceHarness>();
                         }),
                         [](const auto&) { return "TraceScheduler"; });

TEST(TraceScheduler, TimeStandsUntilItIsAdvanced) {
  TraceScheduler time(kStart);
  EXPECT_EQ(time.clock().WallNow(), kStart);
  const Instant before = time.clock().Now();
  time.AdvanceTo(kStart + milliseconds(1500));
  EXPECT_EQ(time.clock().WallNow(), kStart + milliseconds(1500));
  EXPECT_EQ(time.clock().Now() - before, milliseconds(1500));
}

TEST(TraceScheduler, TimeDoesNotGoBackwards) {
  TraceScheduler time(kStart);
  time.AdvanceTo(kStart - milliseconds(1));
  EXPECT_EQ(time.clock().WallNow(), kStart);
}

TEST(TraceScheduler, EachTaskRunsAtItsOwnInstantRoundedUpToMilliseconds) {
  TraceScheduler time(kStart);
  std::vector<UnixMillis> ran;
  const Instant now = time.clock().Now();
  for (const nanoseconds wait : {nanoseconds(7'000'001), nanoseconds(3'000'000)}) {
    time.At(now + wait, [&] { ran.push_back(time.clock().WallNow()); });
  }
  time.AdvanceTo(kStart + milliseconds(7));
  EXPECT_EQ(ran, (std::vector{kStart + milliseconds(3)}));
  time.AdvanceTo(kStart + milliseconds(20));
  EXPECT_EQ(ran, (std::vector{kStart + milliseconds(3), kStart + milliseconds(8)}));
}

TEST(TraceScheduler, AwaitReturnsWhatIsAnsweredAtOnce) {
  TraceScheduler time(kStart);
  const Result<int> result = time.Await<int>([](Done<int> done) { done(7); });
  EXPECT_EQ(result, Result<int>(7));
}

TEST(TraceScheduler, AwaitRunsWhatTheAnswerNeeds) {
  TraceScheduler time(kStart);
  const Result<int> result = time.Await<int>(
      [&](Done<int> done) { time.Post([done = std::move(done)]() mutable { done(7); }); });
  EXPECT_EQ(result, Result<int>(7));
  EXPECT_EQ(time.clock().WallNow(), kStart);
}

TEST(TraceScheduler, AwaitTakesTheAnswerOfAnotherThread) {
  TraceScheduler time(kStart);
  std::jthread other;
  const Status result = time.Await<void>([&](Done<void> done) {
    other = std::jthread(
        [done = std::move(done)]() mutable { done(Fail(Code::kUnavailable, "away")); });
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "away");
}

}  // namespace
}  // namespace weir
