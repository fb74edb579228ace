// Queued reservations with a bug, which the simulation must find. For tests only.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/embedded/reservation/queued_reservations.h"
#include "weir/embedded/testing/noted_slots_fixture.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {

inline constexpr std::size_t kMaxQueued = 4;
inline constexpr UnixMillis kClaimedAt{1'767'225'600'000};
inline constexpr const char* kNotBegun = "before anything was done";

enum class ReservationBug {
  kNone,
  kRunsInTheCaller,
  kOvertakes,
  kCompletesLate,
  kCompletesEarly,
  kLosesTheDeadline,
  kMakesWhatIsTooLate,
  kMakesTwice,
  kCompletesTwice,
  kSaysNothingWasDone,
  kCompletesWithoutMaking,
  kTakesOneTooMany,
};

/// A scheduler that a simulation steps, with a bug.
class PlantedScheduler final : public Scheduler {
 public:
  explicit PlantedScheduler(ReservationBug bug) : bug_(bug) {}

  const Clock& clock() const override { return inner.clock(); }
  void Post(Task task) override {
    if (bug_ == ReservationBug::kRunsInTheCaller) return task();
    posted_.push_back(std::move(task));
  }
  TimerId At(Instant when, Task task) override {
    if (bug_ == ReservationBug::kCompletesLate) when = when + milliseconds(1);
    if (bug_ == ReservationBug::kCompletesEarly) when = when - nanoseconds(1);
    if (bug_ == ReservationBug::kLosesTheDeadline) when = Instant{INT64_MAX};
    return inner.At(when, std::move(task));
  }
  bool Cancel(TimerId id) override { return inner.Cancel(id); }

  void RunOnePosted() {
    if (posted_.empty()) return;
    const auto next = bug_ == ReservationBug::kOvertakes ? posted_.end() - 1 : posted_.begin();
    Task task = std::move(*next);
    posted_.erase(next);
    task();
  }
  std::size_t posted() const { return posted_.size(); }

  sim::SimScheduler inner;

 private:
  const ReservationBug bug_;
  std::vector<Task> posted_;
};

inline SlotClaim NumberedClaim(std::size_t number) {
  return {.slot = {.key = {"emr", "acme"}, .id = fmt::format("{}", number)},
          .limit = 1'000'000,
          .ttl = std::chrono::hours(1)};
}

/// Queued reservations with one planted bug, as callers see them.
class PlantedReservations {
 public:
  PlantedReservations(ReservationBug bug, Scheduler& worker, Scheduler& timers,
                      NotedSlots::OnClaim on_claim)
      : bug_(bug), on_claim_(std::move(on_claim)) {
    const std::size_t most = kMaxQueued + (bug == ReservationBug::kTakesOneTooMany ? 1 : 0);
    const auto make = [this](const std::string& id) {
      on_claim_(id);
      if (bug_ == ReservationBug::kMakesTwice) on_claim_(id);
    };
    queued_ = QueueReservations(std::make_unique<NotedSlots>(make), worker, timers,
                                {.max_waiting = most});
  }

  void Claim(std::size_t number, Deadline deadline, Done<ClaimResult> done) {
    const SlotClaim claim = NumberedClaim(number);
    if (bug_ == ReservationBug::kCompletesWithoutMaking && number == 0) return done(ClaimResult{});
    queued_->slots().Claim(claim, kClaimedAt, deadline,
                           [this, id = claim.slot.id, done = std::move(done)](auto result) mutable {
                             const bool is_late =
                                 !result && result.error().code == Code::kDeadlineExceeded;
                             if (is_late) return RespondLate(id, std::move(result.error()), done);
                             done(std::move(result));
                           });
  }

 private:
  void RespondLate(const std::string& id, Error error, Done<ClaimResult>& done) {
    const bool not_begun = error.message.ends_with(kNotBegun);
    if (bug_ == ReservationBug::kSaysNothingWasDone && !not_begun) error.message += kNotBegun;
    done(Fail(error));
    if (bug_ == ReservationBug::kCompletesTwice) done(Fail(error));
    if (bug_ == ReservationBug::kMakesWhatIsTooLate && not_begun) on_claim_(id);
  }

  const ReservationBug bug_;
  const NotedSlots::OnClaim on_claim_;
  std::unique_ptr<ReservationBackend> queued_;
};

}  // namespace weir
