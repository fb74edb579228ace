#include "weir/reservation/reservation_limiter.h"

#include <gmock/gmock.h>

#include <set>

#include "weir/reservation/reserve_queue.h"
#include "weir/reservation/testing/reservation_fixture.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class ReservationLimiterTest : public ReservationFixture {
 protected:
  /// Reserves all slots of the account.
  std::vector<Reservation> Fill(std::string_view account, std::int64_t limit) {
    std::vector<Reservation> all;
    for (std::int64_t i = 0; i < limit; ++i) all.push_back(Ask(account, limit).reservation());
    return all;
  }
  std::size_t claims() const { return store_.claims.size(); }
};

TEST_F(ReservationLimiterTest, AsManyAsTheLimitAndNotOneMore) {
  const auto all = Fill("acme", 3);
  const SlotRefusal refusal = Ask("acme", 3).refusal();
  EXPECT_EQ(refusal.limit, 3);
  EXPECT_EQ(refusal.in_use, 3);
  EXPECT_EQ(refusal.retry_after, milliseconds(5'000));
  EXPECT_FALSE(refusal.blocked);
  EXPECT_TRUE(Ask("umbrella", 3).reserved()) << "another account";
  EXPECT_TRUE(Ask({.resource = "glue", .account = "acme", .default_limit = 3}).reserved());
  std::set<std::string> ids;
  for (const Reservation& one : all) ids.insert(one.id());
  EXPECT_EQ(ids.size(), 3U);
}

TEST_F(ReservationLimiterTest, TheTableDecidesAndTheDefaultWhereItHasNoRow) {
  SetLimit("acme", 1);
  const Reservation only = Ask("acme", 5).reservation();
  EXPECT_EQ(Ask("acme", 5).refusal().limit, 1);
  EXPECT_EQ(store_.claims.back().claim.limit, 1);
}

TEST_F(ReservationLimiterTest, ALimitThatIsGivenGoesBeforeBoth) {
  SetLimit("acme", 1);
  const Reservation one = Ask("acme", 5).reservation();
  EXPECT_TRUE(
      Ask({.resource = "emr", .account = "acme", .default_limit = 5, .limit = 2}).reserved());
  EXPECT_EQ(store_.claims.back().claim.limit, 2);
  EXPECT_EQ(store_.limit_reads.size(), 1U) << "it is not looked up";
}

TEST_F(ReservationLimiterTest, TheStoreIsGivenTheTimesThatAreSet) {
  Restart({.reservation_ttl = milliseconds(9'000), .seed = 1});
  Ask("acme", 1);
  EXPECT_EQ(store_.claims.back().claim.ttl, milliseconds(9'000));
  EXPECT_EQ(store_.claims.back().now, clock().WallNow());
  EXPECT_EQ(store_.claims.back().deadline, Within(milliseconds(100)));
}

TEST_F(ReservationLimiterTest, ABlockedAccountIsRefusedWithoutAskingForASlot) {
  for (const std::int64_t limit : {0, -1}) {
    SetLimit("acme", limit);
    Restart({.seed = 1});
    const SlotRefusal refusal = Ask("acme", 5).refusal();
    EXPECT_TRUE(refusal.blocked);
    EXPECT_EQ(refusal.limit, limit);
    EXPECT_EQ(refusal.retry_after, std::nullopt);
  }
  EXPECT_TRUE(Ask("umbrella", 0).refusal().blocked) << "by the default";
  EXPECT_TRUE(Wait("umbrella", 0).refusal().blocked) << "waiting is in vain";
  EXPECT_EQ(claims(), 0U);
}

TEST_F(ReservationLimiterTest, ARefusalIsRepeatedWithoutAnyRequest) {
  const auto all = Fill("acme", 2);
  Ask("acme", 2);
  const std::size_t calls = store_.calls;
  scheduler_.Advance(milliseconds(4'000));
  const SlotRefusal again = Ask("acme", 2).refusal();
  EXPECT_EQ(again, (SlotRefusal{.limit = 2, .in_use = 2, .retry_after = milliseconds(1'000)}));
  EXPECT_EQ(store_.calls, calls);
  EXPECT_EQ(limiter_->stats().remembered, 1U);
  scheduler_.Advance(milliseconds(1'000));
  EXPECT_TRUE(Ask("acme", 2).refused());
  EXPECT_EQ(store_.calls, calls + 1);
}

TEST_F(ReservationLimiterTest, WhatAnotherProcessGivesBackIsSeenAfterFullFor) {
  const auto all = Fill("acme", 2);
  EXPECT_TRUE(Ask("acme", 2).refused());
  ReleaseElsewhere(all[0]);
  scheduler_.Advance(milliseconds(4'999));
  EXPECT_TRUE(Ask("acme", 2).refused());
  scheduler_.Advance(milliseconds(1));
  EXPECT_TRUE(Ask("acme", 2).reserved());
}

TEST_F(ReservationLimiterTest, BelievedForEverARefusalEndsWithTheFirstExpiry) {
  Restart({.full_for = milliseconds::max(), .seed = 1});
  const auto all = Fill("acme", 2);
  EXPECT_EQ(Ask("acme", 2).refusal().retry_after, milliseconds(300'000));
  const std::size_t calls = store_.calls;
  ReleaseElsewhere(all[0]);
  scheduler_.Advance(milliseconds(59'999));
  EXPECT_TRUE(Ask("acme", 2).refused());
  EXPECT_EQ(store_.calls, calls);
  scheduler_.Advance(milliseconds(240'001));
  EXPECT_TRUE(Ask("acme", 2).reserved());
}

TEST_F(ReservationLimiterTest, WithoutFullForEveryRequestAsks) {
  Restart({.full_for = milliseconds(0), .seed = 1});
  const auto all = Fill("acme", 1);
  EXPECT_EQ(Ask("acme", 1).refusal().retry_after, ReserveQueue::kShortestWait);
  Ask("acme", 1);
  EXPECT_EQ(claims(), 3U);
}

TEST_F(ReservationLimiterTest, ASlotThatIsReleasedHereIsGivenAtOnce) {
  auto all = Fill("acme", 2);
  EXPECT_TRUE(Ask("acme", 2).refused());
  all.pop_back();
  EXPECT_TRUE(Ask("acme", 2).reserved());
}

TEST_F(ReservationLimiterTest, AnotherLimitEndsARefusal) {
  SetLimit("acme", 1);
  const auto all = Fill("acme", 1);
  EXPECT_TRUE(Ask("acme", 9).refused());
  SetLimit("acme", 2);
  scheduler_.Advance(milliseconds(3'000));
  EXPECT_TRUE(Ask("acme", 9).refused()) << "the limits are believed for a minute";
  EXPECT_TRUE(Ask({.resource = "emr", .account = "acme", .limit = 2}).reserved());
}

TEST_F(ReservationLimiterTest, LimitsAreLookedUpAnewAfterTheirTime) {
  Restart({.limits_ttl = milliseconds(2'000), .seed = 1});
  SetLimit("acme", 1);
  const auto all = Fill("acme", 1);
  EXPECT_TRUE(Ask("acme", 9).refused());
  SetLimit("acme", 2);
  scheduler_.Advance(milliseconds(2'000));
  EXPECT_TRUE(Ask("acme", 9).reserved()) << "well before full_for is over";
}

TEST_F(ReservationLimiterTest, NoMoreIsRememberedThanThereIsRoom) {
  Restart({.cache_capacity = 1, .seed = 1});
  const auto acme = Fill("acme", 1);
  const auto umbrella = Fill("umbrella", 1);
  Ask("acme", 1);
  Ask("umbrella", 1);
  const std::size_t before = claims();
  Ask("umbrella", 1);
  EXPECT_EQ(claims(), before);
  Ask("acme", 1);
  EXPECT_EQ(claims(), before + 1);
}

TEST_F(ReservationLimiterTest, BadRequestsAreRefusedBeforeAnythingIsAsked) {
  EXPECT_EQ(Ask({.resource = "", .account = "acme", .default_limit = 1}).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Ask({.resource = "emr", .account = "", .default_limit = 1}).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Ask("acme", kMaxAccountTokens + 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(Ask({.resource = "emr", .account = "acme", .limit = kMaxAccountTokens + 1}).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(store_.calls, 0U);
}

TEST_F(ReservationLimiterTest, AnErrorOfTheStoreIsAnsweredAndNothingIsBelieved) {
  store_.fail = Error{Code::kUnavailable, "away"};
  EXPECT_EQ(Ask("acme", 1).code(), Code::kUnavailable) << "the limits";
  store_.fail.reset();
  EXPECT_TRUE(Ask("umbrella", 2).reserved());
  store_.fail = Error{Code::kPermissionDenied, "not you"};
  EXPECT_EQ(Ask("umbrella", 2).code(), Code::kPermissionDenied) << "the slots";
  store_.fail.reset();
  EXPECT_TRUE(Ask("umbrella", 2).reserved());
  EXPECT_EQ(limiter_->stats().errors, 2U);
}

TEST_F(ReservationLimiterTest, AClaimWhoseAnswerIsLostIsReleased) {
  for (const Code lost : {Code::kDeadlineExceeded, Code::kUnavailable}) {
    Ask("acme", 1).DestroyReservation();
    store_.releases.clear();
    store_.lose = Error{lost, "lost"};
    store_.only = store_.calls;
    EXPECT_EQ(Ask("acme", 1).code(), lost);
    ASSERT_EQ(store_.releases.size(), 1U);
    EXPECT_EQ(store_.releases[0].id, store_.claims.back().claim.slot.id);
    EXPECT_TRUE(Held("acme").empty());
  }
}

TEST_F(ReservationLimiterTest, TheErrorDoesNotWaitForThatRelease) {
  Ask("acme", 1).DestroyReservation();
  store_.hold = true;
  store_.lose = Error{Code::kDeadlineExceeded, "lost"};
  const SlotOutcomeRecorder& told = Ask("acme", 1);
  store_.ReleaseHeldResults();
  EXPECT_EQ(told.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(store_.held(), 1U) << "the release is under way";
}

TEST_F(ReservationLimiterTest, AClaimThatSurelyFailedIsNotReleased) {
  Ask("acme", 1).DestroyReservation();
  store_.releases.clear();
  store_.fail = Error{Code::kInvalidArgument, "no"};
  EXPECT_EQ(Ask("acme", 1).code(), Code::kInvalidArgument);
  EXPECT_TRUE(store_.releases.empty());
}

TEST_F(ReservationLimiterTest, StatsAddUp) {
  const auto all = Fill("acme", 2);
  Ask("acme", 2);
  Ask("acme", 2);
  Ask("umbrella", 0);
  const ReservationStats stats = limiter_->stats();
  EXPECT_EQ(stats.reserved, 2U);
  EXPECT_EQ(stats.refused, 3U);
  EXPECT_EQ(stats.remembered, 2U);
  EXPECT_EQ(stats.errors, 0U);
  EXPECT_EQ(stats.claims, 3U);
  EXPECT_EQ(stats.limit_reads, 2U);
  EXPECT_EQ(stats.waiting, 0U);
}

TEST_F(ReservationLimiterTest, TheBlockingFormAnswersTheSame) {
  const ReserveRequest request{.resource = "emr", .account = "acme", .default_limit = 1};
  auto first = limiter_->Reserve(request, Deadline::Never());
  ASSERT_TRUE(first && first->reserved());
  const auto second = limiter_->Reserve(request, Deadline::Never());
  ASSERT_TRUE(second && !second->reserved());
  const auto bad = limiter_->Reserve({.resource = "emr", .account = ""}, Deadline::Never());
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("account"));
}

}  // namespace
}  // namespace weir
