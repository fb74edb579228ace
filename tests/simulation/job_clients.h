// Clients whose jobs hold slots: they claim, bind and end. Each end is an event in the queue.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/event_daemon.h"
#include "tests/simulation/slot_fleet.h"
#include "weir/base/rng.h"
#include "weir/dynamodb/testing/sim_table.h"

namespace weir::simulation {

inline constexpr char kJobs[] = "jobs";  ///< the limited resource that jobs use
/// The latest binding of a rate-limiter-py client after the end. The daemons retry up to 156
/// seconds after it.
inline constexpr std::chrono::seconds kLatestForeignBinding{140};

/// The end of a job. Jobs of the same name end at least two seconds apart.
struct JobEnd {
  std::string job;
  UnixMillis at;
  std::string event;
};

class JobClients {
 public:
  /// The arguments must outlive this.
  JobClients(const EventWorld& world, const dynamo::TableLayout& layout, SlotHistory& history,
             std::uint64_t seed);
  // Begins jobs until `end`.
  void Begin(const EventScenario& scenario, Instant end);

  sim::SimTransport& network() { return process_.network(); }
  const sim::NetworkCounts& faults_met() const { return process_.network().counts(); }
  const std::vector<JobEnd>& ends() const { return ends_; }

 private:
  void BeginJob(int number);
  void End(const std::string& job);
  void Claim(const std::string& job, milliseconds wait, int tries);
  void Bind(const SlotRef& slot, const std::string& job, int tries);
  // Schedules the binding and the end of a job of rate-limiter-py's client.
  void BeginForeign(int number, nanoseconds until_end);
  void BindForeign(const std::string& id, const std::string& job);
  Instant In(nanoseconds wait) const { return world_.scheduler.clock().Now() + wait; }
  UnixMillis Wall() const { return world_.scheduler.clock().WallNow(); }
  milliseconds Between(std::int64_t least, std::int64_t most) {
    return milliseconds(rng_.Between(least, most));
  }

  const EventWorld world_;
  SlotHistory& history_;
  Rng rng_;
  dynamo::SimProcess process_;
  dynamo::Table table_;
  rate_limiter_py::SlotStore store_;
  dynamo::DirectClient direct_;
  dynamo::Table foreign_table_;
  Instant end_;
  std::vector<JobEnd> ends_;
};

}  // namespace weir::simulation
