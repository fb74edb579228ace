// A simulated fleet whose hosts have wrong wall clocks, and a client of zae-limiter on the same
// bucket, which dates its writes by a wrong clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "weir/dynamo/fleet_fixture.h"
#include "weir/telemetry/recording_log_fixture.h"

namespace weir::dynamo {

/// The scheduler of a machine whose wall clock is wrong by a fixed span.
class WrongClockScheduler final : public Scheduler {
 public:
  WrongClockScheduler(Scheduler& scheduler, milliseconds error)
      : scheduler_(scheduler), clock_(scheduler.clock(), error) {}
  const Clock& clock() const override { return clock_; }
  void Post(Task task) override { scheduler_.Post(std::move(task)); }
  TimerId At(Instant when, Task task) override { return scheduler_.At(when, std::move(task)); }
  bool Cancel(TimerId id) override { return scheduler_.Cancel(id); }

 private:
  class WrongClock final : public Clock {
   public:
    WrongClock(const Clock& clock, milliseconds error) : clock_(clock), error_(error) {}
    Instant Now() const override { return clock_.Now(); }
    UnixMillis WallNow() const override { return clock_.WallNow() + error_; }
    nanoseconds BootNow() const override { return clock_.BootNow(); }

   private:
    const Clock& clock_;
    milliseconds error_;
  };

  Scheduler& scheduler_;
  WrongClock clock_;
};

/// A bug of all hosts: it changes the bodies of their requests and of the responses to them. `now`
/// is the true time.
struct PlantedClockBug {
  std::string name;
  std::function<void(nlohmann::json& body, UnixMillis now)> request;
  std::function<void(nlohmann::json& body, UnixMillis now)> response;
};

/// A server that dates its responses by the true time.
class DatedServer final : public sim::SimServer {
 public:
  DatedServer(sim::SimServer& server, const Clock& truth, PlantedClockBug bug)
      : server_(server), truth_(truth), bug_(std::move(bug)) {}
  HttpResponse Handle(const HttpRequest& request) override;

 private:
  sim::SimServer& server_;
  const Clock& truth_;
  PlantedClockBug bug_;
};

struct ClockFleetTerms {
  std::vector<milliseconds> hosts;  ///< error of each one's wall clock
  milliseconds foreign{0};          ///< error of the client of zae-limiter
  sim::NetworkFaults faults{};
  PlantedClockBug bug{};
};

/// The client of zae-limiter writes on the bucket meanwhile, and not before or after.
struct AliveSpan {
  UnixMillis from;
  UnixMillis to;
};

struct RefusedTake {
  UnixMillis asked;
  UnixMillis answered;
  std::int64_t tokens = 0;  ///< millitokens
};

/// The events of a run. All times are true ones.
struct ClockFleetRecord {
  std::vector<sim::StreamRecord> stream;  ///< of the bucket's item
  std::vector<AliveSpan> alive;
  std::vector<RefusedTake> refused;  ///< that were answered within a second, and not as contended
  milliseconds worst_time{0};        ///< the greatest error of a host's T
  int admitted = 0;
  int failed = 0;
  int unanswered = 0;
  std::size_t reported = 0;  ///< events "clock.stored_time_ahead"
  sim::NetworkCounts met;    ///< faults of the hosts' networks
};

/// 100 tokens, 100 a minute.
const Quota& ClockFleetQuota();

/// Every host asks for a few tokens every few seconds, altogether for more than the limit gives,
/// and rests for more than a minute now and then, except the first. The client of zae-limiter is
/// alive for some minutes, once or twice, and moves `rf` at least every 20 s.
ClockFleetRecord RunClockFleet(std::uint64_t seed, const ClockFleetTerms& terms);

}  // namespace weir::dynamo
