// Bucket time under clocks that go wrong, on memory and in a file, against reference buckets in
// true time. The seed of a failure is in its message.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "weir/base/rng.h"
#include "weir/embedded/embedded_fixture.h"
#include "weir/store/memory_backend.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr std::int64_t kClockCapacity = 100;
constexpr milliseconds kYears74 = std::chrono::days(74 * 365);
constexpr std::uint64_t kSeeds = 60;
constexpr int kSteps = 400;

/// A limit in true time: what the store may have admitted at most, or admits at least.
class ReferenceBucket {
 public:
  void Pass(milliseconds time) { Refill(meter_, time.count()); }
  bool Covers(std::int64_t tokens) const { return meter_.tokens >= tokens * kMillitokens; }
  void Take(std::int64_t tokens) { Debit(meter_, tokens * kMillitokens); }
  void BecomeFull() { meter_ = FullMeter(meter_.quota); }
  void BecomeEmpty() { meter_.tokens = std::min<std::int64_t>(meter_.tokens, 0); }
  std::int64_t tokens() const { return meter_.tokens; }

 private:
  Meter meter_ = FullMeter(PerMinute(kClockCapacity));
};

/// One machine: its clocks, the truth about time, and what was admitted.
class ClockWorld {
 public:
  explicit ClockWorld(std::uint64_t seed) : rng_(seed) {}

  sim::SimClock& clock() { return scheduler_->sim_clock(); }
  sim::SimScheduler& scheduler() { return *scheduler_; }
  Rng& rng() { return rng_; }

  /// True time passes, with the wall clock as wrong as it is.
  void Pass(milliseconds time) {
    scheduler_->Advance(time);
    Passed(time, time);
  }
  void Suspend(milliseconds time, bool is_counted) {
    clock().Suspend(time, is_counted);
    Passed(time, is_counted ? time : milliseconds(0));
  }
  /// The machine is off, and starts again; its wall clock has kept the time unless it is set.
  void Reboot(milliseconds off) {
    clock().Suspend(off, /*is_counted=*/false);
    clock().Reboot();
    Passed(off, milliseconds(0));
    ++boots_;
  }
  /// Sets the wall clock to the truth and an error.
  void SetWall(milliseconds error) { clock().SetWall(truth_ + error); }
  BootIdentity boot() const { return {"boot-" + std::to_string(boots_), "time:[1]"}; }

  /// A boot after which T is not what it was: at most a capacity more, and a new beginning for what
  /// is admitted at least.
  void TimeStartsAnew() {
    upper_.BecomeFull();
    lower_.BecomeEmpty();
  }
  void Decided(const Decision& decision, std::int64_t tokens, std::uint64_t seed, int step) {
    const std::string where = "seed " + std::to_string(seed) + ", step " + std::to_string(step);
    if (decision.admitted) {
      ASSERT_TRUE(upper_.Covers(tokens)) << where << ": more than capacity + rate * t";
      upper_.Take(tokens);
      lower_.Take(tokens);
    } else if (lower_.Covers(tokens)) {
      ASSERT_LE(decision.retry_after, kMostAhead) << where << ": refused for longer than a minute";
    }
  }

 private:
  void Passed(milliseconds truth, milliseconds counted) {
    truth_ = truth_ + truth;
    upper_.Pass(truth);
    lower_.Pass(counted);
  }

  std::unique_ptr<sim::SimScheduler> scheduler_ = std::make_unique<sim::SimScheduler>();
  Rng rng_;
  UnixMillis truth_ = scheduler_->clock().WallNow();
  ReferenceBucket upper_;
  ReferenceBucket lower_;
  int boots_ = 0;
};

// What each store does here.
class ClockedStore {
 public:
  virtual ~ClockedStore() = default;
  virtual Result<Decision> Take(std::int64_t tokens) = 0;
  /// Ends the process and starts another, on the same boot or another.
  virtual void Restart(bool by_kill) = 0;
  virtual bool KeepsAcrossBoots() const = 0;
};

Charge TakeOf(std::int64_t tokens) {
  static const TargetPtr target =
      MakeTarget({.entity = "acme", .resource = "llm"}, {{"rpm", PerMinute(kClockCapacity)}});
  return {target, {tokens * kMillitokens}};
}

class MemoryClockedStore final : public ClockedStore {
 public:
  explicit MemoryClockedStore(ClockWorld& world)
      : backend_(MakeMemoryBackend({}, &world.clock())) {}

  Result<Decision> Take(std::int64_t tokens) override {
    std::optional<Result<Decision>> answer;
    const Charge charge = TakeOf(tokens);
    BucketStore& store = backend_->buckets();
    store.Acquire({&charge, 1}, store.Now(), Deadline::Never(),
                  [&](Result<Decision> decision) { answer.emplace(std::move(decision)); });
    return **std::move(answer);
  }
  void Restart(bool) override {}
  bool KeepsAcrossBoots() const override { return false; }

 private:
  std::unique_ptr<Backend> backend_;
};

class FileClockedStore final : public ClockedStore {
 public:
  explicit FileClockedStore(ClockWorld& world) : world_(world), path_(folder_ / "weir.db") {
    Open();
  }

  Result<Decision> Take(std::int64_t tokens) override {
    std::optional<Result<Decision>> answer;
    const Charge charge = TakeOf(tokens);
    BucketStore& store = backend_->buckets();
    store.Acquire({&charge, 1}, store.Now(), Deadline::Never(),
                  [&](Result<Decision> decision) { answer.emplace(std::move(decision)); });
    // The truth must not pass unseen: a strict commit is due at once.
    while (!answer) world_.scheduler().RunReady();
    return **std::move(answer);
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
  bool KeepsAcrossBoots() const override { return true; }

 private:
  void Open() {
    auto opened = OpenEmbedded(path_, world_.scheduler(),
                               {.durability = Durability::kStrict, .boot = world_.boot()});
    ASSERT_TRUE(opened) << opened.error().message;
    backend_ = *std::move(opened);
  }

  TempFolder folder_;
  ClockWorld& world_;
  std::string path_;
  std::unique_ptr<EmbeddedBackend> backend_;
  int copies_ = 0;
};

using ClockFault = std::function<void(ClockWorld&, ClockedStore&)>;

void TakeSome(ClockWorld& world, ClockedStore& store, std::uint64_t seed, int step) {
  const auto tokens = static_cast<std::int64_t>(1 + world.rng().Below(kClockCapacity));
  const auto decision = store.Take(tokens);
  ASSERT_TRUE(decision) << decision.error().message;
  world.Decided(*decision, tokens, seed, step);
}

// Each is a row of what may happen to a machine's clocks.
const std::vector<std::pair<std::string, ClockFault>> kClockFaults = {
    {"none", [](ClockWorld&, ClockedStore&) {}},
    {"jumps of an hour both ways",
     [](ClockWorld& world, ClockedStore&) {
       world.SetWall(world.rng().Below(2) == 0 ? hours(1) : hours(-1));
     }},
    {"74 years for one reading",
     [](ClockWorld& world, ClockedStore& store) {
       world.SetWall(kYears74);
       (void)store;
       TakeSome(world, store, 0, -1);
       world.SetWall({});
     }},
    {"74 years for 15 s",
     [](ClockWorld& world, ClockedStore& store) {
       world.SetWall(kYears74);
       for (int i = 0; i < 15; ++i) {
         world.Pass(seconds(1));
         TakeSome(world, store, 0, i);
       }
       world.SetWall({});
     }},
    {"a sawtooth of half a second",
     [](ClockWorld& world, ClockedStore&) {
       world.SetWall(milliseconds(static_cast<std::int64_t>(world.rng().Below(1000)) - 500));
     }},
    {"suspensions that B counts",
     [](ClockWorld& world, ClockedStore&) { world.Suspend(hours(1), /*is_counted=*/true); }},
    {"suspensions that B does not count",
     [](ClockWorld& world, ClockedStore&) { world.Suspend(hours(1), /*is_counted=*/false); }},
    {"a kill within 10 s of a step",
     [](ClockWorld& world, ClockedStore& store) {
       world.SetWall(world.rng().Below(2) == 0 ? hours(1) : hours(-1));
       world.Pass(seconds(world.rng().Below(10)));
       store.Restart(/*by_kill=*/true);
     }},
    {"one-shot processes under a wild clock",
     [](ClockWorld& world, ClockedStore& store) {
       world.SetWall(hours(static_cast<std::int64_t>(world.rng().Below(200)) - 100));
       store.Restart(/*by_kill=*/false);
     }},
    {"idle while the clock is behind",  // C3: an idle file forgot buckets that were not full
     [](ClockWorld& world, ClockedStore&) {
       world.SetWall(hours(-1));
       world.Pass(seconds(3));
     }},
};

void Simulate(std::uint64_t seed, const ClockFault& fault,
              const std::function<std::unique_ptr<ClockedStore>(ClockWorld&)>& make) {
  ClockWorld world(seed);
  // The first reading may be wrong, and be right later.
  if (seed % 3 == 1) world.SetWall(kYears74);
  if (seed % 3 == 2) world.SetWall(-kYears74 / 2);
  const auto store = make(world);
  if (seed % 2 == 0) world.SetWall({});
  for (int step = 0; step < kSteps && !testing::Test::HasFatalFailure(); ++step) {
    if (world.rng().Below(10) == 0) fault(world, *store);
    world.Pass(milliseconds(world.rng().Below(2'000)));
    TakeSome(world, *store, seed, step);
  }
}

// Fails if: T follows the wall clock, a process has a T of its own, or idle buckets are swept by
// the latest time ever seen (C3, C4).
TEST(ClockSimulation, WithinABootNoClockGivesOrTakesATokenInMemory) {
  for (const auto& [name, fault] : kClockFaults) {
    SCOPED_TRACE(name);
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      Simulate(seed, fault,
               [](ClockWorld& world) { return std::make_unique<MemoryClockedStore>(world); });
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ClockSimulation, WithinABootNoClockGivesOrTakesATokenInAFile) {
  for (const auto& [name, fault] : kClockFaults) {
    SCOPED_TRACE(name);
    for (std::uint64_t seed = 0; seed < kSeeds / 10; ++seed) {
      Simulate(seed, fault,
               [](ClockWorld& world) { return std::make_unique<FileClockedStore>(world); });
      if (HasFatalFailure()) return;
    }
  }
}

// Fails if: a new boot keeps the base of the old one, refills by a stored time that is far ahead,
// or leaves such a time as it is.
TEST(ClockSimulation, ABootUnderAWrongClockCostsACapacityAtMost) {
  const ClockFault boot = [](ClockWorld& world, ClockedStore& store) {
    world.Reboot(seconds(world.rng().Below(600)));
    const std::uint64_t kind = world.rng().Below(4);
    if (kind == 1) world.SetWall(kYears74);
    if (kind == 2) world.SetWall(-kYears74 / 2);
    if (kind == 3) world.SetWall(hours(static_cast<std::int64_t>(world.rng().Below(48)) - 24));
    world.TimeStartsAnew();
    store.Restart(world.rng().Below(2) == 0);
    world.SetWall({});
  };
  for (std::uint64_t seed = 0; seed < kSeeds / 4; ++seed) {
    Simulate(seed, boot,
             [](ClockWorld& world) { return std::make_unique<FileClockedStore>(world); });
    if (HasFatalFailure()) return;
  }
}

// Fails if: a boot with a clock that was and is right costs anything but its own time.
TEST(ClockSimulation, ABootUnderARightClockCostsNothing) {
  const ClockFault boot = [](ClockWorld& world, ClockedStore& store) {
    world.Reboot(seconds(world.rng().Below(600)));
    store.Restart(world.rng().Below(2) == 0);
  };
  for (std::uint64_t seed = 0; seed < kSeeds; seed += 6) {
    Simulate(seed, boot, [](ClockWorld& world) {
      world.SetWall({});
      return std::make_unique<FileClockedStore>(world);
    });
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace weir
