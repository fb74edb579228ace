#include "weir/transport/event_loop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "weir/runtime/scheduler_contract.h"
#include "weir/transport/fd_watch.h"
#include "weir/transport/testing/manual_clock.h"
#include "weir/transport/testing/no_more_descriptors_fixture.h"

namespace weir::transport {
namespace {

class EventLoopHarness final : public SchedulerHarness {
 public:
  Scheduler& scheduler() override { return *loop_; }
  void RunUntil(const std::atomic<bool>& flag) override { flag.wait(false); }

 private:
  SystemClock clock_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Start(clock_);
};

INSTANTIATE_TEST_SUITE_P(EventLoop, SchedulerContract,
                         testing::Values(+[]() -> std::unique_ptr<SchedulerHarness> {
                           return std::make_unique<EventLoopHarness>();
                         }),
                         [](const auto&) { return "EventLoop"; });

class EventLoopTest : public testing::Test {
 protected:
  ManualClock clock_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Start(clock_);
};

TEST_F(EventLoopTest, TasksRunOnOneThreadOfItsOwn) {
  std::thread::id first, second;
  bool is_inside = false;
  loop_->RunAndWait([&] {
    first = std::this_thread::get_id();
    is_inside = loop_->InLoopThread();
  });
  loop_->RunAndWait([&] { second = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
  EXPECT_TRUE(is_inside);
  EXPECT_FALSE(loop_->InLoopThread());
}

TEST_F(EventLoopTest, PendingTasksAreDestroyedUnrunWithTheLoop) {
  const auto token = std::make_shared<int>(0);
  int ran = 0;
  loop_->At(clock_.Now() + std::chrono::hours(1), [&ran, token] { ++ran; });
  loop_->At(Instant{INT64_MAX}, [&ran, token] { ++ran; });
  EXPECT_EQ(token.use_count(), 3);
  loop_.reset();
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(ran, 0);
}

TEST_F(EventLoopTest, ATimerRunsWhenItsClockHasReachedIt) {
  bool ran = false;
  loop_->At(clock_.Now() + std::chrono::hours(1), [&] { ran = true; });
  loop_->RunAndWait([&] { EXPECT_FALSE(ran); });
  clock_.Advance(std::chrono::hours(1));
  loop_->RunAndWait([&] { EXPECT_TRUE(ran); });
}

// Fails if: a call from another thread does not wake the loop.
TEST(EventLoopOnARealClock, AnEarlierTaskWakesALoopThatSleepsForALaterOne) {
  constexpr int kRounds = 1'000;
  const SystemClock clock;
  const auto loop = *EventLoop::Start(clock);
  loop->At(clock.Now() + std::chrono::hours(1), [] { ADD_FAILURE() << "an hour passed"; });
  for (int round = 0; round < kRounds; ++round) {
    std::promise<void> ran;
    const auto run = [&ran] { ran.set_value(); };
    if (round % 2 == 0) {
      loop->Post(run);
    } else {
      loop->At(clock.Now() + std::chrono::microseconds(round % 10), run);
    }
    ran.get_future().wait();
    for (int pause = 0; pause < round % 32; ++pause) std::this_thread::yield();
  }
}

// Fails if: a loop that slept through a suspension sleeps on, whatever comes.
TEST(EventLoopOnARealClock, ATaskWakesALoopWhoseClockHasJumped) {
  for (const bool is_posted : {true, false}) {
    JumpingClock clock;
    const auto loop = *EventLoop::Start(clock);
    loop->RunAndWait([&] { loop->At(clock.Now() + std::chrono::hours(1), [] {}); });
    loop->RunAndWait([] {});
    std::this_thread::yield();  // it goes to sleep
    clock.jump = std::chrono::hours(2);
    std::promise<void> ran;
    const auto run = [&ran] { ran.set_value(); };
    is_posted ? loop->Post(run) : (void)loop->At(clock.Now() + milliseconds(1), run);
    ran.get_future().wait();
  }
}

TEST(EventLoopOnARealClock, WithoutDescriptorsThereIsNoLoop) {
  const SystemClock clock;
  const NoMoreDescriptors none;
  const auto loops = StartLoops(clock, 1);
  ASSERT_FALSE(loops);
  EXPECT_EQ(loops.error().code, Code::kUnavailable);
}

/// Counts the calls of a watch, and repeats its wait up to a number of them.
class CountingHandler final : public FdHandler {
 public:
  void OnReadable() override {
    if (++calls == until) return done.set_value();
    watch->AwaitReadable();
  }
  void OnWritable() override {}

  std::unique_ptr<FdWatch> watch;
  int calls = 0;
  int until = 1;
  std::promise<void> done;
};

struct SocketPair {
  SocketPair() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    near = UniqueFd(fds[0]);
    far = UniqueFd(fds[1]);
  }
  UniqueFd near, far;
};

// Fails if: tasks that keep posting hold up the sockets.
TEST_F(EventLoopTest, TasksThatKeepPostingDoNotHoldUpASocket) {
  SocketPair pair;
  CountingHandler handler;
  handler.until = 3;  // a byte that is not read stays readable
  std::atomic<bool> stop = false;
  Task again = [&] {
    if (!stop) loop_->Post([&] { again(); });
  };
  loop_->RunAndWait([&] {
    handler.watch = *FdWatch::Make(*loop_, std::move(pair.near), handler);
    handler.watch->AwaitReadable();
    again();
  });
  ASSERT_EQ(send(pair.far.get(), "x", 1, 0), 1);
  handler.done.get_future().wait();
  stop = true;
  loop_->RunAndWait([&] { handler.watch.reset(); });
}

// Fails if: sockets that are always ready hold up tasks.
TEST_F(EventLoopTest, ASocketThatIsAlwaysReadableDoesNotHoldUpTasks) {
  SocketPair pair;
  CountingHandler handler;
  handler.until = -1;
  loop_->RunAndWait([&] {
    handler.watch = *FdWatch::Make(*loop_, std::move(pair.near), handler);
    handler.watch->AwaitReadable();
  });
  ASSERT_EQ(send(pair.far.get(), "x", 1, 0), 1);
  for (int i = 0; i < 100; ++i) loop_->RunAndWait([] {});
  loop_->RunAndWait([&] { handler.watch.reset(); });
}

TEST_F(EventLoopTest, AWatchThatIsGoneCallsNobody) {
  SocketPair pair;
  CountingHandler handler;
  loop_->RunAndWait([&] {
    handler.watch = *FdWatch::Make(*loop_, std::move(pair.near), handler);
    handler.watch->AwaitReadable();
    EXPECT_EQ(send(pair.far.get(), "x", 1, 0), 1);
    handler.watch.reset();
  });
  loop_->RunAndWait([] {});
  loop_->RunAndWait([&] { EXPECT_EQ(handler.calls, 0); });
}

}  // namespace
}  // namespace weir::transport
