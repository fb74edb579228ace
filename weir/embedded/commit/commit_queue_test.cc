#include "weir/embedded/commit/commit_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CommitQueueTest : public testing::Test {
 protected:
  static Deadline At(std::int64_t nanos) { return Deadline::At({nanos}); }

  void AddWaiter(const std::string& name, Deadline deadline) {
    queue_.Add(
        CommitQueue::Waiter{deadline, ResultOf(name), [this, name] { log_ += name + " late;"; }});
  }
  void AddRequest(const std::string& name, Deadline deadline) {
    auto job = [this, name](StateFile&) {
      log_ += name + " runs;";
      return Status();
    };
    queue_.Add(CommitQueue::Request{deadline, job, ResultOf(name)});
  }
  Done<void> ResultOf(const std::string& name) {
    return [this, name](const Status& status) { log_ += name + (status ? " done;" : " failed;"); };
  }
  // Expires calls, completes them, and returns their states.
  std::vector<CommitQueue::State> Expire(std::int64_t now) {
    std::vector<CommitQueue::State> states;
    for (CommitQueue::Expired& call : queue_.TakeExpired({now})) {
      call.done(Fail(Code::kDeadlineExceeded, "late"));
      states.push_back(call.state);
    }
    return states;
  }
  void CompleteCommitted() {
    for (CommitQueue::Waiter& waiter : queue_.TakeCommitted()) {
      if (waiter.done) {
        waiter.done({});
      } else {
        waiter.after_late_commit();
      }
    }
  }

  CommitQueue queue_;
  std::string log_;
};

TEST_F(CommitQueueTest, ACommitHoldsWhatWasAddedBeforeItBegan) {
  AddWaiter("a", At(10));
  EXPECT_TRUE(queue_.has_new());
  queue_.BeginCommit();
  EXPECT_FALSE(queue_.has_new());
  AddWaiter("b", At(10));
  CompleteCommitted();
  EXPECT_EQ(log_, "a done;");
  EXPECT_EQ(queue_.size(), 1U);
  queue_.BeginCommit();
  CompleteCommitted();
  EXPECT_EQ(log_, "a done;b done;");
  EXPECT_EQ(queue_.size(), 0U);
}

// Fails if: an expired waiter completes twice, or is removed before its `after_late_commit` has
// run.
TEST_F(CommitQueueTest, AWaiterThatExpiresIsAnsweredOnceAndStaysForItsCommit) {
  AddWaiter("new", At(10));
  queue_.BeginCommit();
  AddWaiter("newer", At(20));
  EXPECT_THAT(Expire(9), IsEmpty());
  EXPECT_THAT(Expire(10), ElementsAre(CommitQueue::State::kInFlight));
  EXPECT_THAT(Expire(10), IsEmpty());
  EXPECT_EQ(queue_.NextDeadline(), At(20));
  EXPECT_EQ(queue_.size(), 2U);
  CompleteCommitted();
  EXPECT_EQ(log_, "new failed;new late;");
}

// Fails if: the job of a request runs although the request has completed as not begun.
TEST_F(CommitQueueTest, ARequestThatExpiresBeforeItsTurnNeverRuns) {
  AddRequest("a", At(10));
  queue_.BeginCommit();
  AddRequest("b", At(10));
  EXPECT_THAT(Expire(10),
              ElementsAre(CommitQueue::State::kNotBegun, CommitQueue::State::kNotBegun));
  EXPECT_FALSE(queue_.StartRequest());
  EXPECT_EQ(log_, "a failed;b failed;");
  EXPECT_EQ(queue_.size(), 0U);
  EXPECT_TRUE(queue_.NextDeadline().is_never());
}

TEST_F(CommitQueueTest, ARequestThatExpiresWhileItRunsIsAnsweredOnce) {
  AddRequest("a", At(10));
  queue_.BeginCommit();
  EXPECT_TRUE(queue_.StartRequest());
  EXPECT_EQ(queue_.NextDeadline(), At(10));
  EXPECT_THAT(Expire(10), ElementsAre(CommitQueue::State::kInFlight));
  EXPECT_FALSE(queue_.FinishRequest());
  EXPECT_EQ(log_, "a failed;");
}

TEST_F(CommitQueueTest, ARequestThatFinishesIsAnsweredByIt) {
  AddRequest("a", At(10));
  queue_.BeginCommit();
  EXPECT_TRUE(queue_.StartRequest());
  EXPECT_EQ(queue_.size(), 1U);
  queue_.FinishRequest()({});
  EXPECT_THAT(Expire(10), IsEmpty());
  EXPECT_EQ(log_, "a done;");
  EXPECT_FALSE(queue_.in_flight());
}

TEST_F(CommitQueueTest, ClosingTakesWaitersInFlightOrNotAndRequestsThatNoCommitBegan) {
  AddWaiter("a", At(10));
  AddRequest("r", Deadline::Never());
  queue_.BeginCommit();
  AddWaiter("b", Deadline::Never());
  AddRequest("c", Deadline::Never());
  EXPECT_EQ(queue_.TakeNewRequests().size(), 1U);
  EXPECT_TRUE(queue_.StartRequest());
  EXPECT_EQ(queue_.TakeWaiters().size(), 2U);
  EXPECT_FALSE(queue_.has_new());
}

TEST_F(CommitQueueTest, LateWaitersAreThoseThatWereAnswered) {
  AddWaiter("a", At(10));
  AddWaiter("b", Deadline::Never());
  queue_.BeginCommit();
  AddWaiter("c", At(10));
  AddWaiter("d", Deadline::Never());
  EXPECT_EQ(Expire(10).size(), 2U);
  EXPECT_EQ(queue_.TakeLateWaiters().size(), 2U);
  EXPECT_EQ(queue_.TakeLateWaiters().size(), 0U);
  EXPECT_EQ(queue_.TakeWaiters().size(), 2U);
}

}  // namespace
}  // namespace weir
