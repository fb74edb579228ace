// A queue by script, in simulated time.
#include "weir/reservation/sqs_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "weir/reservation/event_releaser.h"
#include "weir/reservation/event_rules_fixture.h"
#include "weir/reservation/scripted_queue_fixture.h"
#include "weir/reservation/slots_in_memory_fixture.h"
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
  void Handle(std::string_view body, Done<void> done) {
    handled_.emplace_back(body);
    if (!keeps_) return done({});
    kept_.push_back(std::move(done));
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
  std::vector<Done<void>> kept_;
  std::vector<std::string> notices_;
  std::vector<std::string> ended_;
  std::optional<Status> stopped_;
  std::unique_ptr<SqsSource> source_ = std::make_unique<SqsSource>(
      queue_, scheduler_,
      [this](std::string_view body, Done<void> done) { Handle(body, std::move(done)); },
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
  kept_[1]({});
  scheduler_.Advance(seconds(1));
  EXPECT_THAT(queue_.calls, ElementsAre("ReceiveMessage"));
  kept_[0](Fail(Code::kUnavailable, "away"));
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(queue_.size(), 1U);
  EXPECT_THAT(notices_, ElementsAre("1"));
}

// Whichever call fails, done or not: each message is handled, deleted in the end, and never before
// it was handled.
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

// R9. Fails if: a queue that cannot be received from is asked for ever, or the source cannot be
// stopped after it.
TEST_F(SqsSourceTest, R9AQueueThatDoesNotExistEndsIt) {
  queue_.FailAlways({.kind = FailureClass::kPermanent, .message = "no such queue"});
  Start();
  scheduler_.Advance(minutes(5));
  EXPECT_THAT(queue_.calls, SizeIs(1));
  EXPECT_THAT(ended_, ElementsAre("no such queue"));
  EXPECT_THAT(notices_, IsEmpty());
  Stop();
  EXPECT_TRUE(stopped_ && *stopped_);
}

// R9. Fails if: an outage ends it.
TEST_F(SqsSourceTest, R9AnOutageDoesNotEndIt) {
  queue_.FailAlways({.kind = FailureClass::kTransient, .message = "away"});
  Start();
  scheduler_.Advance(minutes(5));
  EXPECT_THAT(queue_.calls, SizeIs(testing::AllOf(testing::Gt(10U), testing::Lt(100U))));
  EXPECT_THAT(ended_, IsEmpty());
  EXPECT_EQ(notices_.size(), source_->stats().receive_errors);
}

TEST_F(SqsSourceTest, AWaitBeyondTheServicesIsRefused) {
  SqsSource source(queue_, scheduler_, [](auto, auto) {},
                   {.poll = {.receive = {.wait = seconds(30)}}});
  EXPECT_FALSE(source.Start());
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
  kept_[0]({});
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_THAT(queue_.calls, SizeIs(1));
  EXPECT_EQ(queue_.size(), 1U) << "it comes again";
}

// The whole way, with the store away for a while: the slot is free in the end and the queue empty.
TEST(SqsToSlots, AnEventInTheQueueFreesItsSlot) {
  sim::SimScheduler scheduler;
  SlotsInMemory store;
  ScriptedQueue queue(scheduler);
  EventReleaser releaser(ClusterRule(), store.backend(), scheduler, {});
  SqsSource source(
      queue, scheduler,
      [&](std::string_view body, Done<void> done) { releaser.Take(body, std::move(done)); },
      {.queue_url = "https://h/1/q"});
  store.BoundByOthers("slot", "j-1");
  store.faults.assign(7, {Code::kUnavailable, "away"});
  for (const auto& body : {ClusterEvent("j-1"), ClusterEvent("j-1"), std::string("hello")}) {
    queue.Send(body);
  }
  ASSERT_TRUE(source.Start());
  scheduler.Advance(minutes(5));
  EXPECT_THAT(store.held(), IsEmpty());
  EXPECT_EQ(queue.size(), 1U) << "what is no event is the queue's matter";
  EXPECT_GT(source.stats().bad, 1U);
  EXPECT_EQ(source.stats().failed, releaser.stats().release.failed);
}

}  // namespace
}  // namespace weir
