// When the store is asked, and what is told of it.
#include "weir/reservation/event_release_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    return testing::FieldsAre(id, UnixMillis{at}, UnixMillis{at + 9});
  }
  /// The only request of the step.
  static Plan::Ticket Asked(const Plan::Step& step) {
    EXPECT_THAT(step.asks, SizeIs(1));
    return step.asks.empty() ? 0 : step.asks[0].ticket;
  }
  /// Taken, and asked for the first time.
  Plan::Ticket Begun(const std::string& id, std::int64_t at = 5) {
    const auto ticket = plan_.Take(Ended(id, at), now_);
    EXPECT_TRUE(ticket.has_value());
    EXPECT_EQ(Asked(plan_.OnWake(now_)), ticket.value_or(0));
    return ticket.value_or(0);
  }
  Plan::Step Nothing(Plan::Ticket ticket) { return plan_.OnAnswer(ticket, std::size_t{0}, now_); }
  Plan::Step Failed(Plan::Ticket ticket) {
    return plan_.OnAnswer(ticket, Fail(Unavailable()), now_);
  }

  Instant now_ = kStart;
  ReleaseOptions options_;
  Plan plan_{options_, 1};
};

TEST_F(EventReleasePlanTest, WhatIsReleasedIsSettledAtOnce) {
  const auto ticket = Begun("j");
  const auto step = plan_.OnAnswer(ticket, std::size_t{2}, now_);
  ASSERT_THAT(step.settled, SizeIs(1));
  EXPECT_EQ(step.settled[0].ticket, ticket);
  EXPECT_TRUE(step.settled[0].status);
  const ReleaseStats stats = plan_.stats();
  EXPECT_EQ(stats.released, 1U);
  EXPECT_EQ(stats.slots, 2U);
  EXPECT_EQ(stats.pending, 0U);
}

// R7. Fails if: a second slot that is bound a moment after the first was released stays.
TEST_F(EventReleasePlanTest, R7AfterAReleaseItIsAskedForOnceMore) {
  const auto ticket = Begun("j");
  auto step = plan_.OnAnswer(ticket, std::size_t{1}, now_);
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

// R7. Fails if: a store that always finds a slot more is asked without end.
TEST_F(EventReleasePlanTest, R7RequestsAfterReleasesAreBounded) {
  const auto ticket = Begun("j");
  auto step = plan_.OnAnswer(ticket, std::size_t{1}, now_);
  std::size_t asked = 0;
  for (; step.wake; ++asked) {
    ASSERT_LT(asked, options_.ask_again.size());
    now_ = *step.wake;
    EXPECT_EQ(Asked(plan_.OnWake(now_)), ticket);
    step = plan_.OnAnswer(ticket, std::size_t{1}, now_);
  }
  EXPECT_EQ(asked, options_.ask_again.size());
  EXPECT_EQ(plan_.stats().released, 1U);
  EXPECT_EQ(plan_.stats().slots, 1 + options_.ask_again.size());
  EXPECT_EQ(plan_.stats().pending, 0U);
}

// R7. Fails if: a resource of which slots were released is reported as unreleased.
TEST_F(EventReleasePlanTest, R7WhatWasReleasedIsNotReportedForALaterFailure) {
  options_.most_tries = 1;
  plan_ = Plan(options_, 1);
  const auto ticket = Begun("j");
  now_ = *plan_.OnAnswer(ticket, std::size_t{1}, now_).wake;
  EXPECT_EQ(Asked(plan_.OnWake(now_)), ticket);
  EXPECT_THAT(Failed(ticket).unreleased, IsEmpty());
  EXPECT_EQ(plan_.stats().failed, 0U);
  EXPECT_EQ(plan_.stats().pending, 0U);
}

// R7. Fails if: the same event once more is pending beside the one that is to be asked for again.
TEST_F(EventReleasePlanTest, R7TheSameEventAgainJoinsTheOneThatReleased) {
  const auto first = Begun("j", 5);
  (void)plan_.OnAnswer(first, std::size_t{1}, now_);
  const auto step = Nothing(Begun("j", 7));
  EXPECT_THAT(step.settled, SizeIs(1));
  EXPECT_EQ(plan_.stats().repeated, 1U);
  now_ = *step.wake;
  const auto later = plan_.OnWake(now_);
  EXPECT_EQ(Asked(later), first);
  EXPECT_THAT(later.asks[0].ended, IsEnded("j", 7));
  EXPECT_FALSE(Nothing(first).wake);
  EXPECT_EQ(plan_.stats().taken, plan_.stats().released + plan_.stats().repeated);
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
  EXPECT_THAT(plan_.OnAnswer(ticket, std::size_t{1}, now_).unreleased, IsEmpty());
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
  EXPECT_THAT(plan_.OnAnswer(ticket, std::size_t{1}, now_).settled, SizeIs(1));
}

TEST_F(EventReleasePlanTest, AWaitThatTheStoreAsksForIsKept) {
  const auto ticket = Begun("j");
  Error busy = Unavailable();
  busy.retry_after = milliseconds(7'000);
  EXPECT_GE(*plan_.OnAnswer(ticket, Fail(busy), now_).wake, now_ + seconds(7));
}

TEST_F(EventReleasePlanTest, AfterTheMostTriesItHasFailed) {
  const auto ticket = Begun("j");
  Plan::Step step;
  for (std::uint32_t tries = 1; tries < options_.most_tries; ++tries) {
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
  const auto step = plan_.OnAnswer(ticket, Fail(Code::kPermissionDenied, "no"), now_);
  EXPECT_EQ(step.settled[0].status.error().code, Code::kPermissionDenied);
}

TEST_F(EventReleasePlanTest, AGoodAnswerForgivesTheFailuresBefore) {
  options_.most_tries = 2;
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
  EXPECT_THAT(Nothing(Begun("j")).settled, SizeIs(1));
  EXPECT_EQ(Nothing(first).wake, now_ + seconds(1));
  EXPECT_EQ(plan_.stats().pending, 1U);
}

TEST_F(EventReleasePlanTest, RequestsInFlightAreBounded) {
  options_.most_in_flight = 2;
  plan_ = Plan(options_, 1);
  for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(plan_.Take(Ended(id), now_));
  const auto step = plan_.OnWake(now_);
  ASSERT_THAT(step.asks, SizeIs(2));
  EXPECT_FALSE(step.wake) << "an answer goes on";
  const auto next = plan_.OnAnswer(step.asks[0].ticket, std::size_t{1}, now_);
  ASSERT_THAT(next.asks, SizeIs(1));
  EXPECT_EQ(next.asks[0].ended.resource_id, "c");
}

TEST_F(EventReleasePlanTest, WhereThereIsNoRoomTheOldestIsGivenUp) {
  options_.most_pending = 2;
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
  options_.most_pending = 1;
  plan_ = Plan(options_, 1);
  const auto first = Begun("a");
  const auto refused = plan_.Take(Ended("b"), now_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_EQ(plan_.stats().refused, 1U);
  EXPECT_THAT(plan_.OnAnswer(first, std::size_t{1}, now_).settled, SizeIs(1));
}

TEST_F(EventReleasePlanTest, WithoutWaitsItIsAskedForOnce) {
  options_.ask_again.clear();
  plan_ = Plan(options_, 1);
  EXPECT_EQ(Nothing(Begun("j")).unreleased[0].why, Why::kUnknown);
  EXPECT_EQ(plan_.stats().pending, 0U);
}

// 100,000 resources that nobody knows: what is kept stays within its bound, and each is told.
TEST_F(EventReleasePlanTest, MemoryIsBoundedWhateverArrives) {
  constexpr std::uint64_t kMany = 100'000;
  std::uint64_t told = 0;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(plan_.Take(Ended(std::to_string(i)), now_));
    const auto step = plan_.OnWake(now_);
    told += step.unreleased.size();
    told += Nothing(Asked(step)).unreleased.size();
    ASSERT_LE(plan_.stats().pending, options_.most_pending);
  }
  EXPECT_EQ(told, kMany - options_.most_pending);
  EXPECT_EQ(plan_.stats().given_up, told);
}

}  // namespace
}  // namespace weir
