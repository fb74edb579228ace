// A machine whose clocks go wrong, a store on it, and a check of the store's promises in true time.
// For tests only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/bucket_time.h"
#include "weir/base/rng.h"
#include "weir/bucket/bucket.h"
#include "weir/embedded/boot_identity.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

inline constexpr std::int64_t kClockCapacity = 100;
inline constexpr milliseconds kYears74 = std::chrono::days(74 * 365);

/// Checks each decision against two buckets in true time: `most_` bounds the tokens that may be
/// admitted; `least_`, which is refilled `lag` late, has the tokens that must be admitted.
class TrueTimeOracle {
 public:
  explicit TrueTimeOracle(milliseconds lag) : lag_(lag) {}

  /// Advances the time by `truth`. The machine's clock counts `counted` of it.
  void Pass(milliseconds truth, milliseconds counted);
  /// Notes a boot after which bucket time begins at another value: the store may admit one more
  /// capacity.
  void OnNewTimeBase();
  /// Returns nothing, or the promise that the decision breaks.
  std::optional<std::string> Judge(const Decision& decision, std::int64_t tokens);

 private:
  Meter most_ = FullMeter(PerMinute(kClockCapacity));
  Meter least_ = most_;
  milliseconds lag_;
  milliseconds owed_{0};  ///< time that has passed, but for which `least_` was not refilled
};

/// A machine: its clocks, the true time, and the first promise that was broken.
class SimulatedMachine {
 public:
  SimulatedMachine(std::uint64_t seed, milliseconds lag) : rng_(seed), oracle_(lag) {}

  sim::SimClock& clock() { return scheduler_->sim_clock(); }
  sim::SimScheduler& scheduler() { return *scheduler_; }
  Rng& rng() { return rng_; }

  /// Lets true time pass; the wall clock keeps its error.
  void Pass(milliseconds time);
  /// Suspends the machine; `is_counted` says whether the time since boot includes the suspension.
  void Suspend(milliseconds time, bool is_counted);
  /// Turns the machine off and on. The wall clock keeps the time unless it is set.
  void Reboot(milliseconds off);
  /// Sets the wall clock to true time plus `error`.
  void SetWall(milliseconds error) { clock().SetWall(truth_ + error); }
  BootIdentity boot() const { return {"boot-" + std::to_string(boots_), "time:[1]"}; }
  void OnNewTimeBase() { oracle_.OnNewTimeBase(); }

  /// Checks a decision of the store about `tokens`.
  void See(const Decision& decision, std::int64_t tokens);
  /// Records a broken promise, if it is the first.
  void Break(std::string promise) {
    if (!broken_) broken_ = std::move(promise);
  }
  const std::optional<std::string>& broken() const { return broken_; }

 private:
  void Passed(milliseconds truth, milliseconds counted);

  std::unique_ptr<sim::SimScheduler> scheduler_ = std::make_unique<sim::SimScheduler>();
  Rng rng_;
  UnixMillis truth_ = scheduler_->clock().WallNow();
  TrueTimeOracle oracle_;
  int boots_ = 0;
  std::optional<std::string> broken_;
};

/// A store with one bucket of kClockCapacity tokens a minute.
class ClockedStore {
 public:
  virtual ~ClockedStore() = default;
  virtual Result<Decision> Take(std::int64_t tokens) = 0;
  /// Ends the process and starts another one, on the same boot or a new one.
  virtual void Restart(bool by_kill) = 0;
};

Charge ClockCharge(std::int64_t tokens);

/// An event that happens to a machine now and then.
struct ClockFault {
  std::string name;
  std::function<void(SimulatedMachine&, ClockedStore&)> strike;
};

/// Returns faults within one boot and one process.
const std::vector<ClockFault>& FaultsOfClocks();
/// Returns faults within one boot, in which processes end and start.
const std::vector<ClockFault>& FaultsOfProcesses();
ClockFault BootUnderAWrongClock();
ClockFault BootUnderARightClock();

struct ClockScenario {
  ClockFault fault;
  milliseconds lag{0};        ///< the delay of the tokens that must be admitted
  bool first_may_err = true;  ///< the wall clock may be wrong when the store is opened first
};

using MakeClockedStore = std::function<std::unique_ptr<ClockedStore>(SimulatedMachine&)>;

/// Makes a few hundred requests. Returns nothing, or the first broken promise with its seed and
/// step.
std::optional<std::string> SimulateClocks(std::uint64_t seed, const ClockScenario& scenario,
                                          const MakeClockedStore& make);

}  // namespace weir
