// Jobs that end, the queue of their events, and daemons that crash, stop and start again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/simulation/event_daemon.h"
#include "tests/simulation/job_clients.h"

namespace weir::simulation {

/// A period in which slots are not expected to be free soon. Both ends belong to it.
struct Trouble {
  UnixMillis from;
  UnixMillis to;
};

/// After the run, daemons crash and faults come and go for 150 seconds more; the last clients bind
/// in this time. Then one daemon runs alone for as long as the longest visibility timeout and all
/// its requests take.
class SlotEvents {
 public:
  /// The simulated world. All of it must outlive this.
  struct EventsWorld {
    sim::SimScheduler& scheduler;
    sim::SimDynamo& server;
    const rate_limiter_py::TableNames& names;
    const dynamo::TableLayout& layout;
    SlotHistory& history;
  };
  SlotEvents(const EventsWorld& around, const Scenario& scenario, std::uint64_t seed, EventBug bug);
  ~SlotEvents();

  void Run();

  const std::vector<JobEnd>& ends() const { return jobs_.ends(); }
  const ScriptedQueue& queue() const { return queue_; }
  /// Returns the periods with faults or without a daemon, extended by the delays that they cause.
  const std::vector<Trouble>& troubles() const { return troubles_; }
  sim::NetworkCounts CountFaults() const;
  milliseconds index_lag() const {
    return std::chrono::ceil<milliseconds>(scenario_.table.longest_index_lag);
  }
  int crashes() const { return crashes_; }
  int stops() const { return stops_; }

 private:
  // Runs every second: changes faults and daemons by chance.
  void Tick();
  void SetFaults(bool on);
  void StartDaemon();
  void Crash();
  void Stop();
  // Cuts the daemon off and schedules the next one.
  void Retire(milliseconds down);
  UnixMillis Wall() const { return world_.scheduler.clock().WallNow(); }

  const Scenario scenario_;
  Rng rng_;
  ScriptedQueue queue_;
  const EventWorld world_;
  const EventBug bug_;
  JobClients jobs_;
  Instant end_;  ///< the end of crashes and faults
  bool faults_on_ = false;
  UnixMillis faults_since_;
  UnixMillis down_since_;
  Instant back_;  ///< the time at which the next daemon starts, if none runs
  bool stopping_ = false;
  std::unique_ptr<EventDaemon> daemon_;
  std::vector<std::unique_ptr<EventDaemon>> dead_;
  std::vector<Trouble> troubles_;
  int crashes_ = 0;
  int stops_ = 0;
};

}  // namespace weir::simulation
