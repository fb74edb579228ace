// An SqsSource on a ScriptedQueue, in simulated time.
#include "weir/events/sqs_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "weir/events/testing/scripted_queue_fixture.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SqsSourceTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(queue_.misuses, IsEmpty()); }
  void Handle(std::string_view body, EventProgress progress) {
    handled_.emplace_back(body);
    if (!keeps_) return progress.settled(false);
    kept_.push_back(std::move(progress));
  }
  void Start() {
    ASSERT_TRUE(source_->Start());
    scheduler_.RunReady();
  }
  void Stop() {
    source_->Stop([this](Status status) { stopped_ = status; });
    scheduler_.RunReady();
  }

  sim::SimScheduler scheduler_;
  ScriptedQueue queue_{scheduler_};
  std::vector<std::string> handled_;
  bool keeps_ = false;
  std::vector<EventProgress> kept_;
  std::vector<std::string> notices_;
  std::vector<std::string> ended_;
  std::optional<Status> stopped_;
  std::unique_ptr<SqsSource> source_ = std::make_unique<SqsSource>(
      queue_, scheduler_,
      [this](std::string_view body, auto, EventProgress progress) {
        Handle(body, std::move(progress));
      },
      SqsSourceOptions{
          .queue_url = "https://h/1/q",
          .notice = [this](const SqsNotice& notice) { notices_.push_back(notice.message_id); },
          .ended = [this](const Error& error) { ended_.push_back(error.message); }});
};

TEST_F(SqsSourceTest, ReceivesHandlesAndDeletes) {
  for (const char* body : {"a", "b"}) queue_.Send(body);
  Start();
  scheduler_.Advance(milliseconds(20));
  EXPECT_THAT(handled_, ElementsAre("a", "b"));
  EXPECT_THAT(queue_.calls, ElementsAre("ReceiveMessage", "DeleteMessageBatch", "ReceiveMessage"));
  EXPECT_EQ(queue_.size(), 0U);
  EXPECT_EQ(source_->stats().deleted, 2U);
}

TEST_F(SqsSourceTest, ManyMessagesAreTakenTenAtATime) {
  for (int i = 0; i < 25; ++i) queue_.Send(std::to_string(i));
  Start();
  scheduler_.Advance(milliseconds(100));
  EXPECT_THAT(handled_, SizeIs(25));
  EXPECT_EQ(queue_.size(), 0U);
  EXPECT_THAT(queue_.calls, SizeIs(7)) << "three rounds, and the call that waits for more";
}

TEST_F(SqsSourceTest, AnEmptyQueueIsAskedOnceInEachWait) {
  Start();
  scheduler_.Advance(seconds(59));
  EXPECT_THAT(queue_.calls, SizeIs(3));
  EXPECT_THAT(notices_, IsEmpty());
  EXPECT_EQ(source_->stats().receive_errors, 0U);
}

TEST_F(SqsSourceTest, NothingIsDeletedBeforeItsHandlingIsDone) {
  keeps_ = true;
  queue_.Send("a");
  queue_.Send("b");
  Start();
  scheduler_.Advance(seconds(1));
  ASSERT_THAT(kept_, SizeIs(2));
  EXPECT_EQ(queue_.size(), 2U);
  kept_[1].settled(false);
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(queue_.size(), 2U) << "those of a round go together";
  kept_[0].settled(Fail(Code::kUnavailable, "away"));
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(queue_.size(), 1U);
  EXPECT_THAT(notices_, ElementsAre("1"));
  ASSERT_THAT(kept_, SizeIs(3)) << "it is handed over again";
}

// R8. Fails if: a message is deleted, or received again, before its event is over.
TEST_F(SqsSourceTest, R8WhatIsNotOverStaysInTheQueueUnseen) {
  keeps_ = true;
  queue_.Send("a");
  Start();
  scheduler_.Advance(seconds(1));
  kept_.at(0).settled(true);
  scheduler_.Advance(seconds(200));
  EXPECT_EQ(queue_.size(), 1U);
  EXPECT_THAT(handled_, SizeIs(1));
  queue_.Send("b");
  scheduler_.Advance(seconds(21));
  EXPECT_THAT(handled_, ElementsAre("a", "b")) << "others go on";
  kept_[0].over({});
  kept_[1].settled(false);
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(queue_.size(), 0U);
  EXPECT_EQ(queue_.max_receives(), 1);
}

// R8. Fails if: a message whose event is not over is lost with the process, or hidden from the next
// process.
TEST_F(SqsSourceTest, R8StoppingGivesWhatIsNotOverBack) {
  keeps_ = true;
  queue_.Send("a");
  Start();
  scheduler_.Advance(seconds(1));
  kept_.at(0).settled(true);
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(queue_.visible(), 0U);
  Stop();
  scheduler_.Advance(seconds(30));
  ASSERT_TRUE(stopped_ && *stopped_);
  EXPECT_EQ(queue_.visible(), 1U);
  kept_[0].over({});
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(queue_.size(), 1U);
}

// Regardless of which call fails, with or without an effect, each message is handled, and deleted
// afterwards.
TEST_F(SqsSourceTest, AnyCallMayFail) {
  for (const bool lost : {false, true}) {
    for (std::size_t nth = 1; nth <= 5; ++nth) {
      handled_.clear();
      const std::size_t errors = source_->stats().receive_errors + source_->stats().delete_errors;
      for (int i = 0; i < 15; ++i) queue_.Send(std::to_string(i));
      if (queue_.calls.empty()) Start();
      queue_.FailAt(nth, lost);
      scheduler_.Advance(minutes(5));
      EXPECT_EQ(queue_.size(), 0U) << nth;
      const std::set<std::string> distinct(handled_.begin(), handled_.end());
      EXPECT_THAT(distinct, SizeIs(15)) << nth;
      EXPECT_EQ(source_->stats().receive_errors + source_->stats().delete_errors, errors + 1);
    }
  }
}

// R9. Fails if: a queue that does not exist is called for ever, or the source cannot be stopped
// afterwards.
TEST_F(SqsSourceTest, R9AQueueThatDoesNotExistEndsIt) {
  queue_.FailAlways(
      {.kind = FailureClass::kPermanent, .code = "QueueDoesNotExist", .message = "no such queue"});
  Start();
  scheduler_.Advance(minutes(5));
  EXPECT_THAT(queue_.calls, SizeIs(1));
  EXPECT_THAT(ended_, ElementsAre("no such queue"));
  EXPECT_THAT(notices_, IsEmpty());
  Stop();
  EXPECT_TRUE(stopped_ && *stopped_);
}

// R9. Fails if: an outage of the queue ends the source.
TEST_F(SqsSourceTest, R9AnOutageDoesNotEndIt) {
  queue_.FailAlways({.kind = FailureClass::kTransient, .message = "away"});
  Start();
  scheduler_.Advance(minutes(5));
  EXPECT_THAT(queue_.calls, SizeIs(testing::AllOf(testing::Gt(10U), testing::Lt(200U))));
  EXPECT_THAT(ended_, IsEmpty());
  EXPECT_EQ(notices_.size(), source_->stats().receive_errors);
}

TEST_F(SqsSourceTest, AWaitBeyondTheServicesIsRefused) {
  for (const ReceiveOptions& bad :
       {ReceiveOptions{.wait = seconds(30), .visibility = seconds(60)}, ReceiveOptions{}}) {
    SqsSource source(queue_, scheduler_, [](auto, auto, auto) {}, {.poll = {.receive = bad}});
    EXPECT_FALSE(source.Start());
  }
}

// Fails if: `hidden` is accepted although messages would have to be hidden again all the time.
TEST_F(SqsSourceTest, I14HidingForLessThanTheVisibilityIsRefused) {
  const ReceiveOptions receive{.visibility = seconds(300)};
  SqsSource source(queue_, scheduler_, [](auto, auto, auto) {}, {.poll = {.receive = receive}});
  const Status started = source.Start();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, testing::HasSubstr("240 s; expected longer"));
}

TEST_F(SqsSourceTest, StoppingWaitsForTheCallAndWhatItBrings) {
  Start();
  scheduler_.Advance(seconds(1));
  Stop();
  EXPECT_FALSE(stopped_);
  scheduler_.Advance(seconds(20));
  ASSERT_TRUE(stopped_);
  EXPECT_TRUE(*stopped_);
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_THAT(queue_.calls, SizeIs(1));
}

TEST_F(SqsSourceTest, StoppingInAPauseEndsIt) {
  Start();
  scheduler_.Advance(seconds(1));
  queue_.FailAt(1, false);
  scheduler_.Advance(seconds(19));
  Stop();
  ASSERT_TRUE(stopped_);
  EXPECT_EQ(scheduler_.pending(), 0U);
}

TEST_F(SqsSourceTest, OneThatNeverBeganStopsAtOnce) {
  Stop();
  EXPECT_TRUE(stopped_ && *stopped_);
}

TEST_F(SqsSourceTest, DestroyingItAbandonsWhatIsUnderWay) {
  keeps_ = true;
  queue_.Send("a");
  Start();
  scheduler_.Advance(milliseconds(10));
  ASSERT_THAT(kept_, SizeIs(1));
  Stop();
  source_.reset();
  ASSERT_TRUE(stopped_);
  EXPECT_EQ(stopped_->error().code, Code::kCancelled);
  kept_[0].settled(true);
  kept_[0].over({});
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_THAT(queue_.calls, SizeIs(1));
  EXPECT_EQ(queue_.size(), 1U) << "it comes again";
}

}  // namespace
}  // namespace weir
