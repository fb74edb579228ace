#include "weir/reservation/reserve_queue.h"

#include <gtest/gtest.h>

#include "weir/reservation/testing/reserve_queue_fixture.h"

namespace weir {
namespace {

using Ids = std::vector<ReserveQueue::Id>;

class ReserveQueueTest : public ::testing::Test {
 protected:
  Verdict Ask(ReserveQueue::Id id, const AccountKey& key, std::int64_t limit = 3) {
    return queue_.Add({.id = id, .key = key, .limit = limit}, now_).verdict;
  }
  Verdict Wait(ReserveQueue::Id id, const AccountKey& key, Instant until = kForEver,
               std::int64_t limit = 3) {
    return queue_.Add({.id = id, .key = key, .limit = limit, .wait_until = until}, now_).verdict;
  }
  Ids Asks() { return queue_.Advance(now_).asks; }
  ReserveQueue::Admission Refuse(ReserveQueue::Id id, std::optional<Instant> next_expiry,
                                 std::int64_t limit = 3) {
    return queue_.OnRefused(id, {.limit = limit, .in_use = limit, .next_expiry = next_expiry},
                            now_);
  }
  Instant In(milliseconds wait) const { return now_ + wait; }

  Instant now_{1'000'000'000'000};
  ReserveQueue queue_{
      {.full_for = milliseconds(5'000), .remembered = 10, .max_waiting = 5, .seed = 1}};
};

TEST_F(ReserveQueueTest, WhoDoesNotWaitAsksAtOnceAndBesideOthers) {
  EXPECT_EQ(Ask(1, kA), Verdict::kAsk);
  EXPECT_EQ(Ask(2, kA), Verdict::kAsk);
  queue_.Remove(1);
  queue_.Remove(2);
  EXPECT_FALSE(queue_.NextWake());
  EXPECT_EQ(queue_.waiting(), 0U);
}

TEST_F(ReserveQueueTest, ARefusalIsRepeatedWithoutAskingAndToldTheTimeThatIsLeft) {
  EXPECT_EQ(Ask(1, kA), Verdict::kAsk);
  EXPECT_EQ(Refuse(1, In(milliseconds(60'000))).verdict, Verdict::kRefuse);
  const Instant until = In(milliseconds(5'000));
  now_ = In(milliseconds(1'000));
  const auto again = queue_.Add({.id = 2, .key = kA, .limit = 3}, now_);
  EXPECT_EQ(again.verdict, Verdict::kRefuse);
  EXPECT_EQ(again.known.in_use, 3);
  EXPECT_EQ(again.known.retry_at, until);
  EXPECT_EQ(Ask(3, kB), Verdict::kAsk) << "another key";
  now_ = until;
  EXPECT_EQ(Ask(4, kA), Verdict::kAsk);
}

TEST_F(ReserveQueueTest, ThoseWhoWaitAskOneAfterTheOther) {
  EXPECT_EQ(Wait(1, kA), Verdict::kWait);
  EXPECT_EQ(Wait(2, kA), Verdict::kWait);
  EXPECT_EQ(Wait(3, kB), Verdict::kWait);
  EXPECT_EQ(Asks(), (Ids{1, 3})) << "one for each key";
  EXPECT_EQ(Asks(), Ids{});
  queue_.Remove(1);
  EXPECT_EQ(Asks(), Ids{2}) << "where one got a slot there may be another";
  EXPECT_EQ(queue_.waiting(), 2U);
}

TEST_F(ReserveQueueTest, AfterARefusalTheFirstAsksAgainAfterAWaitWithJitter) {
  Wait(1, kA);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Asks(), Ids{1});
    EXPECT_EQ(Refuse(1, std::nullopt).verdict, Verdict::kWait);
    const Instant next = queue_.NextWake().value();
    EXPECT_GE(next, In(ReserveQueue::kShortestWait));
    EXPECT_LE(next, In(ReserveQueue::kLongestWait));
    now_ = next - nanoseconds(1);
    EXPECT_EQ(Asks(), Ids{});
    now_ = next;
  }
}

TEST_F(ReserveQueueTest, OrWhenTheFirstSlotExpiresIfThatIsSooner) {
  Wait(1, kA);
  EXPECT_EQ(Asks(), Ids{1});
  Refuse(1, In(milliseconds(90)));
  EXPECT_EQ(queue_.NextWake(), In(milliseconds(90)));
}

TEST_F(ReserveQueueTest, AnExpiryThatIsPastIsNoReasonToAskWithoutPause) {
  Wait(1, kA);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Asks(), Ids{1});
    Refuse(1, now_);
    EXPECT_GE(queue_.NextWake().value(), In(ReserveQueue::kShortestWait));
    now_ = *queue_.NextWake();
  }
}

TEST_F(ReserveQueueTest, ASlotThatComesBackHereIsAskedForAtOnce) {
  Wait(1, kA);
  Wait(2, kA);
  Asks();
  Refuse(1, std::nullopt);
  EXPECT_EQ(Asks(), Ids{});
  queue_.OnReleased(kB);
  EXPECT_EQ(Asks(), Ids{}) << "of another key";
  queue_.OnReleased(kA);
  EXPECT_EQ(Asks(), Ids{1}) << "the first, and it alone";
}

TEST_F(ReserveQueueTest, OneThatComesBackWhileTheStoreAnswersIsNotMissed) {
  Wait(1, kA);
  Asks();
  queue_.OnReleased(kA);
  EXPECT_EQ(Asks(), Ids{}) << "its asking is under way";
  EXPECT_EQ(Refuse(1, std::nullopt).verdict, Verdict::kWait);
  EXPECT_EQ(Asks(), Ids{1});
}

TEST_F(ReserveQueueTest, ARefusalThatASlotCrossedIsNotBelieved) {
  Ask(1, kA);
  queue_.OnReleased(kA);
  Refuse(1, std::nullopt);
  EXPECT_EQ(Ask(2, kA), Verdict::kAsk);
}

TEST_F(ReserveQueueTest, WhoGotASlotMeanwhileEndsTheBelief) {
  Ask(1, kA);
  Ask(2, kA);
  Refuse(1, std::nullopt);
  EXPECT_EQ(Ask(3, kA), Verdict::kRefuse);
  queue_.Remove(2);
  EXPECT_EQ(Ask(4, kA), Verdict::kAsk);
}

TEST_F(ReserveQueueTest, WaitsAreShortAgainAfterASlotCameBackOrWasGiven) {
  ReserveQueue::Id first = 1;
  for (int round = 0; round < 20; ++round) {
    Wait(first, kA);
    Wait(first + 1, kA);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(Asks(), Ids{first});
      Refuse(first, std::nullopt);
      now_ = queue_.NextWake().value();
    }
    if (round % 2 == 0) {
      queue_.OnReleased(kA);
      EXPECT_EQ(Asks(), Ids{first});
      Refuse(first, std::nullopt);
      EXPECT_LE(queue_.NextWake().value(), In(2 * ReserveQueue::kShortestWait));
      now_ = queue_.NextWake().value();
    }
    EXPECT_EQ(Asks(), Ids{first});
    queue_.Remove(first);
    EXPECT_EQ(Asks(), Ids{++first});
    Refuse(first, std::nullopt);
    EXPECT_LE(queue_.NextWake().value(), In(2 * ReserveQueue::kShortestWait));
    now_ = queue_.NextWake().value();
    EXPECT_EQ(Asks(), Ids{first});
    queue_.Remove(first++);
    now_ = In(SlotRefusals::kFullForUnknown);
  }
}

TEST_F(ReserveQueueTest, WhileOthersWaitOneWhoDoesNotIsRefused) {
  Wait(1, kA);
  const auto result = queue_.Add({.id = 2, .key = kA, .limit = 3}, now_);
  EXPECT_EQ(result.verdict, Verdict::kRefuse);
  EXPECT_EQ(result.known.in_use, 3) << "what is free is spoken for";
  EXPECT_GT(result.known.retry_at, now_);
  Asks();
  Refuse(1, std::nullopt);
  const auto later = queue_.Add({.id = 3, .key = kA, .limit = 3}, now_);
  EXPECT_EQ(later.known.retry_at, queue_.NextWake()) << "when the first asks again";
  const auto more = queue_.Add({.id = 4, .key = kA, .limit = 7}, now_);
  EXPECT_EQ(more.known.in_use, 7) << "never less than the limit";
}

TEST_F(ReserveQueueTest, OneWhoComesToWaitBelievesARefusalToo) {
  Ask(1, kA);
  Refuse(1, In(milliseconds(60'000)));
  EXPECT_EQ(Wait(2, kA), Verdict::kWait);
  EXPECT_EQ(Asks(), Ids{});
  EXPECT_LE(queue_.NextWake().value(), In(ReserveQueue::kLongestWait));
}

TEST_F(ReserveQueueTest, AnotherLimitIsAskedWithAtOnce) {
  Wait(1, kA);
  Asks();
  Refuse(1, std::nullopt);
  EXPECT_EQ(Wait(2, kA, kForEver, 4), Verdict::kWait);
  EXPECT_EQ(Asks(), Ids{1});
  Refuse(1, std::nullopt, 4);
  EXPECT_EQ(Wait(3, kA, kForEver, 4), Verdict::kWait);
  EXPECT_EQ(Asks(), Ids{}) << "as was refused";
}

TEST_F(ReserveQueueTest, WhoseTimeIsOverLeavesWithWhatIsKnown) {
  Wait(1, kA, In(milliseconds(150)));
  Wait(2, kA, In(milliseconds(100)));
  Wait(3, kA);
  Asks();
  Refuse(1, std::nullopt);
  const Instant retry_at = now_ + milliseconds(100);
  now_ = retry_at;
  auto step = queue_.Advance(now_);
  ASSERT_EQ(step.expired.size(), 1U);
  EXPECT_EQ(step.expired[0].first, 2U);
  EXPECT_EQ(step.expired[0].second.in_use, 3);
  now_ = In(milliseconds(50));
  step = queue_.Advance(now_);
  ASSERT_EQ(step.expired.size(), 1U);
  EXPECT_EQ(step.expired[0].first, 1U);
  EXPECT_EQ(step.asks, Ids{}) << "3 is the first now; when to ask is known from 1";
  EXPECT_EQ(queue_.waiting(), 1U);
  now_ = *queue_.NextWake();
  EXPECT_EQ(Asks(), Ids{3});
}

TEST_F(ReserveQueueTest, WhoAsksIsAnsweredByTheStoreHoweverLate) {
  Wait(1, kA, In(milliseconds(100)));
  Wait(2, kA);
  EXPECT_EQ(Asks(), Ids{1});
  now_ = In(milliseconds(200));
  EXPECT_TRUE(queue_.Advance(now_).expired.empty());
  EXPECT_EQ(Refuse(1, std::nullopt).verdict, Verdict::kRefuse);
  EXPECT_EQ(queue_.waiting(), 1U);
}

TEST_F(ReserveQueueTest, AtOneInstantAskingComesBeforeTheEnd) {
  Wait(1, kA, In(milliseconds(90)));
  Asks();
  Refuse(1, In(milliseconds(90)));
  now_ = In(milliseconds(90));
  const auto step = queue_.Advance(now_);
  EXPECT_EQ(step.asks, Ids{1});
  EXPECT_TRUE(step.expired.empty());
}

TEST_F(ReserveQueueTest, ATimeThatIsOverAlreadyIsNoWait) {
  EXPECT_EQ(Wait(1, kA, now_), Verdict::kAsk);
  EXPECT_EQ(queue_.waiting(), 0U);
  EXPECT_EQ(Refuse(1, std::nullopt).verdict, Verdict::kRefuse);
}

TEST_F(ReserveQueueTest, NoMoreWaitThanMay) {
  for (ReserveQueue::Id id = 1; id <= 5; ++id) EXPECT_EQ(Wait(id, kA), Verdict::kWait);
  EXPECT_EQ(Wait(6, kB), Verdict::kTooMany);
  EXPECT_EQ(Asks(), Ids{1});
  queue_.Remove(1);
  EXPECT_EQ(Wait(7, kB), Verdict::kWait);
}

TEST_F(ReserveQueueTest, ArrivalDecidesWhereALookupTookLong) {
  Wait(2, kA);
  Asks();
  Refuse(2, std::nullopt);
  Wait(1, kA);
  queue_.OnReleased(kA);
  EXPECT_EQ(Asks(), Ids{1});
}

}  // namespace
}  // namespace weir
