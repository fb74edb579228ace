// A test fixture: a ReservationLimiter in simulated time, and the outcomes of its requests.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/reservation/reservation_limiter.h"
#include "weir/reservation/testing/probe_reservations.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {

inline constexpr auto kSecond = std::chrono::seconds(1);

/// The outcome of a request, its time, and how often it was reported.
struct SlotOutcomeRecorder {
  int times = 0;
  Instant at;
  std::optional<Result<ReserveOutcome>> outcome;

  bool reserved() const { return times == 1 && *outcome && (*outcome)->reserved(); }
  bool refused() const { return times == 1 && *outcome && !(*outcome)->reserved(); }
  SlotRefusal refusal() const {
    EXPECT_TRUE(refused());
    return refused() ? (*outcome)->refusal() : SlotRefusal{};
  }
  Code code() const {
    EXPECT_TRUE(times == 1 && !*outcome);
    return times == 1 && !*outcome ? outcome->error().code : Code::kUnknown;
  }
  Reservation reservation() { return std::move(**outcome).reservation(); }
  /// Destroys the reservation.
  void DestroyReservation() { reservation(); }
};

class ReservationFixture : public ::testing::Test {
 protected:
  /// Reservations must end before the limiter; outcomes must outlive it.
  void TearDown() override {
    store_.hold = false;
    for (SlotOutcomeRecorder& told : told_) told.outcome.reset();
    limiter_.reset();
    store_.ReleaseHeldResults();
  }
  void Restart(ReservationOptions options) {
    limiter_ = std::make_unique<ReservationLimiter>(store_, scheduler_, options);
  }

  SlotOutcomeRecorder& Ask(const ReserveRequest& request) {
    SlotOutcomeRecorder& told = told_.emplace_back();
    const Deadline deadline = request.wait ? Deadline::Never() : Within(milliseconds(100));
    limiter_->Reserve(request, deadline, [&](Result<ReserveOutcome> outcome) {
      ++told.times;
      told.at = Now();
      told.outcome = std::move(outcome);
    });
    return told;
  }
  /// Requests a slot of emr, with `limit` as the default limit of the account.
  SlotOutcomeRecorder& Ask(std::string_view account, std::int64_t limit) {
    return Ask({.resource = "emr", .account = account, .default_limit = limit});
  }
  SlotOutcomeRecorder& Wait(std::string_view account, std::int64_t limit,
                            Deadline until = Deadline::Never()) {
    SlotOutcomeRecorder& told = Ask({.resource = "emr",
                                     .account = account,
                                     .default_limit = limit,
                                     .wait = true,
                                     .wait_until = until});
    scheduler_.RunReady();
    return told;
  }
  /// Releases the slot as another process would, so that this limiter is not notified.
  void ReleaseElsewhere(const Reservation& reservation) {
    bool released = false;
    store_.inner().slots().Release({reservation.key(), reservation.id()}, clock().WallNow(),
                                   Deadline::Never(),
                                   [&](const Result<bool>& result) { released = *result; });
    EXPECT_TRUE(released);
  }
  void SetLimit(std::string account, std::int64_t limit) {
    store_.PutLimit(
        {.key = {"emr", std::move(account)}, .limit = {.limit = limit}, .service = "tests"});
  }
  std::vector<HeldSlot> Held(std::string account) { return Held("emr", std::move(account)); }
  std::vector<HeldSlot> Held(std::string resource, std::string account) {
    std::vector<HeldSlot> held;
    store_.inner().slots().List(
        {std::move(resource), std::move(account)}, {}, clock().WallNow(), Deadline::Never(),
        [&](Result<Page<HeldSlot>> page) { held = std::move(page->items); });
    return held;
  }

  const Clock& clock() const { return scheduler_.clock(); }
  Instant Now() const { return clock().Now(); }
  Deadline Within(nanoseconds wait) const { return Deadline::After(clock(), wait); }
  /// Returns the time from the beginning of the test to the outcome.
  nanoseconds Elapsed(const SlotOutcomeRecorder& told) const { return told.at - begin_; }

  std::list<SlotOutcomeRecorder>
      told_;  // outlives the limiter, whose destructor completes waiting requests
  sim::SimScheduler scheduler_;
  const Instant begin_ = scheduler_.clock().Now();
  ProbeReservations store_;
  std::unique_ptr<ReservationLimiter> limiter_ = std::make_unique<ReservationLimiter>(
      store_, scheduler_, ReservationOptions{.max_waiting = 50, .seed = 1});
};

}  // namespace weir
