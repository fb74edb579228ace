// Rounds of receiving, handling and deleting.
#include "weir/reservation/sqs_poll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

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
  /// A call is under way, and brings so many messages.
  SqsPoll::Step Receive(int count) {
    EXPECT_TRUE(poll_.OnWake(now_).receive);
    return poll_.OnReceived(Messages(count), now_);
  }
  SqsPoll::Step Handle(std::size_t place, Status status = {}) {
    return poll_.OnHandled(place, status, now_);
  }
  static Error Away() { return {Code::kUnavailable, "away"}; }

  Instant now_{86'400'000'000'007};
  SqsPollOptions options_;
  SqsPoll poll_{options_, 1};
};

TEST_F(SqsPollTest, MessagesAreDeletedWhenAllAreHandled) {
  EXPECT_THAT(Receive(3).messages, SizeIs(3));
  EXPECT_THAT(Handle(2).receipts, IsEmpty());
  EXPECT_THAT(Handle(0).receipts, IsEmpty());
  EXPECT_THAT(Handle(1).receipts, ElementsAre("r2", "r0", "r1"));
  const auto step = poll_.OnDeleted(SqsDeleted{.deleted = 3}, now_);
  EXPECT_EQ(step.wake, now_) << "the next round begins at once";
  EXPECT_TRUE(poll_.OnWake(now_).receive);
  EXPECT_EQ(poll_.stats().deleted, 3U);
}

TEST_F(SqsPollTest, NothingIsReceivedWhileMessagesAreHandled) {
  Receive(1);
  EXPECT_FALSE(poll_.OnWake(now_ + seconds(60)).receive);
}

TEST_F(SqsPollTest, AnAnswerWithoutMessagesAfterTheWaitIsFollowedAtOnce) {
  EXPECT_TRUE(poll_.OnWake(now_).receive);
  now_ = now_ + seconds(20);
  const auto step = poll_.OnReceived({}, now_);
  EXPECT_EQ(step.wake, now_);
  EXPECT_THAT(step.notices, IsEmpty()) << "it is no error";
  EXPECT_EQ(poll_.stats().receives, 1U);
}

TEST_F(SqsPollTest, AServiceThatDoesNotWaitIsNotAskedWithoutEnd) {
  const auto step = Receive(0);
  EXPECT_EQ(step.wake, now_ + seconds(1));
  EXPECT_FALSE(poll_.OnWake(now_ + milliseconds(999)).receive);
  EXPECT_EQ(poll_.OnWake(now_ + milliseconds(999)).wake, now_ + seconds(1));
}

TEST_F(SqsPollTest, WhatIsNoEventIsToldAndLeftInTheQueue) {
  Receive(2);
  Handle(0);
  const auto step = Handle(1, Fail(Code::kInvalidArgument, "no event"));
  EXPECT_THAT(step.receipts, ElementsAre("r0"));
  ASSERT_THAT(step.notices, SizeIs(1));
  EXPECT_EQ(step.notices[0].message_id, "m1");
  EXPECT_EQ(poll_.stats().bad, 1U);
  EXPECT_EQ(poll_.OnDeleted(SqsDeleted{.deleted = 1}, now_).wake, now_) << "no reason to pause";
}

TEST_F(SqsPollTest, WhereNothingWasHandledNothingIsDeleted) {
  Receive(1);
  const auto step = Handle(0, Fail(Code::kInvalidArgument, "no event"));
  EXPECT_THAT(step.receipts, IsEmpty());
  EXPECT_TRUE(step.wake);
}

TEST_F(SqsPollTest, WhatFailedIsLeftInTheQueueAndFollowedByAPause) {
  Receive(1);
  const auto step = Handle(0, Fail(Away()));
  EXPECT_THAT(step.receipts, IsEmpty());
  EXPECT_THAT(step.notices, SizeIs(1));
  ASSERT_TRUE(step.wake);
  EXPECT_GT(*step.wake, now_);
  EXPECT_LE(*step.wake, now_ + options_.first_backoff);
  EXPECT_EQ(poll_.stats().failed, 1U);
}

TEST_F(SqsPollTest, PausesGrowUntilARoundGoesWell) {
  nanoseconds longest{0};
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(poll_.OnWake(now_).receive);
    const auto step = poll_.OnReceived(Fail(Away()), now_);
    longest = std::max(longest, *step.wake - now_);
    now_ = *step.wake;
  }
  EXPECT_GT(longest, seconds(5));
  EXPECT_LE(longest, options_.longest_backoff);
  EXPECT_EQ(poll_.stats().receive_errors, 50U);
  now_ = *Receive(0).wake;
  EXPECT_TRUE(poll_.OnWake(now_).receive);
  EXPECT_LE(*poll_.OnReceived(Fail(Away()), now_).wake, now_ + options_.first_backoff);
}

TEST_F(SqsPollTest, WhatIsNotDeletedComesAgain) {
  Receive(2);
  Handle(0);
  Handle(1);
  const auto step =
      poll_.OnDeleted(SqsDeleted{.deleted = 1, .failed = 1, .first_fault = "X"}, now_);
  ASSERT_THAT(step.notices, SizeIs(1));
  EXPECT_THAT(step.notices[0].error.message, testing::HasSubstr("X"));
  EXPECT_EQ(poll_.stats().not_deleted, 1U);
  now_ = *step.wake;
  Receive(1);
  Handle(0);
  EXPECT_THAT(poll_.OnDeleted(Fail(Away()), now_).notices, SizeIs(1));
  EXPECT_EQ(poll_.stats().not_deleted, 2U);
  EXPECT_EQ(poll_.stats().delete_errors, 1U);
}

TEST_F(SqsPollTest, StoppingInAPauseIsDoneAtOnce) {
  Receive(0);
  EXPECT_TRUE(poll_.Stop().stopped);
  EXPECT_FALSE(poll_.OnWake(now_ + seconds(9)).receive);
}

TEST_F(SqsPollTest, StoppingLetsTheCallThatWaitsBringItsMessages) {
  EXPECT_TRUE(poll_.OnWake(now_).receive);
  EXPECT_FALSE(poll_.Stop().stopped);
  EXPECT_THAT(poll_.OnReceived(Messages(1), now_).messages, SizeIs(1));
  EXPECT_THAT(Handle(0).receipts, ElementsAre("r0"));
  const auto step = poll_.OnDeleted(SqsDeleted{.deleted = 1}, now_);
  EXPECT_TRUE(step.stopped);
  EXPECT_FALSE(step.wake);
}

TEST_F(SqsPollTest, StoppingEndsWithTheLastMessageWhereNoneIsToBeDeleted) {
  Receive(2);
  poll_.Stop();
  Handle(0, Fail(Away()));
  const auto step = Handle(1, Fail(Away()));
  EXPECT_TRUE(step.stopped);
  EXPECT_THAT(step.notices, SizeIs(1)) << "what failed last is told";
}

}  // namespace
}  // namespace weir
