// R17: requests that wait while results of the store are lost.
#include "weir/reservation/testing/reservation_fixture.h"

namespace weir {
namespace {

class ReserveDoubtTest : public ReservationFixture {
 protected:
  /// From now on claims take effect and their results are lost; releases do not reach the store.
  void LoseResponses() {
    store_.lose = Error{Code::kUnavailable, "away"};
    store_.fail_releases = Error{Code::kUnavailable, "away"};
  }
  void Recover() {
    store_.lose.reset();
    store_.fail.reset();
    store_.fail_releases.reset();
  }
  /// Starts a request that waits for one of three slots, and whose first results are lost.
  SlotOutcomeRecorder& WaitInDoubt() {
    limiter_->Reserve({.resource = "emr", .account = "acme", .default_limit = 0}, Deadline::Never(),
                      [](const auto&) {});  // caches that the account has no row
    LoseResponses();
    return Wait("acme", 3, Within(std::chrono::minutes(10)));
  }
};

// Fails if: each try of one request claims another slot.
TEST_F(ReserveDoubtTest, R17ARequestInDoubtHoldsOneSlotHoweverOftenItAsks) {
  SlotOutcomeRecorder& told = WaitInDoubt();
  for (int i = 0; i < 60; ++i) {
    scheduler_.Advance(kSecond);
    ASSERT_EQ(Held("acme").size(), 1U);
  }
  EXPECT_EQ(told.times, 0);
  EXPECT_GE(store_.claims.size(), 20U);
  Recover();
  scheduler_.Advance(3 * kSecond);
  ASSERT_TRUE(told.reserved());
  EXPECT_EQ(Held("acme").size(), 1U);
  SlotOutcomeRecorder& second = Ask("acme", 3);
  SlotOutcomeRecorder& third = Ask("acme", 3);
  EXPECT_TRUE(second.reserved());
  EXPECT_TRUE(third.reserved());
}

// Fails if: a slot of an earlier try is granted with the rest of its life, without a renewal.
TEST_F(ReserveDoubtTest, R17ASlotOfAnEarlierTryIsGrantedForAWholeLife) {
  SlotOutcomeRecorder& told = WaitInDoubt();
  scheduler_.Advance(240 * kSecond);
  Recover();
  scheduler_.Advance(3 * kSecond);
  ASSERT_TRUE(told.reserved());
  Reservation reservation = told.reservation();
  EXPECT_GE(reservation.expires() - clock().WallNow(), milliseconds(297'000));
  EXPECT_EQ(Held("acme")[0].expires, reservation.expires());
}

// Fails if: a release is sent while the request still tries: it may free the slot that a try gets.
TEST_F(ReserveDoubtTest, R17NothingIsReleasedBeforeTheRequestEnds) {
  SlotOutcomeRecorder& told = WaitInDoubt();
  scheduler_.Advance(60 * kSecond);
  EXPECT_TRUE(store_.releases.empty());
  Recover();
  store_.lose = Error{Code::kUnavailable, "away"};
  scheduler_.Advance(std::chrono::minutes(10));
  EXPECT_EQ(told.code(), Code::kUnavailable);
  EXPECT_EQ(store_.releases.size(), 1U);
  EXPECT_TRUE(Held("acme").empty());
}

TEST_F(ReserveDoubtTest, R17ClosingReleasesWhatIsInDoubt) {
  SlotOutcomeRecorder& told = WaitInDoubt();
  scheduler_.Advance(10 * kSecond);
  Recover();
  limiter_.reset();
  EXPECT_EQ(told.code(), Code::kCancelled);
  EXPECT_TRUE(Held("acme").empty());
}

// Fails if: a waiting request fails because the store has seen its id before.
TEST_F(ReserveDoubtTest, R17AnIdWhoseSlotHasExpiredIsReplaced) {
  SlotOutcomeRecorder& told = WaitInDoubt();
  const std::string first = store_.claims.back().claim.slot.id;
  Recover();
  store_.fail = Error{Code::kAlreadyExists, "the id was used before"};
  store_.only = store_.calls;
  scheduler_.Advance(3 * kSecond);
  ASSERT_TRUE(told.reserved());
  EXPECT_NE(told.reservation().id(), first);
}

// Fails if: a slot that was claimed just before is renewed.
TEST_F(ReserveDoubtTest, R17ASlotOfAMomentAgoIsGrantedWithoutARenewal) {
  SlotOutcomeRecorder& told = WaitInDoubt();
  std::size_t renewals = 0;
  store_.before_renewal = [&] { ++renewals; };
  Recover();
  scheduler_.Advance(3 * kSecond);
  ASSERT_TRUE(told.reserved());
  EXPECT_EQ(renewals, 0U);
  EXPECT_GE(told.reservation().expires() - clock().WallNow(), milliseconds(270'000));
}

// Fails if: the request never gets its slot from a store that accepts claims but is too slow to
// renew.
TEST_F(ReserveDoubtTest, R17ASlotWhoseRenewalIsInDoubtIsGrantedForWhatIsLeftOfIt) {
  SlotOutcomeRecorder& told = WaitInDoubt();
  scheduler_.Advance(100 * kSecond);
  Recover();
  store_.lose_renewals = Error{Code::kDeadlineExceeded, "slow"};
  scheduler_.Advance(3 * kSecond);
  ASSERT_TRUE(told.reserved());
  Reservation reservation = told.reservation();
  EXPECT_GE(reservation.expires() - clock().WallNow(), milliseconds(150'000));
  EXPECT_LE(reservation.expires(), Held("acme")[0].expires);
}

// Fails if: a slot that expires soon, or may have expired, is granted.
TEST_F(ReserveDoubtTest, R17ASlotThatSoonExpiresIsNotGrantedUnlessItIsRenewed) {
  SlotOutcomeRecorder& told = WaitInDoubt();
  scheduler_.Advance(200 * kSecond);
  Recover();
  store_.fail_renewals = Error{Code::kUnavailable, "away"};
  scheduler_.Advance(90 * kSecond);
  EXPECT_EQ(told.times, 0);
  scheduler_.Advance(20 * kSecond);
  ASSERT_TRUE(told.reserved()) << "the slot of the first try has expired";
  Reservation reservation = told.reservation();
  EXPECT_GE(reservation.expires() - clock().WallNow(), milliseconds(270'000));
  EXPECT_EQ(Held("acme").size(), 1U);
}

TEST_F(ReserveDoubtTest, R17ASlotThatExpiresBeforeItsRenewalIsReplaced) {
  SlotOutcomeRecorder& told = WaitInDoubt();
  scheduler_.Advance(60 * kSecond);
  const SlotRef first = store_.claims.back().claim.slot;
  Recover();
  store_.before_renewal = [&] {
    store_.inner().slots().Release(first, clock().WallNow(), Deadline::Never(),
                                   [](const Result<bool>&) {});
  };
  scheduler_.Advance(3 * kSecond);
  ASSERT_TRUE(told.reserved());
  EXPECT_NE(told.reservation().id(), first.id);
}

// Regardless of which later call is lost, the request ends once and holds at most one slot.
TEST_F(ReserveDoubtTest, R17WhicheverLaterCallIsLostOneSlotIsHeld) {
  for (std::size_t nth = 0; nth < 4; ++nth) {
    SlotOutcomeRecorder& told = WaitInDoubt();
    scheduler_.Advance(60 * kSecond);  // long enough for the slot to need a renewal
    Recover();
    store_.lose = Error{Code::kDeadlineExceeded, "lost"};
    store_.only = store_.calls + nth;
    scheduler_.Advance(10 * kSecond);
    ASSERT_TRUE(told.reserved()) << nth;
    EXPECT_EQ(Held("acme").size(), 1U) << nth;
    store_.only.reset();
    Recover();
    told.DestroyReservation();
    scheduler_.RunReady();
    EXPECT_TRUE(Held("acme").empty()) << nth;
  }
}

}  // namespace
}  // namespace weir
