// The requests of an EventReleasePlan and its reports.
#include "weir/events/event_release_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace weir {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;
using Plan = EventReleasePlan;
using Why = UnreleasedResource::Why;

constexpr Instant kStart{86'400'000'000'007};

Error Unavailable() { return {Code::kUnavailable, "away"}; }

class EventReleasePlanTest : public testing::Test {
 protected:
  static EndedResource Ended(const std::string& id, std::int64_t at = 5) {
    return {.resource_id = id, .ended_at = UnixMillis{at}, .remember_until = UnixMillis{at + 9}};
  }
  static auto IsEnded(const char* id, std::int64_t at) {
    return testing::FieldsAre(id, UnixMillis{at}, UnixMillis{at + 9}, testing::_);
  }
  /// Returns the ticket of the only request of the step.
  static Plan::Ticket Asked(const Plan::Step& step) {
    EXPECT_THAT(step.asks, SizeIs(1));
    return step.asks.empty() ? 0 : step.asks[0].ticket;
  }
  /// Takes an end and makes its first request.
  Plan::Ticket Begun(const std::string& id, std::int64_t at = 5) {
    const auto ticket = plan_.Take(Ended(id, at), now_);
    EXPECT_TRUE(ticket.has_value());
    EXPECT_EQ(Asked(plan_.OnWake(now_)), ticket.value_or(0));
    return ticket.value_or(0);
  }
  Plan::Step Nothing(Plan::Ticket ticket) { return plan_.OnResult(ticket, std::size_t{0}, now_); }
  Plan::Step Failed(Plan::Ticket ticket) {
    return plan_.OnResult(ticket, Fail(Unavailable()), now_);
  }

  Instant now_ = kStart;
  ReleaseOptions options_;
  Plan plan_{options_, 1};
};

TEST_F(EventReleasePlanTest, WhatIsReleasedIsSettledAtOnce) {
  const auto ticket = Begun("j");
  const auto step = plan_.OnResult(ticket, std::size_t{2}, now_);
  ASSERT_THAT(step.settled, SizeIs(1));
  EXPECT_EQ(step.settled[0].ticket, ticket);
  EXPECT_TRUE(step.settled[0].status);
  const ReleaseStats stats = plan_.stats();
  EXPECT_EQ(stats.released, 1U);
  EXPECT_EQ(stats.slots, 2U);
  EXPECT_EQ(stats.pending, 0U);
}

// Two copies of one event are in flight. The first releases; the other fails and is tried again.
// Fails if: the copy may then release an undated slot of a later resource.
TEST_F(EventReleasePlanTest, I14ACopyInFlightSparesUndatedSlotsAfterARelease) {
  const auto first = Begun("j");
  const auto copy = Begun("j");
  plan_.OnResult(first, std::size_t{1}, now_);
  auto step = Failed(copy);
  ASSERT_TRUE(step.wake);
  now_ = *step.wake;
  step = plan_.OnWake(now_);
  ASSERT_EQ(Asked(step), copy);
  EXPECT_TRUE(step.asks[0].ended.spares_undated);
}

TEST_F(EventReleasePlanTest, I14ACopyThatWaitedSparesUndatedSlotsAfterARelease) {
  options_.max_in_flight = 1;
  plan_ = Plan(options_, 1);
  const auto first = Begun("j");
  const auto copy = plan_.Take(Ended("j"), now_);
  EXPECT_THAT(plan_.OnWake(now_).asks, IsEmpty());
  const auto step = plan_.OnResult(first, std::size_t{1}, now_);
  ASSERT_EQ(Asked(step), *copy);
  EXPECT_TRUE(step.asks[0].ended.spares_undated);
}

// A resource name ends every minute, and no slot is bound to it.
// Fails if: none of these ends is ever over, and their source keeps all of them.
TEST_F(EventReleasePlanTest, I14ALaterEndOfANameEndsTheWaitForTheEarlierOnes) {
  constexpr std::size_t kEnds = 60;
  std::set<Plan::Ticket> over;
  for (std::size_t minute = 0; minute < kEnds; ++minute) {
    const Instant until = kStart + seconds(60 * (minute + 1));
    ASSERT_TRUE(plan_.Take(Ended("j", 5 + static_cast<std::int64_t>(minute) * 60'000), now_));
    for (auto step = plan_.OnWake(now_);;) {
      for (const auto& end : step.over) EXPECT_TRUE(over.insert(end.ticket).second);
      if (!step.asks.empty()) {
        step = Nothing(step.asks[0].ticket);
      } else if (step.wake && *step.wake <= until) {
        now_ = *step.wake;
        step = plan_.OnWake(now_);
      } else {
        break;
      }
    }
    EXPECT_GE(over.size(), minute);
    now_ = until;
  }
}

// R7. Fails if: a second slot that is bound just after the first was released is not released.
TEST_F(EventReleasePlanTest, R7AfterAReleaseItIsAskedForOnceMore) {
  const auto ticket = Begun("j");
  auto step = plan_.OnResult(ticket, std::size_t{1}, now_);
  ASSERT_EQ(step.wake, now_ + seconds(1));
  now_ = *step.wake;
  EXPECT_EQ(Asked(plan_.OnWake(now_)), ticket);
  step = Nothing(ticket);
  EXPECT_THAT(step.settled, IsEmpty()) << "it is settled once";
  EXPECT_THAT(step.unreleased, IsEmpty());
  EXPECT_FALSE(step.wake);
  const ReleaseStats stats = plan_.stats();
  EXPECT_EQ(stats.released, 1U);
  EXPECT_EQ(stats.slots, 1U);
  EXPECT_EQ(stats.pending, 0U);
}

// R7. Fails if: requests to a store that always finds another slot never end.
TEST_F(EventReleasePlanTest, R7RequestsAfterReleasesAreBounded) {
  const auto ticket = Begun("j");
  auto step = plan_.OnResult(ticket, std::size_t{1}, now_);
  std::size_t asked = 0;
  for (; step.wake; ++asked) {
    ASSERT_LT(asked, options_.retry_waits.size());
    now_ = *step.wake;
    EXPECT_EQ(Asked(plan_.OnWake(now_)), ticket);
    step = plan_.OnResult(ticket, std::size_t{1}, now_);
  }
  EXPECT_EQ(asked, options_.retry_waits.size());
  EXPECT_EQ(plan_.stats().released, 1U);
  EXPECT_EQ(plan_.stats().slots, 1 + options_.retry_waits.size());
  EXPECT_EQ(plan_.stats().pending, 0U);
}

// R7. Fails if: a resource is reported as unreleased although slots were released.
TEST_F(EventReleasePlanTest, R7WhatWasReleasedIsNotReportedForALaterFailure) {
  options_.max_tries = 1;
  plan_ = Plan(options_, 1);
  const auto ticket = Begun("j");
  now_ = *plan_.OnResult(ticket, std::size_t{1}, now_).wake;
  EXPECT_EQ(Asked(plan_.OnWake(now_)), ticket);
  EXPECT_THAT(Failed(ticket).unreleased, IsEmpty());
  EXPECT_EQ(plan_.stats().failed, 0U);
  EXPECT_EQ(plan_.stats().pending, 0U);
}

// R7. Fails if: a repeated event is pending separately from the first one.
TEST_F(EventReleasePlanTest, R7TheSameEventAgainJoinsTheOneThatReleased) {
  const auto first = Begun("j", 5);
  (void)plan_.OnResult(first, std::size_t{1}, now_);
  const auto step = Nothing(Begun("j", 7));
  EXPECT_THAT(step.settled, SizeIs(1));
  EXPECT_EQ(plan_.stats().repeated, 1U);
  now_ = *step.wake;
  const auto later = plan_.OnWake(now_);
  EXPECT_EQ(Asked(later), first);
  EXPECT_THAT(later.asks[0].ended, IsEnded("j", 7));
  EXPECT_FALSE(later.asks[0].ended.spares_undated) << "a later end may be of a later resource";
  EXPECT_EQ(plan_.stats().taken, plan_.stats().released + plan_.stats().repeated);
}

// R7. Fails if: a later end has fewer waits because slots were released for an earlier one, or a
// repetition of the same end has more.
TEST_F(EventReleasePlanTest, R7ALaterEndIsAskedForAsOftenAsAnyTheSameOneIsNot) {
  for (const std::size_t later : {0U, 1U}) {
    plan_ = Plan(options_, 1);
    const auto first = Begun("j", 5);
    (void)plan_.OnResult(first, std::size_t{1}, now_);
    auto step = Nothing(Begun("j", 5 + static_cast<std::int64_t>(later)));
    EXPECT_THAT(step.over, SizeIs(later)) << "the requests for a later end cover the first";
    std::size_t asked = 0;
    for (; step.wake; ++asked) {
      now_ = *step.wake;
      EXPECT_EQ(Asked(plan_.OnWake(now_)), first);
      step = Nothing(first);
    }
    EXPECT_EQ(asked, later == 1 ? options_.retry_waits.size() : 1);
    ASSERT_THAT(step.over, SizeIs(2 - later)) << "the others are over together";
    for (const Plan::Settled& end : step.over) EXPECT_TRUE(end.status);
  }
}

// R8. Fails if: first requests wait for all repeated ones.
TEST_F(EventReleasePlanTest, R8FirstRequestsGoFirst) {
  options_.max_in_flight = 1;
  plan_ = Plan(options_, 1);
  for (const char* id : {"a", "b"}) Nothing(Begun(id));
  now_ = now_ + seconds(1);
  const auto again = Asked(plan_.OnWake(now_));
  const auto fresh = plan_.Take(Ended("c"), now_);
  EXPECT_THAT(plan_.OnWake(now_).asks, IsEmpty());
  EXPECT_EQ(Asked(Nothing(again)), fresh.value_or(0));
}

// R8. Fails if: an event whose repeated requests were not all made is over without an error.
TEST_F(EventReleasePlanTest, R8WhatFailsLaterIsLostForItsSourceToGiveAgain) {
  const auto ticket = Begun("j");
  const auto joined = Nothing(ticket).wake ? Begun("j") : 0;
  Nothing(joined);
  now_ = now_ + seconds(2);
  EXPECT_EQ(Asked(plan_.OnWake(now_)), ticket);
  const auto step = plan_.OnResult(ticket, Fail(Code::kPermissionDenied, "no"), now_);
  EXPECT_THAT(step.settled, IsEmpty());
  ASSERT_THAT(step.over, SizeIs(2));
  for (const Plan::Settled& end : step.over) EXPECT_FALSE(end.status);
}

// Fails if: an error of the store is reported as "the text is not an event".
TEST_F(EventReleasePlanTest, R9OnlyAnEventCanBeNone) {
  const auto step = plan_.OnResult(Begun("j"), Fail(Code::kInvalidArgument, "no index"), now_);
  ASSERT_THAT(step.settled, SizeIs(1));
  EXPECT_EQ(step.settled[0].status.error().code, Code::kFailedPrecondition);
}

// Fails if: a request from before a release, or a repeated event, releases a slot of a later
// resource.
TEST_F(EventReleasePlanTest, AfterAReleaseEveryRequestForThatEndSparesWhatHasNoTime) {
  const auto first = Begun("j");
  Nothing(first);
  now_ = now_ + milliseconds(500);
  (void)plan_.OnResult(Begun("j"), std::size_t{1}, now_);
  const auto again = plan_.Take(Ended("j"), now_);
  ASSERT_TRUE(again);
  now_ = now_ + seconds(1);
  const auto asks = plan_.OnWake(now_).asks;
  EXPECT_THAT(asks, SizeIs(testing::Ge(2U)));
  for (const auto& ask : asks) EXPECT_TRUE(ask.ended.spares_undated) << ask.ticket;
}

// Fails if: a release for an earlier end spares the slots of a later end.
TEST_F(EventReleasePlanTest, AReleaseForAnEarlierEndSparesNothingOfALaterOne) {
  const auto first = Begun("j", 5);
  Nothing(first);
  now_ = now_ + seconds(1);
  EXPECT_EQ(Asked(plan_.OnWake(now_)), first);
  Nothing(Begun("j", 50));
  (void)plan_.OnResult(first, std::size_t{1}, now_);
  now_ = now_ + seconds(1);
  const auto step = plan_.OnWake(now_);
  ASSERT_THAT(step.asks, SizeIs(1));
  EXPECT_FALSE(step.asks[0].ended.spares_undated);
}

// Fails if: the request after a release releases a slot that a client of rate-limiter-py has bound
// to a later resource of the same name.
TEST_F(EventReleasePlanTest, AfterAReleaseWhatHasNoTimeIsSpared) {
  const auto ticket = Begun("j");
  now_ = *plan_.OnResult(ticket, std::size_t{1}, now_).wake;
  const auto step = plan_.OnWake(now_);
  ASSERT_THAT(step.asks, SizeIs(1));
  EXPECT_TRUE(step.asks[0].ended.spares_undated);
}

TEST_F(EventReleasePlanTest, WhereNothingIsBoundItIsSettledAndAskedForAgain) {
  auto step = Nothing(Begun("j"));
  EXPECT_THAT(step.settled, SizeIs(1));
  for (const auto wait : {seconds(1), seconds(5), seconds(30), seconds(120)}) {
    ASSERT_EQ(step.wake, now_ + wait);
    EXPECT_THAT(plan_.OnWake(now_ + wait - nanoseconds(1)).asks, IsEmpty());
    now_ = now_ + wait;
    step = plan_.OnWake(now_);
    ASSERT_THAT(step.asks, SizeIs(1));
    EXPECT_THAT(step.asks[0].ended, IsEnded("j", 5));
    step = Nothing(step.asks[0].ticket);
    EXPECT_THAT(step.settled, IsEmpty()) << "it is settled once";
    EXPECT_EQ(step.over.empty(), wait != seconds(120)) << "its source keeps it until the end";
  }
  ASSERT_THAT(step.unreleased, SizeIs(1));
  EXPECT_EQ(step.unreleased[0].why, Why::kUnknown);
  EXPECT_FALSE(step.wake);
  EXPECT_EQ(plan_.stats().unknown, 1U);
}

TEST_F(EventReleasePlanTest, WhatIsFoundLaterIsReleased) {
  Nothing(Begun("j"));
  now_ = now_ + seconds(1);
  const auto ticket = Asked(plan_.OnWake(now_));
  EXPECT_THAT(plan_.OnResult(ticket, std::size_t{1}, now_).unreleased, IsEmpty());
  EXPECT_EQ(plan_.stats().released, 1U);
}

TEST_F(EventReleasePlanTest, AFailedRequestIsTriedAgainAfterAPause) {
  const auto ticket = Begun("j");
  const auto step = Failed(ticket);
  EXPECT_THAT(step.settled, IsEmpty());
  ASSERT_TRUE(step.wake);
  EXPECT_LE(*step.wake - now_, options_.first_backoff);
  now_ = *step.wake;
  EXPECT_EQ(Asked(plan_.OnWake(now_)), ticket);
  EXPECT_THAT(plan_.OnResult(ticket, std::size_t{1}, now_).settled, SizeIs(1));
}

TEST_F(EventReleasePlanTest, AWaitThatTheStoreAsksForIsKept) {
  const auto ticket = Begun("j");
  Error busy = Unavailable();
  busy.retry_after = milliseconds(7'000);
  EXPECT_GE(*plan_.OnResult(ticket, Fail(busy), now_).wake, now_ + seconds(7));
}

TEST_F(EventReleasePlanTest, AfterTheMostTriesItHasFailed) {
  const auto ticket = Begun("j");
  Plan::Step step;
  for (std::uint32_t tries = 1; tries < options_.max_tries; ++tries) {
    step = Failed(ticket);
    EXPECT_THAT(step.settled, IsEmpty());
    now_ = *step.wake;
    EXPECT_EQ(Asked(plan_.OnWake(now_)), ticket);
  }
  step = Failed(ticket);
  ASSERT_THAT(step.settled, SizeIs(1));
  ASSERT_FALSE(step.settled[0].status);
  EXPECT_EQ(step.settled[0].status.error(), Unavailable());
  EXPECT_EQ(step.unreleased[0].why, Why::kFailed);
  EXPECT_EQ(plan_.stats().failed, 1U);
  EXPECT_EQ(plan_.stats().pending, 0U);
}

TEST_F(EventReleasePlanTest, WhatCannotSucceedIsNotTriedAgain) {
  const auto ticket = Begun("j");
  const auto step = plan_.OnResult(ticket, Fail(Code::kPermissionDenied, "no"), now_);
  EXPECT_EQ(step.settled[0].status.error().code, Code::kPermissionDenied);
}

TEST_F(EventReleasePlanTest, AGoodAnswerForgivesTheFailuresBefore) {
  options_.max_tries = 2;
  plan_ = Plan(options_, 1);
  const auto ticket = Begun("j");
  for (int i = 0; i < 2; ++i) {
    now_ = *Failed(ticket).wake;
    EXPECT_EQ(Asked(plan_.OnWake(now_)), ticket);
    now_ = *Nothing(ticket).wake;
    EXPECT_EQ(Asked(plan_.OnWake(now_)), ticket);
  }
  EXPECT_EQ(plan_.stats().failed, 0U);
}

TEST_F(EventReleasePlanTest, ARepeatedOneIsAskedForAtOnceAndThenOnlyOnce) {
  const auto first = Begun("j", 5);
  Nothing(first);
  now_ = now_ + milliseconds(500);
  const auto step = Nothing(Begun("j", 7));
  EXPECT_THAT(step.settled, SizeIs(1));
  EXPECT_EQ(step.wake, now_ + seconds(1)) << "the waits begin anew";
  EXPECT_EQ(plan_.stats().repeated, 1U);
  EXPECT_EQ(plan_.stats().pending, 1U);
  now_ = *step.wake;
  const auto later = plan_.OnWake(now_);
  EXPECT_EQ(Asked(later), first);
  EXPECT_THAT(later.asks[0].ended, IsEnded("j", 7)) << "the later end counts";
}

TEST_F(EventReleasePlanTest, ARepeatedOneMeetsAnEarlierOneThatIsInFlight) {
  const auto first = Begun("j");
  Nothing(first);
  now_ = now_ + seconds(1);
  EXPECT_EQ(Asked(plan_.OnWake(now_)), first);
  EXPECT_THAT(Nothing(Begun("j", 7)).settled, SizeIs(1));
  EXPECT_EQ(Nothing(first).wake, now_ + seconds(1));
  EXPECT_EQ(plan_.stats().pending, 1U);
}

TEST_F(EventReleasePlanTest, RequestsInFlightAreBounded) {
  options_.max_in_flight = 2;
  plan_ = Plan(options_, 1);
  for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(plan_.Take(Ended(id), now_));
  const auto step = plan_.OnWake(now_);
  ASSERT_THAT(step.asks, SizeIs(2));
  EXPECT_FALSE(step.wake) << "an answer goes on";
  const auto next = plan_.OnResult(step.asks[0].ticket, std::size_t{1}, now_);
  ASSERT_THAT(next.asks, SizeIs(1));
  EXPECT_EQ(next.asks[0].ended.resource_id, "c");
}

TEST_F(EventReleasePlanTest, WhereThereIsNoRoomTheOldestIsGivenUp) {
  options_.max_pending = 2;
  plan_ = Plan(options_, 1);
  Nothing(Begun("a"));
  Nothing(Begun("b"));
  ASSERT_TRUE(plan_.Take(Ended("c"), now_));
  const auto step = plan_.OnWake(now_);
  ASSERT_THAT(step.unreleased, SizeIs(1));
  EXPECT_EQ(step.unreleased[0].why, Why::kGivenUp);
  EXPECT_EQ(step.unreleased[0].ended.resource_id, "a");
  EXPECT_EQ(plan_.stats().given_up, 1U);
  EXPECT_EQ(plan_.stats().pending, 2U);
}

TEST_F(EventReleasePlanTest, WhatIsNotSettledIsNotGivenUp) {
  options_.max_pending = 1;
  plan_ = Plan(options_, 1);
  const auto first = Begun("a");
  const auto refused = plan_.Take(Ended("b"), now_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_EQ(plan_.stats().refused, 1U);
  EXPECT_THAT(plan_.OnResult(first, std::size_t{1}, now_).settled, SizeIs(1));
}

TEST_F(EventReleasePlanTest, WithoutWaitsItIsAskedForOnce) {
  options_.retry_waits.clear();
  plan_ = Plan(options_, 1);
  EXPECT_EQ(Nothing(Begun("j")).unreleased[0].why, Why::kUnknown);
  EXPECT_EQ(plan_.stats().pending, 0U);
}

// With 100,000 unknown resources, the number of pending ends stays bounded, and each one beyond it
// is reported.
TEST_F(EventReleasePlanTest, MemoryIsBoundedWhateverArrives) {
  constexpr std::uint64_t kMany = 100'000;
  std::uint64_t told = 0;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(plan_.Take(Ended(std::to_string(i)), now_));
    const auto step = plan_.OnWake(now_);
    told += step.unreleased.size();
    told += Nothing(Asked(step)).unreleased.size();
    ASSERT_LE(plan_.stats().pending, options_.max_pending);
  }
  EXPECT_EQ(told, kMany - options_.max_pending);
  EXPECT_EQ(plan_.stats().given_up, told);
}

}  // namespace
}  // namespace weir
