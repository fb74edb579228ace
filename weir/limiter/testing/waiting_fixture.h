// A test fixture: requests that wait at a limiter on a ProbeBackend, in simulated time.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weir/limiter/limiter.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {

/// The outcome of a request, its time, and how often it was reported.
struct Told {
  int times = 0;
  Instant at;
  std::optional<Result<Outcome>> outcome;

  bool admitted() const { return times == 1 && *outcome && (*outcome)->admitted(); }
  bool refused() const { return times == 1 && *outcome && !(*outcome)->admitted(); }
  Code code() const {
    EXPECT_TRUE(times == 1 && !*outcome);
    return times == 1 && !*outcome ? outcome->error().code : Code::kUnknown;
  }
  Lease lease() { return std::move(**outcome).lease(); }
};

class WaitingTest : public ::testing::Test {
 protected:
  // `a` and `b` have 10 rpm each: one token is refilled every 6 s. Their parent `p` has 15 rpm: one
  // token every 4 s.
  void SetUp() override { Apply({Put(Level::System(), {{"rpm", PerMinute(10)}})}); }
  // Leases must end before the limiter; outcomes must outlive it.
  void TearDown() override {
    for (Told& told : told_) told.outcome.reset();
    limiter_.reset();
  }
  void Family() {
    Apply({PutChild("a", "p"), PutChild("b", "p"),
           Put(Level::EntityDefault("p"), {{"rpm", PerMinute(15)}})});
  }
  void Apply(std::vector<ConfigChange> changes) {
    const Status applied = limiter_->Apply(std::move(changes), Deadline::Never());
    ASSERT_TRUE(applied) << applied.error().message;
  }

  Told& Ask(std::string_view entity, std::int64_t amount,
            std::optional<Deadline> wait_until = std::nullopt,
            std::optional<OnUnavailable> on_unavailable = std::nullopt) {
    Told& told = told_.emplace_back();
    limiter_->Acquire({.entity = entity,
                       .resource = "gpt-4",
                       .amounts = {{"rpm", amount}},
                       .wait = wait_until.has_value(),
                       .wait_until = wait_until.value_or(Deadline::Never()),
                       .on_unavailable = on_unavailable},
                      WithTimeForATry(wait_until), [&](Result<Outcome> outcome) {
                        ++told.times;
                        told.at = Now();
                        told.outcome = std::move(outcome);
                      });
    return told;
  }
  Told& Wait(std::string_view entity, std::int64_t amount) {
    return Ask(entity, amount, Deadline::Never());
  }
  /// Takes this amount and keeps no lease.
  void Use(std::string_view entity, std::int64_t amount) {
    EXPECT_TRUE(Ask(entity, amount).admitted());
    told_.pop_back();
  }
  void Drain(std::string_view entity) { Use(entity, 10); }

  Instant Now() const { return scheduler_.clock().Now(); }
  Deadline WithTimeForATry(std::optional<Deadline> wait_until) const {
    if (wait_until && wait_until->is_never()) return *wait_until;
    return Deadline::At(wait_until.value_or(Within(nanoseconds(0))).at() + milliseconds(100));
  }
  Deadline Within(nanoseconds wait) const { return Deadline::After(scheduler_.clock(), wait); }
  /// Returns the time from the beginning of the test to the outcome.
  nanoseconds Elapsed(const Told& told) const { return told.at - begin_; }

  std::list<Told> told_;  // outlives the limiter, whose destructor completes waiting requests
  sim::SimScheduler scheduler_;
  const Instant begin_ = scheduler_.clock().Now();
  std::unique_ptr<Backend> memory_ = MakeMemoryBackend({}, &scheduler_.clock());
  ProbeBackend store_{*memory_};
  std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(
      store_, scheduler_,
      LimiterOptions{.max_waiting = 50, .store_timeout = milliseconds(100), .seed = 1});
};

inline constexpr auto kSecond = std::chrono::seconds(1);

}  // namespace weir
