// Incidents of a whole fleet during a run: processes that die, outages, clocks that jump, items
// that expire.
#pragma once

#include <cstdint>

#include "tests/simulation/scenario.h"
#include "weir/zae_table/testing/fleet_workload_fixture.h"

namespace weir::simulation {

struct IncidentCounts {
  std::uint64_t deaths = 0;
  std::uint64_t cut_short = 0;  ///< calls without a result because their process died
  std::uint64_t stops = 0;
  std::uint64_t held_up = 0;  ///< calls that were in flight in a process that stopped
  std::uint64_t outages = 0;
  std::uint64_t jumps_ahead = 0;
  std::uint64_t jumps_behind = 0;
  std::uint64_t swept = 0;  ///< expired items that were deleted
};

/// Schedules the incidents of one run. Fleet and workload must outlive it, and it must outlive the
/// run.
class FleetIncidents {
 public:
  FleetIncidents(const Scenario& scenario, dynamo::Fleet& fleet, dynamo::FleetWorkload& workload,
                 std::uint64_t seed);
  const IncidentCounts& counts() const { return counts_; }

 private:
  // Schedules the incident at `times` instants of the run.
  template <class Incident>
  void AtDrawnInstants(int times, Incident incident);
  dynamo::FleetProcess& DrawProcess();
  void Die();
  void Stop();
  void BreakDown();
  void Recover();
  void Jump();
  void Sweep();

  const Scenario& scenario_;
  dynamo::Fleet& fleet_;
  dynamo::FleetWorkload& workload_;
  Rng rng_;
  int broken_down_ = 0;  // outages that have begun and not ended
  IncidentCounts counts_;
};

IncidentCounts& operator+=(IncidentCounts& sum, const IncidentCounts& other);
/// Reports the incidents that the scenario has.
void TellIncidents(FaultReport& report, const Scenario& scenario, const IncidentCounts& counts);

}  // namespace weir::simulation
