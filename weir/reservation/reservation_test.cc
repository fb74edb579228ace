#include "weir/reservation/reservation.h"

#include <stdexcept>

#include "weir/reservation/testing/reservation_fixture.h"

namespace weir {
namespace {

class ReservationTest : public ReservationFixture {
 protected:
  Reservation Reserve() {
    SlotOutcomeRecorder& told = Ask("acme", 2);
    EXPECT_TRUE(told.reserved());
    return told.reservation();
  }
  std::vector<HeldSlot> Held() { return ReservationFixture::Held("acme"); }
};

TEST_F(ReservationTest, KnowsItsSlot) {
  const Reservation reservation = Reserve();
  ASSERT_EQ(Held().size(), 1U);
  EXPECT_EQ(reservation.key(), (AccountKey{"emr", "acme"}));
  EXPECT_EQ(reservation.id(), Held()[0].id);
  EXPECT_EQ(reservation.id().substr(0, 2), "w-");
  EXPECT_EQ(reservation.resource_id(), reservation.id());
  EXPECT_EQ(reservation.expires(), clock().WallNow() + milliseconds(300'000));
  EXPECT_TRUE(reservation.active());
  EXPECT_FALSE(reservation.bound());
}

TEST_F(ReservationTest, LeavingTheScopeUnboundReleases) {
  {
    const Reservation reservation = Reserve();
  }
  EXPECT_TRUE(Held().empty());
  EXPECT_EQ(store_.releases.size(), 1U);
}

TEST_F(ReservationTest, LeavingTheScopeDoesNotWaitForTheStore) {
  std::optional<Reservation> reservation = Reserve();
  store_.hold = true;
  reservation.reset();
  EXPECT_EQ(store_.held(), 1U);
}

TEST_F(ReservationTest, AnExceptionThatUnwindsReleases) {
  try {
    const Reservation reservation = Reserve();
    throw std::runtime_error("the cluster did not start");
  } catch (const std::runtime_error&) {
    EXPECT_TRUE(Held().empty());
  }
  EXPECT_EQ(store_.releases.size(), 1U);
}

TEST_F(ReservationTest, BoundItIsKeptForEightHours) {
  {
    Reservation reservation = Reserve();
    ASSERT_TRUE(reservation.Bind("j-1"));
    EXPECT_TRUE(reservation.bound());
    EXPECT_EQ(reservation.resource_id(), "j-1");
    EXPECT_EQ(reservation.expires(), clock().WallNow() + std::chrono::hours(8));
  }
  ASSERT_EQ(Held().size(), 1U);
  EXPECT_EQ(Held()[0].resource_id, "j-1");
  EXPECT_TRUE(store_.releases.empty());
  scheduler_.Advance(std::chrono::hours(8));
  EXPECT_TRUE(Held().empty());
}

TEST_F(ReservationTest, BoundItIsKeptAlsoWhereAnExceptionUnwinds) {
  try {
    Reservation reservation = Reserve();
    ASSERT_TRUE(reservation.Bind("j-1"));
    throw std::runtime_error("later");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(Held().size(), 1U);
  }
}

TEST_F(ReservationTest, TheTimeOfABindingMayBeGiven) {
  Reservation reservation = Reserve();
  ASSERT_TRUE(reservation.Bind("j-1", milliseconds(1'000)));
  EXPECT_EQ(Held()[0].expires, clock().WallNow() + milliseconds(1'000));
  Restart({.token_ttl = milliseconds(7'000), .seed = 2});
  Reservation other = Ask("acme", 2).reservation();
  ASSERT_TRUE(other.Bind("j-2"));
  EXPECT_EQ(other.expires(), clock().WallNow() + milliseconds(7'000));
  EXPECT_EQ(store_.bind_ttls, (std::vector{milliseconds(1'000), milliseconds(7'000)}));
}

// R3. Fails if: the destructor releases a slot that another caller bound by its id.
TEST_F(ReservationTest, R3WhatAnotherBoundIsKeptWhenTheScopeIsLeft) {
  for (const bool by_hand : {false, true}) {
    const std::string thing = by_hand ? "j-1" : "j-2";
    Reservation reservation = Reserve();
    store_.inner().slots().Bind({reservation.key(), reservation.id()}, thing, milliseconds(60'000),
                                clock().WallNow(), Deadline::Never(), [](const auto&) {});
    if (!by_hand) continue;
    EXPECT_TRUE(reservation.ReleaseUnlessBound());
    EXPECT_FALSE(reservation.active());
  }
  EXPECT_EQ(Held().size(), 2U);
}

TEST_F(ReservationTest, AReleaseUnlessBoundThatFailedIsTriedOnceMoreAtTheEndOfTheScope) {
  {
    Reservation reservation = Reserve();
    store_.fail = Error{Code::kUnavailable, "away"};
    EXPECT_EQ(reservation.ReleaseUnlessBound().error().code, Code::kUnavailable);
    EXPECT_TRUE(reservation.active());
    store_.fail.reset();
  }
  EXPECT_TRUE(Held().empty());
}

// R1. Fails if: Drain does not wait for a release that has no waiting caller, or never ends.
TEST_F(ReservationTest, R1DrainWaitsForWhatIsGivenBack) {
  int drained = 0;
  const auto count = [&](const Status& status) { drained += status ? 1 : 100; };
  limiter_->Drain(count);
  EXPECT_EQ(drained, 1) << "nothing is in flight";
  std::optional<Reservation> first = Reserve();
  std::optional<Reservation> second = Reserve();
  store_.hold = true;
  first.reset();
  second.reset();
  limiter_->Drain(count);
  EXPECT_EQ(drained, 1);
  store_.ReleaseFirstHeldResult();
  EXPECT_EQ(drained, 1) << "one of two";
  store_.ReleaseFirstHeldResult();
  EXPECT_EQ(drained, 2);
  EXPECT_TRUE(Held().empty());
}

// Fails if: Drain waits for a binding in doubt, which has no call in flight and keeps its slot.
TEST_F(ReservationTest, DrainDoesNotWaitForABindingInDoubt) {
  std::optional<Reservation> reservation = Reserve();
  store_.fail = Error{Code::kUnavailable, "away"};
  EXPECT_EQ(reservation->Bind("j-1").error().code, Code::kUnavailable);
  store_.fail.reset();
  reservation.reset();
  bool drained = false;
  limiter_->Drain([&](const Status& status) { drained = status.has_value(); });
  EXPECT_TRUE(drained);
}

TEST_F(ReservationTest, RenewingMakesItLiveLonger) {
  Reservation reservation = Reserve();
  scheduler_.Advance(std::chrono::minutes(4));
  ASSERT_TRUE(reservation.Renew(std::chrono::minutes(10)));
  EXPECT_EQ(reservation.expires(), clock().WallNow() + std::chrono::minutes(10));
  EXPECT_FALSE(reservation.bound()) << "it is renewed, not bound";
  ASSERT_TRUE(reservation.Renew(std::chrono::minutes(1)));
  EXPECT_EQ(reservation.expires(), clock().WallNow() + std::chrono::minutes(10)) << "never shorter";
}

TEST_F(ReservationTest, ReleasedItHasEnded) {
  Reservation reservation = Reserve();
  ASSERT_TRUE(reservation.Bind("j-1"));
  ASSERT_TRUE(reservation.Release());
  EXPECT_TRUE(Held().empty());
  EXPECT_FALSE(reservation.active());
  EXPECT_EQ(reservation.Release().error().code, Code::kFailedPrecondition);
  EXPECT_EQ(reservation.Bind("j-2").error().code, Code::kFailedPrecondition);
  EXPECT_EQ(reservation.Renew(milliseconds(1)).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(store_.releases.size(), 1U) << "and nothing more was sent";
}

TEST_F(ReservationTest, MovedFromItHoldsNothing) {
  Reservation first = Reserve();
  Reservation second = std::move(first);
  EXPECT_FALSE(first.active());  // NOLINT: what is tested
  EXPECT_EQ(first.Bind("j-1").error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(second.active());
  EXPECT_EQ(Held().size(), 1U);
  second = Reserve();
  EXPECT_EQ(Held().size(), 1U) << "what it held before was released";
  EXPECT_EQ(store_.releases.size(), 1U);
}

TEST_F(ReservationTest, WhoseTimeIsOverCannotBeBound) {
  Reservation reservation = Reserve();
  scheduler_.Advance(std::chrono::minutes(5));
  const Status late = reservation.Bind("j-1");
  EXPECT_EQ(late.error().code, Code::kNotFound);
  EXPECT_FALSE(reservation.active());
}

TEST_F(ReservationTest, OrRenewed) {
  Reservation reservation = Reserve();
  scheduler_.Advance(std::chrono::minutes(5));
  EXPECT_EQ(reservation.Renew(milliseconds(10)).error().code, Code::kNotFound);
  EXPECT_FALSE(reservation.active());
}

TEST_F(ReservationTest, AThingThatHadEndedLeavesNoSlotAndNoRefusalBehind) {
  const EndedResource ended{.resource_id = "j-1",
                            .ended_at = clock().WallNow(),
                            .remember_until = clock().WallNow() + milliseconds(60'000)};
  store_.inner().slots().ReleaseResource(ended, clock().WallNow(), Deadline::Never(), [](auto) {});
  Reservation first = Reserve();
  Reservation second = Reserve();
  EXPECT_TRUE(Ask("acme", 2).refused());
  EXPECT_EQ(first.Bind("j-1").error().code, Code::kFailedPrecondition);
  EXPECT_FALSE(first.active()) << "the store has released the slot";
  EXPECT_TRUE(Ask("acme", 2).reserved()) << "the refusal is not believed any more";
}

// Fails if: a refused binding ends a reservation whose slot is still held.
TEST_F(ReservationTest, ASlotThatAnotherCallerBoundIsStillHeldAfterARefusedBinding) {
  Reservation reservation = Reserve();
  store_.inner().slots().Bind({reservation.key(), reservation.id()}, "j-1", milliseconds(60'000),
                              clock().WallNow(), Deadline::Never(), [](const auto&) {});
  EXPECT_EQ(reservation.Bind("j-2").error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(reservation.active());
  EXPECT_EQ(reservation.resource_id(), "j-1");
  EXPECT_TRUE(reservation.Release());
  EXPECT_TRUE(Held().empty());
}

// The resource may exist, so its slot must not be released.
TEST_F(ReservationTest, ABindingInDoubtIsKept) {
  for (const Code lost : {Code::kDeadlineExceeded, Code::kUnavailable}) {
    std::optional<Reservation> reservation = Reserve();
    store_.lose = Error{lost, "lost"};
    EXPECT_EQ(reservation->Bind("j-1").error().code, lost);
    store_.lose.reset();
    EXPECT_TRUE(reservation->active());
    reservation.reset();
    EXPECT_TRUE(store_.releases.empty());
  }
  EXPECT_EQ(Held().size(), 2U);
}

TEST_F(ReservationTest, ABindingInDoubtMayBeRepeated) {
  Reservation reservation = Reserve();
  store_.lose = Error{Code::kUnavailable, "lost"};
  EXPECT_FALSE(reservation.Bind("j-1"));
  store_.lose.reset();
  EXPECT_TRUE(reservation.Bind("j-1"));
  EXPECT_EQ(reservation.resource_id(), "j-1");
}

TEST_F(ReservationTest, ABindingThatWasRefusedIsNone) {
  {
    Reservation reservation = Reserve();
    store_.fail = Error{Code::kInvalidArgument, "no such name"};
    EXPECT_EQ(reservation.Bind("j-1").error().code, Code::kInvalidArgument);
    store_.fail.reset();
    EXPECT_FALSE(reservation.bound());
    EXPECT_TRUE(reservation.active());
  }
  EXPECT_TRUE(Held().empty());
}

TEST_F(ReservationTest, DestroyedWhileItIsBoundItIsKeptAndDoneRuns) {
  std::optional<Reservation> reservation = Reserve();
  store_.hold = true;
  int told = 0;
  reservation->Bind("j-1", std::nullopt, [&](const Status& result) { told += result ? 1 : 100; });
  reservation.reset();
  store_.hold = false;
  store_.ReleaseHeldResults();
  EXPECT_EQ(told, 1);
  ASSERT_EQ(Held().size(), 1U);
  EXPECT_TRUE(Held()[0].bound());
}

TEST_F(ReservationTest, DestroyedBeforeItsBindingIsRefusedItIsReleased) {
  std::optional<Reservation> reservation = Reserve();
  store_.hold = true;
  store_.fail = Error{Code::kInvalidArgument, "no such name"};
  reservation->Bind("j-1", std::nullopt, [](const Status& result) { EXPECT_FALSE(result); });
  reservation.reset();
  EXPECT_TRUE(store_.releases.empty());
  store_.hold = false;
  store_.fail.reset();
  store_.ReleaseHeldResults();
  EXPECT_TRUE(Held().empty());
}

TEST_F(ReservationTest, AReleaseThatFailedMayBeRepeated) {
  Reservation reservation = Reserve();
  ASSERT_TRUE(reservation.Bind("j-1"));
  store_.fail = Error{Code::kUnavailable, "away"};
  EXPECT_EQ(reservation.Release().error().code, Code::kUnavailable);
  store_.fail.reset();
  EXPECT_TRUE(reservation.active());
  EXPECT_TRUE(reservation.Release());
  EXPECT_TRUE(Held().empty());
}

TEST_F(ReservationTest, AReleaseThatFailedIsTriedOnceMoreAtTheEndOfTheScope) {
  {
    Reservation reservation = Reserve();
    ASSERT_TRUE(reservation.Bind("j-1"));
    store_.fail = Error{Code::kUnavailable, "away"};
    EXPECT_FALSE(reservation.Release());
    store_.fail.reset();
  }
  EXPECT_TRUE(Held().empty());
  EXPECT_EQ(store_.releases.size(), 2U);
}

// Fails if: a release that fails after the end of the scope is not tried once more.
TEST_F(ReservationTest, AReleaseThatFailsAfterTheEndOfTheScopeIsTriedOnceMore) {
  for (const bool unless_bound : {false, true}) {
    std::optional<Reservation> reservation = Reserve();
    if (!unless_bound) {
      ASSERT_TRUE(reservation->Bind("j-1"));
    }
    const std::size_t before = store_.releases.size();
    int failed = 0;
    const auto count = [&](const Status& status) { failed += status ? 100 : 1; };
    store_.hold = true;
    store_.fail = Error{Code::kUnavailable, "away"};
    unless_bound ? reservation->ReleaseUnlessBound(count) : reservation->Release(count);
    reservation.reset();
    bool is_drained = false;
    limiter_->Drain([&](const Status&) { is_drained = true; });
    EXPECT_FALSE(is_drained) << "the result in flight may begin another release";
    store_.fail.reset();
    store_.hold = false;
    store_.ReleaseHeldResults();
    EXPECT_TRUE(is_drained);
    EXPECT_EQ(failed, 1);
    EXPECT_EQ(store_.releases.size(), before + 2);
    EXPECT_TRUE(Held().empty());
  }
}

TEST_F(ReservationTest, ThatItWasNotHeldAnyMoreIsNoError) {
  Reservation reservation = Reserve();
  ReleaseElsewhere(reservation);
  EXPECT_TRUE(reservation.Release());
}

TEST_F(ReservationTest, WhatIsDoneWithAnOldOneDoesNotReachANewHolder) {
  std::optional<Reservation> old = Reserve();
  scheduler_.Advance(std::chrono::minutes(5));
  Reservation newer = Ask("acme", 1).reservation();
  old.reset();
  ASSERT_EQ(Held().size(), 1U);
  EXPECT_EQ(Held()[0].id, newer.id());
}

TEST_F(ReservationTest, EveryCallHasTheTimeoutOfTheLimiter) {
  Restart({.store_timeout = milliseconds::max(), .seed = 1});
  Reservation reservation = Reserve();
  EXPECT_TRUE(reservation.Bind("j-1"));
}

// Regardless of which call is lost, `done` runs once, and an unbound slot is free after its time to
// live.
TEST_F(ReservationTest, WhicheverCallIsLostNothingIsHeldForEver) {
  for (const bool asked : {false, true}) {
    for (std::size_t nth = 0; nth < 6; ++nth) {
      auto& how = asked ? store_.lose : store_.fail;
      how = Error{Code::kUnavailable, "away"};
      Restart({.limits_ttl = milliseconds(0), .seed = nth + (asked ? 100 : 1)});
      store_.only = store_.calls + nth;
      SlotOutcomeRecorder& told = Ask("acme", 2);
      EXPECT_EQ(told.times, 1);
      if (told.reserved()) {
        Reservation reservation = told.reservation();
        int results = 0;
        const auto count = [&](const Status&) { ++results; };
        reservation.Renew(milliseconds(400'000), count);
        reservation.Bind("j-1", milliseconds(10'000), count);
        EXPECT_EQ(results, 2);
        reservation.Release([&](const Status&) { ++results; });
        EXPECT_EQ(results, 3);
      }
      how.reset();
      store_.only.reset();
      scheduler_.Advance(milliseconds(400'000));
      EXPECT_TRUE(Held().empty()) << nth;
    }
  }
}

}  // namespace
}  // namespace weir
