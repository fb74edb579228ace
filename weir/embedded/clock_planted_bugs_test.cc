// Tests that the simulation of clocks finds the bugs that it must find: each is planted in a store.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/embedded/testing/clock_simulation_fixture.h"
#include "weir/store/bucket/bucket_table.h"

namespace weir {
namespace {

constexpr std::uint64_t kPlantedClockSeeds = 10;

enum class ClockBug {
  kNone,
  kFollowsTheWallClock,
  kMissesSuspensions,
  kRunsFast,
  kRunsSlow,
  kSweepsByTheLatestTime,  // C3
  kHasATimeOfEachProcess,
  kForgetsOnRestart,
  kKeepsTimesFarAhead,  // C4
  kKeepsTheBaseOnANewBoot,
};

// The time since boot, as a store with a bug counts it.
class PlantedBootClock final : public Clock {
 public:
  PlantedBootClock(const sim::SimClock& clock, ClockBug bug) : clock_(clock), bug_(bug) {}

  Instant Now() const override { return clock_.Now(); }
  UnixMillis WallNow() const override { return clock_.WallNow(); }
  nanoseconds BootNow() const override {
    const nanoseconds boot = clock_.BootNow();
    switch (bug_) {
      case ClockBug::kFollowsTheWallClock:
        return milliseconds(clock_.WallNow().value);
      case ClockBug::kMissesSuspensions:
        return boot - clock_.suspended();
      case ClockBug::kRunsFast:
        return boot + boot / 100;
      case ClockBug::kRunsSlow:
        return boot - boot / 100;
      default:
        return boot;
    }
  }

 private:
  const sim::SimClock& clock_;
  const ClockBug bug_;
};

// A store in memory whose buckets survive its processes, as those of a file do.
class PlantedClockedStore final : public ClockedStore {
 public:
  PlantedClockedStore(SimulatedMachine& world, ClockBug bug)
      : world_(world), bug_(bug), clock_(world.clock(), bug) {
    Open();
  }

  Result<Decision> Take(std::int64_t tokens) override {
    const Charge charge = ClockCharge(tokens);
    latest_ = std::max(latest_, clock_.WallNow());
    if (bug_ == ClockBug::kSweepsByTheLatestTime) (void)table_->SweepIdle(latest_);
    const UnixMillis now = table_->Now();
    const auto record = table_->Read(charge.target->key);
    const bool waits =
        bug_ == ClockBug::kKeepsTimesFarAhead && record && IsFarAhead(record->bucket.time, now);
    if (waits) return Decision{.retry_after = record->bucket.time - now, .limits = {}};
    return table_->Acquire({&charge, 1}, now);
  }
  void Restart(bool) override {
    const auto records = table_->List({}, {.cursor = {}, .limit = 10});
    Open();
    if (bug_ == ClockBug::kForgetsOnRestart) return;
    for (const BucketRecord& record : records->items) table_->Load(record);
  }

 private:
  void Open() {
    const BootIdentity boot = world_.boot();
    const bool is_same_boot =
        base_ && (IsSameBoot(boot, boot_) || bug_ == ClockBug::kKeepsTheBaseOnANewBoot);
    if (!is_same_boot || bug_ == ClockBug::kHasATimeOfEachProcess) {
      base_ = BucketTime::FromMedian(clock_).base();
    }
    boot_ = boot;
    table_ = std::make_unique<BucketTable>(BucketTableOptions{.time = BucketTime(clock_, *base_)});
  }

  SimulatedMachine& world_;
  const ClockBug bug_;
  const PlantedBootClock clock_;
  BootIdentity boot_;
  std::optional<UnixMillis> base_;
  UnixMillis latest_{};
  std::unique_ptr<BucketTable> table_;
};

// The scenarios of the tests without planted bugs.
std::vector<ClockScenario> AllClockScenarios() {
  std::vector<ClockScenario> scenarios;
  for (const ClockFault& fault : FaultsOfClocks()) scenarios.push_back({.fault = fault});
  for (const ClockFault& fault : FaultsOfProcesses()) scenarios.push_back({.fault = fault});
  scenarios.push_back({.fault = BootUnderAWrongClock(), .lag = kMaxAhead});
  scenarios.push_back(
      {.fault = BootUnderARightClock(), .lag = milliseconds(1000), .first_may_err = false});
  return scenarios;
}

std::optional<std::string> FirstBroken(ClockBug bug) {
  const auto make = [&](SimulatedMachine& world) {
    return std::make_unique<PlantedClockedStore>(world, bug);
  };
  for (const ClockScenario& scenario : AllClockScenarios()) {
    for (std::uint64_t seed = 0; seed < kPlantedClockSeeds; ++seed) {
      if (auto broken = SimulateClocks(seed, scenario, make)) return broken;
    }
  }
  return std::nullopt;
}

TEST(ClockPlantedBugs, AStoreWithoutOneKeepsItsPromises) {
  EXPECT_EQ(FirstBroken(ClockBug::kNone), std::nullopt);
}

TEST(ClockPlantedBugs, EachIsFound) {
  using Named = std::pair<const char*, ClockBug>;
  for (const auto& [name, bug] : {Named{"follows the wall clock", ClockBug::kFollowsTheWallClock},
                                  {"misses suspensions", ClockBug::kMissesSuspensions},
                                  {"runs fast", ClockBug::kRunsFast},
                                  {"runs slow", ClockBug::kRunsSlow},
                                  {"sweeps by the latest time", ClockBug::kSweepsByTheLatestTime},
                                  {"has a time of each process", ClockBug::kHasATimeOfEachProcess},
                                  {"forgets on restart", ClockBug::kForgetsOnRestart},
                                  {"keeps times far ahead", ClockBug::kKeepsTimesFarAhead},
                                  {"keeps the base", ClockBug::kKeepsTheBaseOnANewBoot}}) {
    EXPECT_TRUE(FirstBroken(bug)) << "not found: a store that " << name;
  }
}

}  // namespace
}  // namespace weir
