#include "weir/aggregator/lease/aggregator_lease.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>

#include "weir/telemetry/testing/recording_log_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;

constexpr milliseconds kLifetime{30'000};

enum class Fate { kCompleted, kSlowResponse, kLostResponse, kLate, kNever };

// The leases of several processes on one table.
class LeaseHolders {
 public:
  AggregatorLease& Add(const std::string& owner) {
    leases_.push_back({AggregatorLease({.owner = owner, .lifetime = kLifetime}, log), {}, {}});
    leases_.back().request = leases_.back().lease.Start(now());
    return leases_.back().lease;
  }
  // Carries out the request of one process, or its timer.
  void Step(std::size_t index, Fate fate = Fate::kCompleted) {
    auto& [lease, request, response] = leases_[index];
    if (response) {
      request = lease.OnWrite(*std::exchange(response, std::nullopt), now());
      return;
    }
    if (!request) request = lease.OnTime(now());
    if (!request) return;
    const auto sent = *std::exchange(request, std::nullopt);
    if (std::holds_alternative<AggregatorLease::Read>(sent)) {
      request = lease.OnRead(sim.Get(LeaseKey()), now());
    } else if (fate == Fate::kSlowResponse) {
      response = Apply(std::get<Write>(sent));
    } else {
      request = lease.OnWrite(OutcomeOf(std::get<Write>(sent), fate), now());
    }
  }
  // Runs all processes without faults for this time.
  void Run(milliseconds time) {
    for (milliseconds past{0}; past < time; past += milliseconds(500)) {
      for (std::size_t i = 0; i < leases_.size(); ++i) {
        for (int step = 0; step < 3; ++step) Step(i);
      }
      Advance(milliseconds(500));
    }
  }
  void Advance(milliseconds by) { sim.scheduler.Advance(by); }
  void RunLate() {
    if (late_.empty()) return;
    Apply(late_.front());
    late_.pop_front();
  }
  std::vector<std::size_t> Holders() const {
    std::vector<std::size_t> holders;
    for (std::size_t i = 0; i < leases_.size(); ++i) {
      if (leases_[i].lease.IsHeldAt(now())) holders.push_back(i);
    }
    return holders;
  }
  Instant now() const { return sim.scheduler.clock().Now(); }
  AggregatorLease& at(std::size_t index) { return leases_[index].lease; }
  void Send(std::size_t index, AggregatorLease::Request request) {
    leases_[index].request = std::move(request);
    Step(index);
  }

  ZaeSimTable sim;
  RecordingLog log;

 private:
  using Outcome = tl::expected<WriteResponse, WriteFailure>;
  struct Holder {
    AggregatorLease lease;
    AggregatorLease::Request request;
    std::optional<Outcome> response{};  ///< of a write, that the process does not have yet
  };

  Outcome OutcomeOf(const Write& write, Fate fate) {
    if (fate == Fate::kCompleted) return Apply(write);
    if (fate == Fate::kLostResponse) Apply(write);
    if (fate == Fate::kLate) late_.push_back(write);
    return tl::unexpected(WriteFailure{.kind = FailureClass::kAmbiguous,
                                       .error = {Code::kUnavailable, "no response"}});
  }
  Outcome Apply(const Write& write) {
    std::optional<Outcome> outcome;
    sim.table.Apply(write, false, kNever, [&](auto result) { outcome = std::move(result); });
    return *std::move(outcome);
  }

  std::deque<Holder> leases_;
  std::deque<Write> late_;
};

TEST(AggregatorLease, TheFirstOwnerKeepsIt) {
  LeaseHolders holders;
  holders.Add("a");
  holders.Run(milliseconds(1'000));
  holders.Add("b");
  for (int i = 0; i < 20; ++i) {
    holders.Run(milliseconds(10'000));
    EXPECT_THAT(holders.Holders(), ElementsAre(0));
  }
}

TEST(AggregatorLease, AnOwnerThatIsGoneIsReplacedAfterItsTime) {
  LeaseHolders holders;
  holders.Add("a");
  for (int i = 0; i < 3; ++i) holders.Step(0);
  holders.Add("b");
  const Instant left = holders.now();
  while (!holders.at(1).IsHeldAt(holders.now())) {
    holders.Step(1);
    holders.Advance(milliseconds(100));
    ASSERT_LE(holders.now() - left, kLifetime * 2);
  }
  EXPECT_GE(holders.now() - left, kLifetime);
  holders.Step(0);
  holders.Step(0);
  EXPECT_THAT(holders.Holders(), ElementsAre(1));
  EXPECT_THAT(holders.log.lines(), ElementsAre("info aggregator.lease_acquired owner=a",
                                               "info aggregator.lease_watched owner=a",
                                               "info aggregator.lease_acquired owner=b",
                                               "warning aggregator.lease_lost owner=a by=",
                                               "info aggregator.lease_watched owner=b"));
}

// A watcher may have seen the renewal right after it was sent.
TEST(AggregatorLease, TheTimeOfAnOwnerBeginsWhenItSendsTheRenewal) {
  LeaseHolders holders;
  holders.Add("a");
  for (int i = 0; i < 2; ++i) holders.Step(0);
  holders.Advance(kLifetime / 3);
  holders.Step(0, Fate::kSlowResponse);
  const Instant sent = holders.now();
  holders.Advance(kLifetime / 3);
  holders.Step(0);
  EXPECT_TRUE(holders.at(0).IsHeldAt(sent + kLifetime - milliseconds(1)));
  EXPECT_FALSE(holders.at(0).IsHeldAt(sent + kLifetime));
}

// Fails if: a lease that is not used any more is renewed, or is held by two owners.
TEST(AggregatorLease, AStoppedLeaseIsTakenWhenItHasRunOut) {
  LeaseHolders holders;
  holders.Add("a");
  holders.Run(milliseconds(1'000));
  holders.at(0).Stop();
  EXPECT_THAT(holders.Holders(), testing::IsEmpty());
  holders.Add("b");
  holders.Run(kLifetime / 2);
  EXPECT_THAT(holders.Holders(), testing::IsEmpty());
  holders.Run(2 * kLifetime);
  EXPECT_THAT(holders.Holders(), ElementsAre(1));
}

TEST(AggregatorLease, FunctionsWithOneOwnerShareIt) {
  LeaseHolders holders;
  holders.Add("function");
  holders.Add("function");
  holders.Run(milliseconds(60'000));
  EXPECT_THAT(holders.Holders(), ElementsAre(0, 1));
}

TEST(AggregatorLease, ADamagedItemIsReplaced) {
  LeaseHolders holders;
  Item damaged = ToItem(LeaseKey());
  damaged["owner"] = Of("gone");
  damaged["lasts_ms"] = Of(INT64_MAX);
  holders.sim.Put(damaged);
  holders.Add("a");
  holders.Run(std::chrono::hours(1) + std::chrono::minutes(2));
  EXPECT_THAT(holders.Holders(), ElementsAre(0));
}

// Fails if: an owner counts its time from the response, a watcher counts it from before it saw the
// lease, or a claim ignores a renewal that it did not see.
RC_GTEST_PROP(AggregatorLease, TwoOwnersNeverHoldIt, ()) {
  LeaseHolders holders;
  for (const char* owner : {"a", "b", "c"}) holders.Add(owner);
  bool was_held = false;
  for (int step = 0; step < 400; ++step) {
    const auto fate = *rc::gen::weightedElement<Fate>(
        {{8, Fate::kCompleted}, {1, Fate::kLostResponse}, {1, Fate::kLate}, {1, Fate::kNever}});
    holders.Step(*rc::gen::inRange<std::size_t>(0, 3), fate);
    if (*rc::gen::inRange(0, 8) == 0) holders.RunLate();
    RC_ASSERT(holders.Holders().size() <= 1);
    was_held = was_held || !holders.Holders().empty();
    holders.Advance(milliseconds(*rc::gen::weightedOneOf<int>(
        {{20, rc::gen::inRange(0, 3'000)}, {1, rc::gen::just(40'000)}})));
    RC_ASSERT(holders.Holders().size() <= 1);
  }
  RC_ASSERT(was_held);
}

}  // namespace
}  // namespace weir::dynamo
