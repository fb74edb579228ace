#include "weir/embedded/testing/clock_simulation_fixture.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr int kClockSteps = 400;

Decision TakeSome(SimulatedMachine& world, ClockedStore& store, std::int64_t tokens) {
  Result<Decision> decision = store.Take(tokens);
  if (!decision) {
    world.Break(decision.error().message);
    return {.limits = {}};
  }
  world.See(*decision, tokens);
  return *std::move(decision);
}

std::int64_t DrawTokens(SimulatedMachine& world) {
  return static_cast<std::int64_t>(1 + world.rng().Below(kClockCapacity));
}

void TakeNow(SimulatedMachine& world, ClockedStore& store) {
  TakeSome(world, store, DrawTokens(world));
}

// A request that was refused must be admitted at exactly the millisecond that its refusal named.
void TakeAndPerhapsWait(SimulatedMachine& world, ClockedStore& store) {
  const std::int64_t tokens = DrawTokens(world);
  const Decision first = TakeSome(world, store, tokens);
  if (first.admitted || first.retry_after > kMaxAhead || world.rng().Below(10) != 0) return;
  world.Pass(first.retry_after);
  if (!TakeSome(world, store, tokens).admitted) {
    world.Break("refused at the time that the refusal before it named");
  }
}

// Sets the wall clock 74 years ahead while `times` requests are made, one a second.
ClockFault Years74For(int times) {
  return {fmt::format("74 years for {} requests", times),
          [times](SimulatedMachine& world, ClockedStore& store) {
            world.SetWall(kYears74);
            TakeNow(world, store);
            for (int i = 1; i < times; ++i) {
              world.Pass(seconds(1));
              TakeNow(world, store);
            }
            world.SetWall({});
          }};
}

void JumpAnHour(SimulatedMachine& world) {
  world.SetWall(world.rng().Below(2) == 0 ? hours(1) : hours(-1));
}

}  // namespace

void TrueTimeOracle::Pass(milliseconds truth, milliseconds counted) {
  Refill(most_, truth.count());
  owed_ += counted;
  if (owed_ <= lag_) return;
  Refill(least_, (owed_ - lag_).count());
  owed_ = lag_;
}

void TrueTimeOracle::OnNewTimeBase() {
  most_ = FullMeter(most_.quota);
  least_.tokens = 0;
  owed_ = milliseconds(0);
}

std::optional<std::string> TrueTimeOracle::Judge(const Decision& decision, std::int64_t tokens) {
  if (!decision.admitted) {
    const milliseconds longest = RetryAfter(least_, tokens * kMillitokens) + (lag_ - owed_);
    if (decision.retry_after <= longest) return std::nullopt;
    return fmt::format("refused for {}, by a bucket in true time for {} at most",
                       decision.retry_after, longest);
  }
  const bool is_covered = most_.tokens >= tokens * kMillitokens;
  Debit(most_, tokens * kMillitokens);
  Debit(least_, tokens * kMillitokens);
  least_.tokens = std::max<std::int64_t>(least_.tokens, 0);  // no store is in debt here
  if (!is_covered) return "admitted more than capacity + rate * t";
  return std::nullopt;
}

void SimulatedMachine::Pass(milliseconds time) {
  scheduler_->Advance(time);
  Passed(time, time);
}

void SimulatedMachine::Suspend(milliseconds time, bool is_counted) {
  clock().Suspend(time, is_counted);
  Passed(time, is_counted ? time : milliseconds(0));
}

void SimulatedMachine::Reboot(milliseconds off) {
  clock().Suspend(off, /*is_counted=*/false);
  clock().Reboot();
  Passed(off, milliseconds(0));
  ++boots_;
}

void SimulatedMachine::Passed(milliseconds truth, milliseconds counted) {
  truth_ = truth_ + truth;
  oracle_.Pass(truth, counted);
}

void SimulatedMachine::See(const Decision& decision, std::int64_t tokens) {
  if (auto promise = oracle_.Judge(decision, tokens)) Break(*std::move(promise));
}

Charge ClockCharge(std::int64_t tokens) {
  static const TargetPtr target =
      MakeTarget({.entity = "acme", .resource = "llm"}, {{"rpm", PerMinute(kClockCapacity)}});
  return {target, {tokens * kMillitokens}};
}

const std::vector<ClockFault>& FaultsOfClocks() {
  static const std::vector<ClockFault> faults = {
      {"none", [](SimulatedMachine&, ClockedStore&) {}},
      {"jumps of an hour both ways",
       [](SimulatedMachine& world, ClockedStore&) { JumpAnHour(world); }},
      Years74For(1),
      Years74For(15),
      {"a sawtooth of half a second",
       [](SimulatedMachine& world, ClockedStore&) {
         world.SetWall(milliseconds(static_cast<std::int64_t>(world.rng().Below(1000)) - 500));
       }},
      {"suspensions that B counts",
       [](SimulatedMachine& world, ClockedStore&) {
         world.Suspend(hours(1), /*is_counted=*/true);
       }},
      {"suspensions that B does not count",
       [](SimulatedMachine& world, ClockedStore&) {
         world.Suspend(hours(1), /*is_counted=*/false);
       }},
      // C3: in an idle file, buckets that were not full were forgotten.
      {"idle while the clock is behind",
       [](SimulatedMachine& world, ClockedStore&) {
         world.SetWall(hours(-1));
         world.Pass(seconds(3));
       }},
  };
  return faults;
}

const std::vector<ClockFault>& FaultsOfProcesses() {
  static const std::vector<ClockFault> faults = {
      {"a kill within 10 s of a step",
       [](SimulatedMachine& world, ClockedStore& store) {
         JumpAnHour(world);
         world.Pass(seconds(world.rng().Below(10)));
         store.Restart(/*by_kill=*/true);
       }},
      {"one-shot processes under a wild clock",
       [](SimulatedMachine& world, ClockedStore& store) {
         world.SetWall(hours(static_cast<std::int64_t>(world.rng().Below(200)) - 100));
         store.Restart(/*by_kill=*/false);
       }},
  };
  return faults;
}

ClockFault BootUnderAWrongClock() {
  return {"a boot under a wrong clock", [](SimulatedMachine& world, ClockedStore& store) {
            world.Reboot(seconds(world.rng().Below(600)));
            const std::uint64_t kind = world.rng().Below(4);
            if (kind == 1) world.SetWall(kYears74);
            if (kind == 2) world.SetWall(-kYears74 / 2);
            if (kind == 3) {
              world.SetWall(hours(static_cast<std::int64_t>(world.rng().Below(48)) - 24));
            }
            world.OnNewTimeBase();
            store.Restart(world.rng().Below(2) == 0);
            world.SetWall({});
          }};
}

ClockFault BootUnderARightClock() {
  return {"a boot under a right clock", [](SimulatedMachine& world, ClockedStore& store) {
            world.Reboot(seconds(world.rng().Below(600)));
            store.Restart(world.rng().Below(2) == 0);
          }};
}

std::optional<std::string> SimulateClocks(std::uint64_t seed, const ClockScenario& scenario,
                                          const MakeClockedStore& make) {
  SimulatedMachine world(seed, scenario.lag);
  if (scenario.first_may_err && seed % 3 == 1) world.SetWall(kYears74);
  if (scenario.first_may_err && seed % 3 == 2) world.SetWall(-kYears74 / 2);
  const auto store = make(world);
  if (seed % 2 == 0) world.SetWall({});
  for (int step = 0; step < kClockSteps; ++step) {
    if (world.rng().Below(10) == 0) scenario.fault.strike(world, *store);
    world.Pass(milliseconds(world.rng().Below(2'000)));
    TakeAndPerhapsWait(world, *store);
    if (world.broken()) {
      return fmt::format("{}, seed {}, step {}: {}", scenario.fault.name, seed, step,
                         *world.broken());
    }
  }
  return std::nullopt;
}

}  // namespace weir
