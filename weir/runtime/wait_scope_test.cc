#include "weir/runtime/wait_scope.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "weir/runtime/await.h"

namespace weir {
namespace {

/// The counts of one FakeWork. They are separate because the scope owns the work.
struct Seen {
  std::atomic<int> steps = 0;
  std::atomic<int> handed_over = 0;
  std::thread::id stepped_on;
};

/// Work on an eventfd of its own, which Start makes readable.
class FakeWork final : public WaiterWork {
 public:
  FakeWork(Seen& seen, std::function<bool()> step) : seen_(seen), step_(std::move(step)) {}
  ~FakeWork() override {
    close(ready_);
    close(wake_);
  }
  FakeWork(const FakeWork&) = delete;
  FakeWork& operator=(const FakeWork&) = delete;

  void Start() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(write(ready_, &one, sizeof(one)), 8);
  }
  int readable() const override { return ready_; }
  int wake() const override { return wake_; }
  bool Continue() override {
    std::uint64_t count = 0;
    EXPECT_EQ(read(ready_, &count, sizeof(count)), 8);
    ++seen_.steps;
    seen_.stepped_on = std::this_thread::get_id();
    return step_();
  }
  void HandOver() override { ++seen_.handed_over; }

 private:
  Seen& seen_;
  const std::function<bool()> step_;
  const int ready_ = eventfd(0, EFD_CLOEXEC);
  const int wake_ = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
};

TEST(WaitScope, WorkIsTakenOnlyWhileAResultIsWaitedFor) {
  EXPECT_FALSE(WaitScope::AcceptsWork());
  Seen seen;
  const Result<int> result = Await<int>([&](Done<int> done) {
    EXPECT_TRUE(WaitScope::AcceptsWork());
    auto shared = std::make_shared<Done<int>>(std::move(done));
    auto work = std::make_unique<FakeWork>(seen, [shared] {
      (*shared)(1);
      EXPECT_FALSE(WaitScope::AcceptsWork()) << "the result is there";
      return false;
    });
    work->Start();
    WaitScope::GiveWork(std::move(work));
    EXPECT_FALSE(WaitScope::AcceptsWork()) << "it has some";
  });
  EXPECT_EQ(result, 1);
  EXPECT_EQ(seen.steps, 1);
  EXPECT_EQ(seen.stepped_on, std::this_thread::get_id());
  EXPECT_EQ(seen.handed_over, 0);
  EXPECT_FALSE(WaitScope::AcceptsWork());
}

TEST(WaitScope, WorkGoesOnUntilItEndsAndTheNextWorkFollows) {
  Seen first_seen, second_seen;
  FakeWork* first = nullptr;
  const Result<int> result = Await<int>([&](Done<int> done) {
    auto shared = std::make_shared<Done<int>>(std::move(done));
    const auto finish = [shared] {
      (*shared)(2);
      return false;
    };
    auto work = std::make_unique<FakeWork>(first_seen, [&, finish] {
      const bool is_over = first_seen.steps == 3;
      if (!is_over) first->Start();
      if (!is_over) return true;
      auto next = std::make_unique<FakeWork>(second_seen, finish);
      next->Start();
      WaitScope::GiveWork(std::move(next));
      return false;
    });
    first = work.get();
    first->Start();
    WaitScope::GiveWork(std::move(work));
  });
  EXPECT_EQ(result, 2);
  EXPECT_EQ(first_seen.steps, 3);
  EXPECT_EQ(second_seen.steps, 1);
}

// Fails if: a caller waits for its own request although another one has produced its result.
TEST(WaitScope, AResultFromAnotherThreadEndsTheWaitAndTheWorkIsHandedOver) {
  Seen seen;
  std::jthread other;
  const Result<int> result = Await<int>([&](Done<int> done) {
    WaitScope::GiveWork(std::make_unique<FakeWork>(seen, [] { return true; }));
    other = std::jthread([done = std::move(done)]() mutable { done(5); });
  });
  EXPECT_EQ(result, 5);
  EXPECT_EQ(seen.steps, 0);
  EXPECT_EQ(seen.handed_over, 1);
}

TEST(WaitScope, WorkOfAResultThatIsThereAtOnceIsHandedOver) {
  Seen seen;
  const Result<int> result = Await<int>([&](Done<int> done) {
    WaitScope::GiveWork(std::make_unique<FakeWork>(seen, [] { return true; }));
    done(7);
  });
  EXPECT_EQ(result, 7);
  EXPECT_EQ(seen.handed_over, 1);
}

// Fails if: the work of a call is not done while the same thread waits for another call.
TEST(WaitScope, ANestedWaitHandsOverTheWorkOfTheOuterOne) {
  for (const bool of_many : {false, true}) {
    Seen seen;
    const Result<int> result = Await<int>([&](Done<int> done) {
      WaitScope::GiveWork(std::make_unique<FakeWork>(seen, [] { return true; }));
      const auto inner = [&](std::size_t, Done<int> inner_done) {
        EXPECT_EQ(seen.handed_over, 1);
        EXPECT_EQ(WaitScope::AcceptsWork(), !of_many);
        inner_done(1);
      };
      if (of_many) {
        (void)AwaitAll<int>(1, inner);
      } else {
        (void)Await<int>([&](Done<int> inner_done) { inner(0, std::move(inner_done)); });
      }
      EXPECT_TRUE(WaitScope::AcceptsWork());
      done(2);
    });
    EXPECT_EQ(result, 2);
    EXPECT_EQ(seen.handed_over, 1);
  }
}

// Fails if: a wake-up that arrives while the work continues is lost, or wakes a later wait.
TEST(WaitScope, ResultsThatRaceWithTheWorkAllArrive) {
  constexpr int kCalls = 3'000;
  for (int i = 0; i < kCalls; ++i) {
    Seen seen;
    std::latch both(2);
    std::jthread other;
    const Result<int> result = Await<int>([&](Done<int> done) {
      auto work = std::make_unique<FakeWork>(seen, [] { return true; });
      const FakeWork& lent = *work;
      WaitScope::GiveWork(std::move(work));
      other = std::jthread([&both, &lent, i, done = std::move(done)]() mutable {
        both.arrive_and_wait();
        if (i % 2 == 0) lent.Start();
        done(i);
      });
      both.arrive_and_wait();
    });
    ASSERT_EQ(result, i);
    ASSERT_EQ(seen.handed_over, 1);
  }
}

}  // namespace
}  // namespace weir
