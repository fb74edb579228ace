// R17: requests that wait while the store's answers are lost.
#include "weir/reservation/reservation_fixture.h"

namespace weir {
namespace {

class ReserveDoubtTest : public ReservationFixture {
 protected:
  /// From now on claims take effect, their answers are lost, and no release arrives.
  void LoseAnswers() {
    store_.lose = Error{Code::kUnavailable, "away"};
    store_.fail_releases = Error{Code::kUnavailable, "away"};
  }
  void Recover() {
    store_.lose.reset();
    store_.fail.reset();
    store_.fail_releases.reset();
  }
  /// A request that waits for one of three slots, and whose first answers are lost.
  ToldSlot& WaitInDoubt() {
    limiter_->Reserve({.resource = "emr", .account = "acme", .default_limit = 0}, Deadline::Never(),
                      [](const auto&) {});  // the limit is cached from now on
    LoseAnswers();
    return Wait("acme", 3, Within(std::chrono::minutes(10)));
  }
};

// Fails if: each try of one request claims another slot.
TEST_F(ReserveDoubtTest, R17ARequestInDoubtHoldsOneSlotHoweverOftenItAsks) {
  ToldSlot& told = WaitInDoubt();
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
  ToldSlot& second = Ask("acme", 3);
  ToldSlot& third = Ask("acme", 3);
  EXPECT_TRUE(second.reserved());
  EXPECT_TRUE(third.reserved());
}

// Fails if: what an earlier try claimed is granted with what the outage left of its life.
TEST_F(ReserveDoubtTest, R17ASlotOfAnEarlierTryIsGrantedForAWholeLife) {
  ToldSlot& told = WaitInDoubt();
  scheduler_.Advance(240 * kSecond);
  Recover();
  scheduler_.Advance(3 * kSecond);
  ASSERT_TRUE(told.reserved());
  Reservation reservation = told.reservation();
  EXPECT_GE(reservation.expires() - clock().WallNow(), milliseconds(297'000));
  EXPECT_EQ(Held("acme")[0].expires, reservation.expires());
}

// Fails if: a release is sent while the request still asks, since it may free what a try gets.
TEST_F(ReserveDoubtTest, R17NothingIsReleasedBeforeTheRequestEnds) {
  ToldSlot& told = WaitInDoubt();
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
  ToldSlot& told = WaitInDoubt();
  scheduler_.Advance(10 * kSecond);
  Recover();
  limiter_.reset();
  EXPECT_EQ(told.code(), Code::kCancelled);
  EXPECT_TRUE(Held("acme").empty());
}

// Fails if: a request that waits ends with the error of a store that knows its id from before.
TEST_F(ReserveDoubtTest, R17AnIdWhoseSlotHasExpiredIsReplaced) {
  ToldSlot& told = WaitInDoubt();
  const std::string first = store_.claims.back().claim.slot.id;
  Recover();
  store_.fail = Error{Code::kAlreadyExists, "the id was used before"};
  store_.only = store_.calls;
  scheduler_.Advance(3 * kSecond);
  ASSERT_TRUE(told.reserved());
  EXPECT_NE(told.reservation().id(), first);
}

// Fails if: a slot that has just been claimed is renewed as well.
TEST_F(ReserveDoubtTest, R17ASlotOfAMomentAgoIsGrantedWithoutARenewal) {
  ToldSlot& told = WaitInDoubt();
  std::size_t renewals = 0;
  store_.before_renewal = [&] { ++renewals; };
  Recover();
  scheduler_.Advance(3 * kSecond);
  ASSERT_TRUE(told.reserved());
  EXPECT_EQ(renewals, 0U);
  EXPECT_GE(told.reservation().expires() - clock().WallNow(), milliseconds(270'000));
}

// Fails if: a store that answers claims and is too slow to renew never gives the request its slot.
TEST_F(ReserveDoubtTest, R17ASlotWhoseRenewalIsInDoubtIsGrantedForWhatIsLeftOfIt) {
  ToldSlot& told = WaitInDoubt();
  scheduler_.Advance(100 * kSecond);
  Recover();
  store_.lose_renewals = Error{Code::kDeadlineExceeded, "slow"};
  scheduler_.Advance(3 * kSecond);
  ASSERT_TRUE(told.reserved());
  Reservation reservation = told.reservation();
  EXPECT_GE(reservation.expires() - clock().WallNow(), milliseconds(150'000));
  EXPECT_LE(reservation.expires(), Held("acme")[0].expires);
}

// Fails if: a slot is granted that has little left of its life, or may have expired.
TEST_F(ReserveDoubtTest, R17ASlotThatSoonExpiresIsNotGrantedUnlessItIsRenewed) {
  ToldSlot& told = WaitInDoubt();
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
  ToldSlot& told = WaitInDoubt();
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

// Whichever call is lost from then on, the request ends once and holds one slot at most.
TEST_F(ReserveDoubtTest, R17WhicheverLaterCallIsLostOneSlotIsHeld) {
  for (std::size_t nth = 0; nth < 4; ++nth) {
    ToldSlot& told = WaitInDoubt();
    scheduler_.Advance(60 * kSecond);  // so that the slot is renewed
    Recover();
    store_.lose = Error{Code::kDeadlineExceeded, "lost"};
    store_.only = store_.calls + nth;
    scheduler_.Advance(10 * kSecond);
    ASSERT_TRUE(told.reserved()) << nth;
    EXPECT_EQ(Held("acme").size(), 1U) << nth;
    store_.only.reset();
    Recover();
    told.Drop();
    scheduler_.RunReady();
    EXPECT_TRUE(Held("acme").empty()) << nth;
  }
}

}  // namespace
}  // namespace weir
