#include "weir/runtime/turn_pump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class TurnPumpTest : public testing::Test {
 protected:
  struct Owner {
    explicit Owner(TurnPumpTest& test)
        : pump(test.scheduler_, {.next = [&test] { return test.Next(); },
                                 .take_due = [&test] { return test.Take(); }}) {}
    TurnPump pump;
  };

  TurnPumpTest() { owner_->pump.Bind(owner_); }

  void Put(nanoseconds from_now) {
    due_.insert(Now() + from_now);
    owner_->pump.Kick();
  }
  Instant Now() const { return scheduler_.clock().Now(); }
  std::optional<Instant> Next() {
    const auto next = due_.empty() ? std::nullopt : std::optional(*due_.begin());
    if (after_next_) std::exchange(after_next_, nullptr)();
    return next;
  }
  bool Take() {
    if (due_.empty() || *due_.begin() > Now()) return false;
    due_.erase(due_.begin());
    done_.push_back(Now());
    if (on_take_) std::exchange(on_take_, nullptr)();
    return true;
  }

  sim::SimScheduler scheduler_;
  std::multiset<Instant> due_;
  std::vector<Instant> done_;
  std::function<void()> on_take_;
  std::function<void()> after_next_;
  std::shared_ptr<Owner> owner_ = std::make_shared<Owner>(*this);
};

TEST_F(TurnPumpTest, WhatIsDueIsDoneByATask) {
  Put(seconds(0));
  EXPECT_THAT(done_, IsEmpty()) << "not within the call that changed the queue";
  scheduler_.RunReady();
  EXPECT_THAT(done_, ElementsAre(Now()));
}

TEST_F(TurnPumpTest, ManyChangesHaveOneTask) {
  for (int i = 0; i < 10; ++i) Put(seconds(0));
  EXPECT_EQ(scheduler_.pending(), 1U);
  scheduler_.RunReady();
  EXPECT_EQ(done_.size(), 10U);
  EXPECT_EQ(scheduler_.pending(), 0U);
}

TEST_F(TurnPumpTest, EachIsDoneAtItsTime) {
  const Instant begin = Now();
  for (const int second : {3, 1, 2}) Put(seconds(second));
  scheduler_.Advance(seconds(10));
  EXPECT_THAT(done_, ElementsAre(begin + seconds(1), begin + seconds(2), begin + seconds(3)));
  EXPECT_EQ(scheduler_.pending(), 0U);
}

TEST_F(TurnPumpTest, WhatIsTakenOutLeavesNothingBehind) {
  Put(seconds(3));
  scheduler_.RunReady();
  due_.clear();
  scheduler_.Advance(seconds(5));
  EXPECT_THAT(done_, IsEmpty());
  EXPECT_EQ(scheduler_.pending(), 0U);
}

// Fails if: a change while the pump runs is lost.
TEST_F(TurnPumpTest, AChangeWhileItRunsIsNotLost) {
  const Instant begin = Now();
  on_take_ = [this] {
    Put(seconds(0));
    Put(seconds(1));
  };
  Put(seconds(0));
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(done_, ElementsAre(begin, begin, begin + seconds(1)));
}

// Fails if: a change after the last read of the queue is lost.
TEST_F(TurnPumpTest, AChangeAtItsEndIsNotLost) {
  const Instant begin = Now();
  on_take_ = [this] { after_next_ = [this] { Put(seconds(1)); }; };
  Put(seconds(0));
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(done_, ElementsAre(begin, begin + seconds(1)));
}

// Fails if: a change after the last read of the queue relies on a timer that is then cancelled.
TEST_F(TurnPumpTest, I14AChangeBehindATimerThatGoesIsNotLost) {
  const Instant begin = Now();
  Put(seconds(5));
  scheduler_.RunReady();
  on_take_ = [this] {
    due_.clear();
    after_next_ = [this] { Put(seconds(6)); };
  };
  Put(seconds(0));
  scheduler_.Advance(seconds(60));
  EXPECT_THAT(done_, ElementsAre(begin, begin + seconds(6)));
  EXPECT_EQ(scheduler_.pending(), 0U);
}

TEST_F(TurnPumpTest, AClosedOneBeginsNothing) {
  Put(seconds(1));
  scheduler_.RunReady();
  owner_->pump.Close();
  EXPECT_EQ(scheduler_.pending(), 0U);
  Put(seconds(0));
  EXPECT_EQ(scheduler_.pending(), 0U);
}

// Fails if: the task that was posted before Close still takes from the queue.
TEST_F(TurnPumpTest, ATaskThatWasPostedBeforeItsEndDoesNothing) {
  Put(seconds(0));
  owner_->pump.Close();
  scheduler_.RunReady();
  EXPECT_THAT(done_, IsEmpty());
}

// Fails if: the task that runs during Close goes on with the queue.
TEST_F(TurnPumpTest, ClosingItWhileItRunsEndsItsWork) {
  on_take_ = [this] { owner_->pump.Close(); };
  Put(seconds(0));
  Put(seconds(0));
  Put(seconds(1));
  scheduler_.Advance(seconds(2));
  EXPECT_EQ(done_.size(), 1U);
  EXPECT_EQ(scheduler_.pending(), 0U);
}

TEST_F(TurnPumpTest, TasksOfAnOwnerThatIsGoneDoNothing) {
  Put(seconds(0));
  Put(seconds(1));
  owner_.reset();
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(done_, IsEmpty());
}

}  // namespace
}  // namespace weir
