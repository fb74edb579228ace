// A machine whose clocks go wrong, a store on it, and what that store promises in true time. For
// tests only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/rng.h"
#include "weir/bucket/bucket.h"
#include "weir/embedded/boot_identity.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/bucket_store.h"
#include "weir/store/bucket_time.h"

namespace weir {

inline constexpr std::int64_t kClockCapacity = 100;
inline constexpr milliseconds kYears74 = std::chrono::days(74 * 365);

/// Judges each answer by two buckets in true time: what may be admitted at most, and what must be
/// admitted, which is refilled `lag` late.
class TrueTimeOracle {
 public:
  explicit TrueTimeOracle(milliseconds lag) : lag_(lag) {}

  /// `counted`: as much of it as the machine counts.
  void Pass(milliseconds truth, milliseconds counted);
  /// A boot after which bucket time begins at another value: at most one capacity more.
  void TimeStartsAnew();
  /// Nothing, or the promise that the answer breaks.
  std::optional<std::string> Judge(const Decision& decision, std::int64_t tokens);

 private:
  Meter most_ = FullMeter(PerMinute(kClockCapacity));
  Meter least_ = most_;
  milliseconds lag_;
  milliseconds owed_{0};  ///< time that has passed, and that `least_` has not been refilled for
};

/// One machine: its clocks, the truth about time, and the first promise that was broken.
class ClockWorld {
 public:
  ClockWorld(std::uint64_t seed, milliseconds lag) : rng_(seed), oracle_(lag) {}

  sim::SimClock& clock() { return scheduler_->sim_clock(); }
  sim::SimScheduler& scheduler() { return *scheduler_; }
  Rng& rng() { return rng_; }

  /// True time passes, with the wall clock as wrong as it is.
  void Pass(milliseconds time);
  void Suspend(milliseconds time, bool is_counted);
  /// The machine is off, and starts again; its wall clock has kept the time unless it is set.
  void Reboot(milliseconds off);
  /// Sets the wall clock to the truth and an error.
  void SetWall(milliseconds error) { clock().SetWall(truth_ + error); }
  BootIdentity boot() const { return {"boot-" + std::to_string(boots_), "time:[1]"}; }
  void TimeStartsAnew() { oracle_.TimeStartsAnew(); }

  void See(const Decision& decision, std::int64_t tokens);
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

/// A store with one bucket, of kClockCapacity a minute.
class ClockedStore {
 public:
  virtual ~ClockedStore() = default;
  virtual Result<Decision> Take(std::int64_t tokens) = 0;
  /// Ends the process and starts another, on the same boot or another.
  virtual void Restart(bool by_kill) = 0;
};

Charge ClockCharge(std::int64_t tokens);

/// Something that happens to a machine now and then.
struct ClockFault {
  std::string name;
  std::function<void(ClockWorld&, ClockedStore&)> strike;
};

/// Within one boot and one process.
const std::vector<ClockFault>& FaultsOfClocks();
/// Within one boot; processes come and go.
const std::vector<ClockFault>& FaultsOfProcesses();
ClockFault BootUnderAWrongClock();
ClockFault BootUnderARightClock();

struct ClockScenario {
  ClockFault fault;
  milliseconds lag{0};        ///< of what must be admitted
  bool first_may_err = true;  ///< the wall clock may be wrong when the store is opened
};

using MakeClockedStore = std::function<std::unique_ptr<ClockedStore>(ClockWorld&)>;

/// Some hundred requests. Nothing, or the first promise that was broken, with seed and step.
std::optional<std::string> SimulateClocks(std::uint64_t seed, const ClockScenario& scenario,
                                          const MakeClockedStore& make);

}  // namespace weir
