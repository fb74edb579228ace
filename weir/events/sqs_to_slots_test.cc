// The whole path from a queue to slots, while processes, the queue and the store fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "weir/events/event_releaser.h"
#include "weir/events/sqs_source.h"
#include "weir/events/testing/event_rules_fixture.h"
#include "weir/events/testing/scripted_queue_fixture.h"
#include "weir/events/testing/slots_in_memory_fixture.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

/// A process that reads the queue. Several may run at once, and each may end at any time.
struct EventDaemon {
  EventDaemon(ScriptedQueue& queue, SlotsInMemory& store, Scheduler& scheduler,
              EventReleaserOptions options = {})
      : releaser(ClusterRule(), store.backend(), scheduler, std::move(options)),
        source(queue, scheduler,
               [this](std::string_view body, auto sent, EventProgress progress) {
                 releaser.Take(body, sent, std::move(progress));
               },
               {.queue_url = queue.url, .notice = [this](const SqsNotice& notice) {
                  notices += notice.message_id.empty() ? 0 : 1;
                }}) {
    EXPECT_TRUE(source.Start());
  }

  int notices = 0;  ///< reports of messages, not of calls
  EventReleaser releaser;
  SqsSource source;
};

class SqsToSlotsTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(queue_.misuses, IsEmpty()); }
  sim::SimScheduler scheduler_;
  SlotsInMemory store_;
  ScriptedQueue queue_{scheduler_};
};

// The store is unavailable for a while. In the end the slot is free, and only the text that is not
// an event is left in the queue.
TEST_F(SqsToSlotsTest, AnEventInTheQueueFreesItsSlot) {
  EventDaemon daemon(queue_, store_, scheduler_);
  store_.BoundByOthers("slot", "j-1");
  store_.faults.assign(7, {Code::kUnavailable, "away"});
  for (const auto& body : {ClusterEvent("j-1"), ClusterEvent("j-1"), std::string("hello")}) {
    queue_.Send(body);
  }
  scheduler_.Advance(minutes(5));
  EXPECT_THAT(store_.held(), IsEmpty());
  EXPECT_EQ(queue_.size(), 1U) << "the queue handles what is not an event";
  EXPECT_GT(daemon.source.stats().bad, 1U);
  EXPECT_EQ(daemon.source.stats().failed, daemon.releaser.stats().release.failed);
}

// R9. Fails if: an outage of the store makes dead letters of good events.
TEST_F(SqsToSlotsTest, R9AnOutageOfTheStoreMakesNoDeadLetters) {
  queue_.max_deliveries = 3;
  EventDaemon daemon(queue_, store_, scheduler_);
  store_.faults.assign(10'000, {Code::kUnavailable, "away"});
  for (int i = 0; i < 30; ++i) {
    store_.BoundByOthers("s" + std::to_string(i), std::to_string(i));
    queue_.Send(ClusterEvent(std::to_string(i)));
  }
  scheduler_.Advance(minutes(60));
  EXPECT_GT(daemon.source.stats().failed, 100U);
  store_.faults.clear();
  scheduler_.Advance(seconds(40));
  EXPECT_THAT(store_.held(), IsEmpty());
  EXPECT_THAT(queue_.dead_letters, IsEmpty());
  scheduler_.Advance(minutes(5));
  EXPECT_EQ(queue_.size(), 0U);
}

// R8. Fails if: the repeated requests of an event are lost with the process.
TEST_F(SqsToSlotsTest, R8AnEventOutlivesTheProcessThatReadIt) {
  auto daemon = std::make_unique<EventDaemon>(queue_, store_, scheduler_);
  queue_.Send(ClusterEvent("j-1"));
  scheduler_.Advance(seconds(10));
  daemon.reset();
  store_.BoundByOthers("slot", "j-1");
  daemon = std::make_unique<EventDaemon>(queue_, store_, scheduler_);
  scheduler_.Advance(minutes(5));
  EXPECT_THAT(store_.held(), IsEmpty());
  scheduler_.Advance(minutes(5));
  EXPECT_EQ(queue_.size(), 0U);
  EXPECT_EQ(queue_.max_receives(), 2);
}

// Fails if: an event without a time, delayed in the queue, releases a later slot of the same name.
TEST_F(SqsToSlotsTest, WithoutATimeItEndedBeforeItsEventWasSent) {
  queue_.Send(ClusterEvent("j-1"));
  scheduler_.Advance(minutes(10));
  store_.Claimed("slot", scheduler_.clock().WallNow());
  store_.Bind({{"emr", "acme"}, "slot"}, "j-1", milliseconds(28'800'000),
              scheduler_.clock().WallNow(), Deadline::Never(), [](const auto&) {});
  EventDaemon daemon(queue_, store_, scheduler_);
  scheduler_.Advance(minutes(5));
  EXPECT_THAT(store_.held(), ElementsAre("slot"));
  EXPECT_EQ(queue_.size(), 0U);
}

// A hidden message of a FIFO queue stops the messages of its group behind it.
TEST_F(SqsToSlotsTest, R8OfAFifoQueueAMessageIsDeletedWhenItIsHandled) {
  queue_.url += ".fifo";
  EventDaemon daemon(queue_, store_, scheduler_);
  queue_.Send(ClusterEvent("j-1"));
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(queue_.size(), 0U);
  store_.BoundByOthers("slot", "j-1");
  scheduler_.Advance(minutes(5));
  EXPECT_THAT(store_.held(), IsEmpty());
}

// R9. Fails if: a store that refuses this process (no permission, no table, no index) makes dead
// letters of good events.
TEST_F(SqsToSlotsTest, R9AStoreThatRefusesMakesNoDeadLetters) {
  for (const Code code : {Code::kUnauthenticated, Code::kPermissionDenied, Code::kNotFound,
                          Code::kFailedPrecondition, Code::kInvalidArgument, Code::kUnknown}) {
    sim::SimScheduler scheduler;
    SlotsInMemory store;
    ScriptedQueue queue{scheduler};
    queue.max_deliveries = 3;
    EventDaemon daemon(queue, store, scheduler);
    store.faults.assign(100'000, {code, "no"});
    for (int i = 0; i < 30; ++i) queue.Send(ClusterEvent(std::to_string(i)));
    scheduler.Advance(minutes(10));
    EXPECT_THAT(queue.dead_letters, IsEmpty()) << static_cast<int>(code);
    EXPECT_EQ(daemon.source.stats().bad, 0U) << static_cast<int>(code);
    store.faults.clear();
    scheduler.Advance(minutes(10));
    EXPECT_EQ(queue.size(), 0U) << static_cast<int>(code);
  }
}

// R8. Fails if: a message is deleted although a repeated request failed.
TEST_F(SqsToSlotsTest, R8AnOutageAfterTheFirstAnswerKeepsTheMessage) {
  for (const Error& fault :
       {Error{Code::kUnavailable, "away"}, Error{Code::kUnauthenticated, "no"}}) {
    sim::SimScheduler scheduler;
    SlotsInMemory store;
    ScriptedQueue queue(scheduler);
    EventDaemon daemon(queue, store, scheduler);
    queue.Send(ClusterEvent("j-1"));
    scheduler.Advance(milliseconds(500));  // the first request finds no slot
    store.faults.assign(5, fault);
    store.BoundByOthers("slot", "j-1");
    scheduler.Advance(minutes(20));
    EXPECT_THAT(store.held(), IsEmpty());
    EXPECT_EQ(queue.size(), 0U);
    EXPECT_GT(daemon.notices, 0);
  }
}

// R8. Fails if: a message that is received again while its event is pending is treated as done.
TEST_F(SqsToSlotsTest, R8ItsOwnRedeliveryDoesNotDeleteAMessage) {
  auto daemon = std::make_unique<EventDaemon>(queue_, store_, scheduler_);
  queue_.Send(ClusterEvent("j-1"));
  queue_.FailAt(2, /*lost=*/false);  // the call that hides it
  scheduler_.Advance(seconds(100));
  EXPECT_EQ(queue_.size(), 1U);
  daemon.reset();
  store_.BoundByOthers("slot", "j-1");
  daemon = std::make_unique<EventDaemon>(queue_, store_, scheduler_);
  scheduler_.Advance(minutes(30));
  EXPECT_THAT(store_.held(), IsEmpty());
}

// R8. Fails if: the message of a later end is deleted while its requests are pending.
TEST_F(SqsToSlotsTest, R8ALaterEndStaysInTheQueue) {
  auto daemon = std::make_unique<EventDaemon>(queue_, store_, scheduler_);
  queue_.Send(ClusterEvent("j-1"));
  scheduler_.Advance(seconds(60));
  queue_.Send(ClusterEvent("j-1"));  // sent a minute later, so it ended later
  scheduler_.Advance(seconds(100));
  EXPECT_EQ(queue_.size(), 1U) << "the requests for the later end cover the earlier one";
  daemon = nullptr;
  store_.BoundByOthers("slot", "j-1");
  daemon = std::make_unique<EventDaemon>(queue_, store_, scheduler_);
  scheduler_.Advance(minutes(10));
  EXPECT_THAT(store_.held(), IsEmpty());
  EXPECT_EQ(queue_.size(), 0U);
}

// R8. Fails if: messages are deleted although their events were given up.
TEST_F(SqsToSlotsTest, R8WhatIsGivenUpForWantOfRoomComesAgain) {
  EventReleaserOptions options;
  options.release.max_pending = 100;
  EventDaemon daemon(queue_, store_, scheduler_, options);
  for (int i = 0; i < 300; ++i) queue_.Send(ClusterEvent("j-" + std::to_string(i)));
  scheduler_.Advance(seconds(20));
  EXPECT_GT(daemon.releaser.stats().release.given_up, 0U);
  EXPECT_EQ(queue_.size(), 300U);
  EXPECT_GT(daemon.notices, 0);
}

// Fails if: an event that is delivered twice releases an undated slot that was bound in between.
TEST_F(SqsToSlotsTest, TheSameEventTwiceSparesALaterSlotWithoutATime) {
  const std::string event =
      R"({"source":"aws.emr","time":"2020-01-01T00:00:00Z","detail":{"clusterId":"j-1"}})";
  EventDaemon daemon(queue_, store_, scheduler_);
  store_.BoundByOthers("first", "j-1");
  queue_.Send(event);
  scheduler_.Advance(milliseconds(100));
  EXPECT_THAT(store_.held(), IsEmpty());
  store_.BoundByOthers("second", "j-1");  // by a later resource of that name
  queue_.Send(event);
  scheduler_.Advance(milliseconds(500));
  EXPECT_THAT(store_.held(), ElementsAre("second"));
}

/// A clock whose wall time advances by a millisecond with each reading.
class TickingClock final : public Clock {
 public:
  explicit TickingClock(const Clock& clock) : clock_(clock) {}
  Instant Now() const override { return clock_.Now(); }
  UnixMillis WallNow() const override { return clock_.WallNow() + milliseconds(++looks_); }

 private:
  const Clock& clock_;
  mutable int looks_ = 0;
};

class TickingScheduler final : public Scheduler {
 public:
  explicit TickingScheduler(sim::SimScheduler& scheduler)
      : scheduler_(scheduler), clock_(scheduler.clock()) {}
  const Clock& clock() const override { return clock_; }
  void Post(Task task) override { scheduler_.Post(std::move(task)); }
  TimerId At(Instant when, Task task) override { return scheduler_.At(when, std::move(task)); }
  bool Cancel(TimerId id) override { return scheduler_.Cancel(id); }

 private:
  sim::SimScheduler& scheduler_;
  TickingClock clock_;
};

// Fails if: a copy of an event is a later end because time passes while an event is read.
TEST_F(SqsToSlotsTest, I14CopiesOfAnEventEndedAtTheSameTime) {
  const std::string event =
      R"({"source":"aws.emr","time":"2020-01-01T00:00:00Z","detail":{"clusterId":"j-1"}})";
  TickingScheduler ticking(scheduler_);
  EventReleaser releaser(ClusterRule(), store_.backend(), ticking, {});
  const auto take = [&] {
    releaser.Take(event, std::nullopt, {.settled = [](const auto&) {}, .over = [](const auto&) {}});
    scheduler_.Advance(milliseconds(100));
  };
  store_.BoundByOthers("first", "j-1");
  take();
  EXPECT_THAT(store_.held(), IsEmpty());
  store_.BoundByOthers("second", "j-1");
  take();
  EXPECT_THAT(store_.held(), ElementsAre("second"));
}

}  // namespace
}  // namespace weir
