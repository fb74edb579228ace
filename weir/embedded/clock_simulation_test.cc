// Checks bucket time under clocks that go wrong, in memory and in a file, against buckets in true
// time. The message of a failure has the fault, the seed and the step.
#include <gtest/gtest.h>

#include <string>

#include "weir/embedded/testing/clock_simulation_fixture.h"
#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

constexpr std::uint64_t kClockSeeds = 60;

// Calls `run` until there is a result, unless the call completes before it returns.
template <class Run>
Result<Decision> TakeFrom(Backend& backend, std::int64_t tokens, const Run& run) {
  std::optional<Result<Decision>> result;
  const Charge charge = ClockCharge(tokens);
  BucketStore& store = backend.buckets();
  store.Acquire({&charge, 1}, store.Now(), Deadline::Never(),
                [&](Result<Decision> decision) { result.emplace(std::move(decision)); });
  while (!result) run();
  return *std::move(result);
}

class MemoryClockedStore final : public ClockedStore {
 public:
  explicit MemoryClockedStore(SimulatedMachine& world)
      : backend_(MakeMemoryBackend({}, &world.clock())) {}

  Result<Decision> Take(std::int64_t tokens) override {
    return TakeFrom(*backend_, tokens, [] {});
  }
  void Restart(bool) override {}

 private:
  std::unique_ptr<Backend> backend_;
};

class FileClockedStore final : public ClockedStore {
 public:
  explicit FileClockedStore(SimulatedMachine& world) : world_(world), path_(folder_ / "weir.db") {
    Open();
  }

  Result<Decision> Take(std::int64_t tokens) override {
    // True time must not pass unnoticed here. A strict commit is due at once.
    return TakeFrom(*backend_, tokens, [&] { world_.scheduler().RunReady(); });
  }
  void Restart(bool by_kill) override {
    if (by_kill) {
      const std::string copy = folder_ / ("killed-" + std::to_string(++copies_));
      for (const std::string suffix : {"", "-wal"}) {
        if (FileExists(path_ + suffix)) WriteFile(copy + suffix, ReadFile(path_ + suffix));
      }
      path_ = copy;
    }
    EXPECT_TRUE(backend_->Close());
    backend_.reset();
    Open();
  }

 private:
  void Open() {
    auto opened = OpenEmbedded(path_, world_.scheduler(),
                               {.durability = Durability::kStrict, .boot = world_.boot()});
    ASSERT_TRUE(opened) << opened.error().message;
    backend_ = *std::move(opened);
  }

  TempFolder folder_;
  SimulatedMachine& world_;
  std::string path_;
  std::unique_ptr<EmbeddedBackend> backend_;
  int copies_ = 0;
};

template <class Store>
void ExpectPromisesKept(const ClockScenario& scenario, std::uint64_t seed_step) {
  const auto make = [](SimulatedMachine& world) { return std::make_unique<Store>(world); };
  for (std::uint64_t seed = 0; seed < kClockSeeds; seed += seed_step) {
    const auto broken = SimulateClocks(seed, scenario, make);
    ASSERT_FALSE(broken) << *broken;
  }
}

// Fails if: bucket time follows the wall clock, a process has a bucket time of its own, or idle
// buckets are swept by the latest time ever seen (C3, C4).
TEST(ClockSimulation, WithinABootNoClockGivesOrTakesATokenInMemory) {
  for (const ClockFault& fault : FaultsOfClocks()) {
    ExpectPromisesKept<MemoryClockedStore>({.fault = fault}, 1);
  }
}

TEST(ClockSimulation, WithinABootNoClockGivesOrTakesATokenInAFile) {
  for (const auto* const faults : {&FaultsOfClocks(), &FaultsOfProcesses()}) {
    for (const ClockFault& fault : *faults) {
      ExpectPromisesKept<FileClockedStore>({.fault = fault}, 11);
    }
  }
}

// Fails if: a new boot refills from a stored time that is far ahead, or does not correct such a
// time.
TEST(ClockSimulation, ABootUnderAWrongClockCostsACapacityAtMost) {
  ExpectPromisesKept<FileClockedStore>({.fault = BootUnderAWrongClock(), .lag = kMaxAhead}, 5);
}

// Fails if: a new boot keeps the base of the old one, so that time goes backwards.
TEST(ClockSimulation, ABootUnderARightClockCostsNothing) {
  ExpectPromisesKept<FileClockedStore>(
      {.fault = BootUnderARightClock(), .lag = milliseconds(1000), .first_may_err = false}, 7);
}

}  // namespace
}  // namespace weir
