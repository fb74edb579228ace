// The rounds of an SqsPoll: receiving, handling, hiding and deleting.
#include "weir/events/sqs_poll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace weir {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Key = SqsPoll::Key;

class SqsPollTest : public testing::Test {
 protected:
  static std::vector<SqsMessage> Messages(int count) {
    std::vector<SqsMessage> messages;
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      messages.push_back({.id = "m" + n, .receipt = "r" + n, .body = "b" + n});
    }
    return messages;
  }
  /// Begins a round whose call returns this number of messages. Returns their keys.
  std::vector<Key> Receive(int count) {
    EXPECT_TRUE(poll_.OnWake(now_).receive);
    return Keys(poll_.OnReceived(Messages(count), now_));
  }
  static std::vector<Key> Keys(const SqsPoll::Step& step) {
    std::vector<Key> keys;
    for (const SqsPoll::HandOver& message : step.messages) keys.push_back(message.key);
    return keys;
  }
  SqsPoll::Step Handle(Key key) { return poll_.OnHandled(key, false, now_); }
  SqsPoll::Step HandleNotOver(Key key) { return poll_.OnHandled(key, true, now_); }
  SqsPoll::Step Fails(Key key, Error error = Away()) {
    return poll_.OnHandled(key, Fail(std::move(error)), now_);
  }
  SqsPoll::Step Deleted(std::size_t count) {
    return poll_.OnDeleted(SqsBatchOutcome{.done = count}, now_);
  }
  SqsPoll::Step Hidden(std::size_t count) {
    return poll_.OnHidden(SqsBatchOutcome{.done = count}, now_);
  }
  static Error Away() { return {Code::kUnavailable, "away"}; }
  static Error NoEvent() { return {Code::kInvalidArgument, "no event"}; }

  Instant now_{86'400'000'000'007};
  SqsPollOptions options_;
  SqsPoll poll_{options_, 1};
};

TEST_F(SqsPollTest, WhatIsOverIsDeleted) {
  const auto keys = Receive(2);
  EXPECT_THAT(Handle(keys[1]).receipts, IsEmpty()) << "those of a round go together";
  const auto step = Handle(keys[0]);
  EXPECT_THAT(step.receipts, ElementsAre("r1", "r0"));
  EXPECT_EQ(step.wake, now_) << "the next round begins at once";
  Deleted(2);
  EXPECT_TRUE(poll_.OnWake(now_).receive);
  EXPECT_EQ(poll_.stats().deleted, 2U);
  EXPECT_EQ(poll_.stats().held, 0U);
}

// R8. Fails if: a message is deleted while its event is not over, or other messages wait for it.
TEST_F(SqsPollTest, R8WhatIsNotOverIsHiddenAndDeletedWhenItIs) {
  const auto keys = Receive(2);
  EXPECT_THAT(HandleNotOver(keys[0]).hidings, IsEmpty());
  const auto step = HandleNotOver(keys[1]);
  EXPECT_THAT(step.hidings,
              ElementsAre(SqsHiding{"r0", options_.hidden}, SqsHiding{"r1", options_.hidden}));
  EXPECT_EQ(step.wake, now_) << "others do not wait for what is hidden";
  Hidden(2);
  EXPECT_TRUE(poll_.OnWake(now_).receive);
  EXPECT_EQ(poll_.stats().held, 2U);
  EXPECT_THAT(poll_.OnEventOver(keys[0], {}, now_).receipts, ElementsAre("r0"));
  Deleted(1);
  EXPECT_EQ(poll_.stats().held, 1U);
}

// R8. Fails if: a FIFO queue is blocked by an event that is not over.
TEST_F(SqsPollTest, R8WithoutHoldingItIsDeletedWhenItIsHandled) {
  options_.keeps_until_over = false;
  SqsPoll poll(options_, 1);
  poll.OnWake(now_);
  const auto keys = Keys(poll.OnReceived(Messages(1), now_));
  const auto step = poll.OnHandled(keys[0], true, now_);
  EXPECT_THAT(step.receipts, ElementsAre("r0"));
  EXPECT_THAT(step.hidings, IsEmpty());
  EXPECT_THAT(poll.OnEventOver(keys[0], {}, now_).receipts, IsEmpty());
}

TEST_F(SqsPollTest, NothingIsReceivedWhileMessagesAreHandled) {
  Receive(1);
  EXPECT_FALSE(poll_.OnWake(now_ + seconds(60)).receive);
}

// Fails if: the number of held messages is not bounded.
TEST_F(SqsPollTest, NothingIsReceivedWhileTooManyAreHeld) {
  options_.max_held = 1;
  SqsPoll poll(options_, 1);
  poll.OnWake(now_);
  const auto keys = Keys(poll.OnReceived(Messages(1), now_));
  const auto step = poll.OnHandled(keys[0], true, now_);
  poll.OnHidden(SqsBatchOutcome{.done = 1}, now_);
  ASSERT_TRUE(step.wake);
  const auto next = poll.OnWake(*step.wake);
  EXPECT_FALSE(next.receive);
  ASSERT_TRUE(next.wake) << "it looks again";
  EXPECT_GE(*next.wake, *step.wake + options_.least_gap);
  poll.OnEventOver(keys[0], {}, now_);
  poll.OnDeleted(SqsBatchOutcome{.done = 1}, now_);
  EXPECT_TRUE(poll.OnWake(*next.wake).receive);
}

TEST_F(SqsPollTest, AnAnswerWithoutMessagesAfterTheWaitIsFollowedAtOnce) {
  EXPECT_TRUE(poll_.OnWake(now_).receive);
  now_ = now_ + seconds(20);
  const auto step = poll_.OnReceived({}, now_);
  EXPECT_EQ(step.wake, now_);
  EXPECT_THAT(step.notices, IsEmpty()) << "it is not an error";
  EXPECT_EQ(poll_.stats().receives, 1U);
}

TEST_F(SqsPollTest, AServiceThatDoesNotWaitIsNotAskedWithoutEnd) {
  poll_.OnWake(now_);
  const auto step = poll_.OnReceived({}, now_);
  EXPECT_EQ(step.wake, now_ + seconds(1));
  EXPECT_FALSE(poll_.OnWake(now_ + milliseconds(999)).receive);
  EXPECT_EQ(poll_.OnWake(now_ + milliseconds(999)).wake, now_ + seconds(1));
}

TEST_F(SqsPollTest, WhatIsNoEventIsToldAndLeftInTheQueue) {
  const auto keys = Receive(2);
  EXPECT_THAT(Handle(keys[0]).receipts, IsEmpty());
  const auto step = Fails(keys[1], NoEvent());
  EXPECT_THAT(step.receipts, ElementsAre("r0"));
  ASSERT_THAT(step.notices, SizeIs(1));
  EXPECT_EQ(step.notices[0].message_id, "m1");
  EXPECT_EQ(poll_.stats().bad, 1U);
  EXPECT_EQ(poll_.stats().held, 0U);
  EXPECT_TRUE(step.notices[0].is_abandoned);
  EXPECT_EQ(step.wake, now_) << "no reason to pause";
}

// R9. Fails if: messages are received, and so come closer to the dead-letter queue, while the store
// is unavailable; or they are lost.
TEST_F(SqsPollTest, R9WhatFailedIsHeldAndHandedOverAgain) {
  auto keys = Receive(10);
  SqsPoll::Step step;
  for (const Key key : keys) step = Fails(key);
  EXPECT_EQ(poll_.stats().failed, 10U);
  for (int i = 0; i < 9; ++i) {
    EXPECT_THAT(step.hidings, SizeIs(10)) << "nobody else receives them meanwhile";
    EXPECT_EQ(step.hidings[0], (SqsHiding{"r0", seconds(60)}));
    Hidden(10);
    ASSERT_TRUE(step.wake);
    EXPECT_GT(*step.wake, now_);
    EXPECT_LE(*step.wake, now_ + options_.longest_backoff);
    now_ = *step.wake;
    step = poll_.OnWake(now_);
    EXPECT_FALSE(step.receive) << "the store is away";
    EXPECT_EQ(Keys(step), keys);
    for (const Key key : keys) step = Fails(key);
  }
  Hidden(10);
  now_ = *step.wake;
  step = poll_.OnWake(now_);
  EXPECT_EQ(Keys(step), keys);
  ASSERT_TRUE(step.receive) << "every tenth round looks whether it is only these";
  EXPECT_EQ(step.receive->max_messages, 1);
  poll_.OnReceived({}, now_);
  for (const Key key : keys) step = Handle(key);
  EXPECT_THAT(step.receipts, SizeIs(10));
  ASSERT_TRUE(step.wake);
  Deleted(10);
  EXPECT_EQ(poll_.OnWake(*step.wake).receive->max_messages, 10);
}

// R9. Fails if: messages whose handling always fails block all others.
TEST_F(SqsPollTest, R9TenThatAlwaysFailAreLeftToTheQueueInTheEnd) {
  std::set<Key> good;
  SqsPoll::Step step;
  for (const Key key : Receive(10)) step = Fails(key);
  for (int round = 0; round < 40; ++round) {
    if (!step.hidings.empty()) Hidden(10);
    ASSERT_TRUE(step.wake);
    now_ = *step.wake;
    auto begun = poll_.OnWake(now_);
    const auto failing = Keys(begun);
    if (failing.empty()) break;
    if (begun.receive) {
      for (const Key key : Keys(poll_.OnReceived(Messages(1), now_))) {
        good.insert(key);
        Handle(key);
      }
    }
    for (const Key key : failing) step = Fails(key);
    if (!step.receipts.empty()) Deleted(1);
  }
  EXPECT_THAT(good, testing::Not(IsEmpty()));
  EXPECT_LE(poll_.stats().failed, 10U * (options_.max_failures + 10)) << "until a probe goes well";
}

// R8. Fails if: no messages are received while deletions are in flight.
TEST_F(SqsPollTest, R8ARoundDoesNotWaitForDeletions) {
  const auto keys = Receive(10);
  for (const Key key : keys) HandleNotOver(key);
  Hidden(10);
  EXPECT_TRUE(poll_.OnWake(now_).receive);
  EXPECT_THAT(poll_.OnEventOver(keys[0], {}, now_).receipts, SizeIs(1));
  const auto step = poll_.OnReceived({}, now_);
  ASSERT_TRUE(step.wake) << "while a deletion is in flight";
  EXPECT_TRUE(poll_.OnWake(*step.wake).receive);
}

// R8. Fails if: a message whose event must be delivered again is deleted, or this is not reported.
TEST_F(SqsPollTest, R8WhatIsLostComesAgain) {
  const auto keys = Receive(1);
  HandleNotOver(keys[0]);
  Hidden(1);
  const auto step = poll_.OnEventOver(keys[0], Fail(Away()), now_);
  EXPECT_THAT(step.receipts, IsEmpty());
  ASSERT_THAT(step.notices, SizeIs(1));
  EXPECT_EQ(step.notices[0].message_id, "m0");
  EXPECT_FALSE(step.notices[0].is_abandoned) << "it may come to this process again";
  EXPECT_EQ(poll_.stats().held, 0U);
}

// Fails if: other readers receive a message because its event takes longer than it is hidden.
TEST_F(SqsPollTest, I14WhatIsNotOverForLongIsHiddenAgain) {
  const auto keys = Receive(1);
  auto step = HandleNotOver(keys[0]);
  Instant until = now_ + options_.hidden;
  Hidden(1);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(step.wake);
    now_ = *step.wake + seconds(20);
    const auto begun = poll_.OnWake(*step.wake);
    ASSERT_TRUE(begun.receive);
    step = poll_.OnReceived({}, now_);
    EXPECT_LT(now_, until);
    if (begun.hidings.empty()) continue;
    EXPECT_THAT(begun.hidings, ElementsAre(SqsHiding{"r0", options_.hidden}));
    until = now_ + options_.hidden;
    Hidden(1);
  }
}

// Fails if: a message that is left in the queue is hidden once more, and so comes back later.
TEST_F(SqsPollTest, AMessageThatIsLeftAsNoEventIsNotHidden) {
  const Key key = Receive(1)[0];
  auto step = Fails(key);
  ASSERT_THAT(step.hidings, SizeIs(1));  // in flight until the end
  for (const Error& error : {Away(), NoEvent()}) {
    now_ = *step.wake;
    ASSERT_THAT(Keys(poll_.OnWake(now_)), ElementsAre(key));
    poll_.OnReceived({}, now_);
    step = Fails(key, error);
  }
  EXPECT_EQ(poll_.stats().held, 0U);
  EXPECT_THAT(Hidden(1).hidings, IsEmpty());
}

// Fails if: the same for a message whose handling always fails.
TEST_F(SqsPollTest, AMessageThatIsLeftBecauseItAlwaysFailsIsNotHidden) {
  for (const bool hiding_in_flight : {false, true}) {
    options_.max_failures = hiding_in_flight ? 2 : 1;
    SqsPoll poll(options_, 1);
    poll.OnWake(now_);
    auto keys = Keys(poll.OnReceived(Messages(hiding_in_flight ? 1 : 2), now_));
    auto step = poll.OnHandled(keys[0], Fail(Away()), now_);
    if (hiding_in_flight) {
      ASSERT_THAT(step.hidings, SizeIs(1));
      now_ = *step.wake;
      poll.OnWake(now_);
      keys.push_back(Keys(poll.OnReceived(Messages(1), now_))[0]);
      poll.OnHandled(keys[0], Fail(Away()), now_);
    }
    step = poll.OnHandled(keys[1], false, now_);
    EXPECT_EQ(poll.stats().held, 0U);
    EXPECT_THAT(step.hidings, IsEmpty());
    EXPECT_THAT(poll.OnHidden(SqsBatchOutcome{.done = 1}, now_).hidings, IsEmpty());
  }
}

// Fails if: a message is hidden after it was deleted, which the queue reports as a failure.
TEST_F(SqsPollTest, I14WhatIsOverIsNotHidden) {
  const auto keys = Receive(2);
  HandleNotOver(keys[0]);
  poll_.OnEventOver(keys[0], {}, now_);
  const auto step = Handle(keys[1]);
  EXPECT_THAT(step.receipts, ElementsAre("r0", "r1"));
  EXPECT_THAT(step.hidings, IsEmpty());
}

// Fails if: each failed handling adds a hiding while the queue does not respond.
TEST_F(SqsPollTest, I14OneHidingIsPendingForAMessage) {
  const auto keys = Receive(1);
  auto step = Fails(keys[0]);
  ASSERT_THAT(step.hidings, SizeIs(1));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(step.wake);
    now_ = *step.wake;
    if (poll_.OnWake(now_).receive) poll_.OnReceived({}, now_);
    step = Fails(keys[0]);
    EXPECT_THAT(step.hidings, IsEmpty());
  }
  EXPECT_THAT(Hidden(1).hidings, SizeIs(1));
  EXPECT_THAT(Hidden(1).hidings, IsEmpty());
}

// R8. Fails if: a stop waits for an unavailable queue once for each batch of held messages.
TEST_F(SqsPollTest, R8StoppingDoesNotWaitForAQueueThatIsAway) {
  for (int round = 0; round < 5; ++round) {
    for (const Key key : Receive(10)) HandleNotOver(key);
    Hidden(10);
  }
  EXPECT_THAT(poll_.Stop(now_).hidings, SizeIs(10));
  EXPECT_TRUE(poll_.OnHidden(Fail(Away()), now_).stopped);
}

// R9. Fails if: one message whose handling fails stops the others.
TEST_F(SqsPollTest, R9OneThatFailsDoesNotStopTheOthers) {
  const auto keys = Receive(1);
  auto step = Fails(keys[0]);
  Hidden(1);
  now_ = *step.wake;
  step = poll_.OnWake(now_);
  ASSERT_TRUE(step.receive);
  EXPECT_LE(step.receive->wait, seconds(1)) << "it is to be handled again soon";
  EXPECT_EQ(Keys(step), keys);
  const auto others = Keys(poll_.OnReceived(Messages(2), now_));
  Handle(others[0]);
  Handle(others[1]);
  step = Fails(keys[0]);
  Hidden(1);
  Deleted(2);
  ASSERT_TRUE(step.wake);
  EXPECT_LE(*step.wake, now_ + options_.first_backoff) << "the store is there";
}

// R9. Fails if: a message that can never be handled is held for ever.
TEST_F(SqsPollTest, R9WhatCanNeverBeHandledIsLeftToTheQueue) {
  const auto keys = Receive(1);
  const auto step = Fails(keys[0], {Code::kDataLoss, "a row cannot be read"});
  EXPECT_THAT(step.notices, SizeIs(1));
  EXPECT_THAT(step.receipts, IsEmpty());
  EXPECT_EQ(poll_.stats().held, 0U);
  EXPECT_THAT(Keys(poll_.OnWake(*step.wake)), IsEmpty());
}

TEST_F(SqsPollTest, PausesGrowUntilARoundGoesWell) {
  nanoseconds longest{0};
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(poll_.OnWake(now_).receive);
    const auto step = poll_.OnReceived(Fail(Away()), now_);
    longest = std::max(longest, *step.wake - now_);
    now_ = *step.wake;
  }
  EXPECT_GT(longest, seconds(2));
  EXPECT_LE(longest, options_.longest_backoff);
  EXPECT_EQ(poll_.stats().receive_errors, 50U);
  poll_.OnWake(now_);
  now_ = *poll_.OnReceived({}, now_).wake;
  EXPECT_TRUE(poll_.OnWake(now_).receive);
  EXPECT_LE(*poll_.OnReceived(Fail(Away()), now_).wake, now_ + options_.first_backoff);
}

// Fails if: an error with an unknown code, or throttling, ends the source.
TEST_F(SqsPollTest, R9OnlyAMissingQueueOrPermissionEndsIt) {
  for (const Code code : {Code::kInvalidArgument, Code::kUnauthenticated, Code::kUnavailable,
                          Code::kFailedPrecondition, Code::kDataLoss}) {
    EXPECT_TRUE(poll_.OnWake(now_).receive);
    const auto step = poll_.OnReceived(Fail(code, "x"), now_);
    EXPECT_FALSE(step.ended);
    ASSERT_TRUE(step.wake);
    now_ = *step.wake;
  }
  for (const Code code : {Code::kNotFound, Code::kPermissionDenied}) {
    SqsPoll poll(options_, 1);
    EXPECT_TRUE(poll.OnWake(now_).receive);
    const auto step = poll.OnReceived(Fail(code, "x"), now_);
    EXPECT_TRUE(step.ended);
    EXPECT_FALSE(step.wake);
    EXPECT_TRUE(poll.Stop(now_).stopped);
  }
}

TEST_F(SqsPollTest, WhatIsNotDeletedComesAgain) {
  auto keys = Receive(2);
  Handle(keys[0]);
  const Instant next = *Handle(keys[1]).wake;
  const auto step =
      poll_.OnDeleted(SqsBatchOutcome{.done = 1, .failed = 1, .first_fault = "X"}, now_);
  EXPECT_THAT(step.notices, SizeIs(1));
  EXPECT_EQ(poll_.stats().not_deleted, 1U);
  now_ = next;
  keys = Receive(1);
  Handle(keys[0]);
  EXPECT_THAT(poll_.OnDeleted(Fail(Away()), now_).notices, SizeIs(1));
  EXPECT_EQ(poll_.stats().not_deleted, 2U);
  EXPECT_EQ(poll_.stats().delete_errors, 1U);
}

TEST_F(SqsPollTest, WhatCannotBeHiddenIsTold) {
  const auto keys = Receive(1);
  HandleNotOver(keys[0]);
  const auto step = poll_.OnHidden(Fail(Away()), now_);
  EXPECT_THAT(step.notices, SizeIs(1));
  EXPECT_EQ(poll_.stats().hide_errors, 1U);
  EXPECT_EQ(poll_.stats().held, 1U);
}

TEST_F(SqsPollTest, StoppingInAPauseIsDoneAtOnce) {
  poll_.OnWake(now_);
  poll_.OnReceived({}, now_);
  EXPECT_TRUE(poll_.Stop(now_).stopped);
  EXPECT_FALSE(poll_.OnWake(now_ + seconds(9)).receive);
}

TEST_F(SqsPollTest, StoppingLetsTheCallThatWaitsBringItsMessages) {
  EXPECT_TRUE(poll_.OnWake(now_).receive);
  EXPECT_FALSE(poll_.Stop(now_).stopped);
  const auto keys = Keys(poll_.OnReceived(Messages(1), now_));
  EXPECT_THAT(Handle(keys.at(0)).receipts, ElementsAre("r0"));
  const auto step = Deleted(1);
  EXPECT_TRUE(step.stopped);
  EXPECT_FALSE(step.wake);
}

// R8. Fails if: after a stop, messages whose events are not over stay hidden from other processes.
TEST_F(SqsPollTest, R8StoppingGivesBackWhatIsNotOver) {
  const auto keys = Receive(3);
  HandleNotOver(keys[0]);
  poll_.Stop(now_);
  auto step = Fails(keys[1]);
  EXPECT_THAT(step.notices, SizeIs(1)) << "what failed last is told";
  step = HandleNotOver(keys[2]);
  EXPECT_THAT(step.hidings, ElementsAre(SqsHiding{"r0", seconds(0)}, SqsHiding{"r1", seconds(0)},
                                        SqsHiding{"r2", seconds(0)}));
  EXPECT_FALSE(step.stopped);
  EXPECT_THAT(poll_.OnEventOver(keys[0], {}, now_).receipts, IsEmpty()) << "it is given back";
  EXPECT_TRUE(Hidden(3).stopped);
}

}  // namespace
}  // namespace weir
