#include "tests/simulation/fleet_incidents.h"

namespace weir::simulation {

using dynamo::FleetProcess;

FleetIncidents::FleetIncidents(const Scenario& scenario, dynamo::Fleet& fleet,
                               dynamo::FleetWorkload& workload, std::uint64_t seed)
    : scenario_(scenario), fleet_(fleet), workload_(workload), rng_(~seed) {
  const IncidentScenario& odds = scenario.incidents;
  AtDrawnInstants(odds.deaths, [this] { Die(); });
  AtDrawnInstants(odds.stops, [this] { Stop(); });
  AtDrawnInstants(odds.outages, [this] { BreakDown(); });
  AtDrawnInstants(odds.jumps, [this] { Jump(); });
  if (odds.sweep > nanoseconds(0)) {
    fleet_.EnableTtl();
    Sweep();
  }
}

template <class Incident>
void FleetIncidents::AtDrawnInstants(int times, Incident incident) {
  const Instant now = fleet_.scheduler().clock().Now();
  for (; times > 0; --times) {
    const nanoseconds wait(rng_.Between(0, (workload_.end() - now).count()));
    fleet_.scheduler().At(now + wait, incident);
  }
}

FleetProcess& FleetIncidents::DrawProcess() {
  const auto& processes = fleet_.processes();
  while (true) {
    FleetProcess& process = *processes[rng_.Below(processes.size())];
    if (!process.is_dead()) return process;
  }
}

// A new process with empty caches replaces the dead one.
void FleetIncidents::Die() {
  FleetProcess& process = DrawProcess();
  ++counts_.deaths;
  counts_.cut_short += workload_.ledger().CountOpen(process);
  process.Die();
  FleetProcess& heir = fleet_.Join();
  heir.network().faults = scenario_.network;
  workload_.Start(heir);
}

void FleetIncidents::Stop() {
  FleetProcess& process = DrawProcess();
  ++counts_.stops;
  counts_.held_up += workload_.ledger().CountOpen(process);
  process.StopUntil(fleet_.scheduler().clock().Now() + scenario_.incidents.stop);
}

// Outages may overlap: the faults end with the last of them.
void FleetIncidents::BreakDown() {
  ++counts_.outages;
  ++broken_down_;
  for (const auto& process : fleet_.processes()) {
    if (process->is_dead()) continue;
    sim::NetworkFaults faults = scenario_.network;
    faults.fail_after = 1;
    faults.only_writes = true;
    process->network().faults = faults;
  }
  auto& scheduler = fleet_.scheduler();
  scheduler.At(scheduler.clock().Now() + scenario_.incidents.outage, [this] { Recover(); });
}

void FleetIncidents::Recover() {
  if (--broken_down_ > 0) return;
  for (const auto& process : fleet_.processes()) {
    if (!process->is_dead()) process->network().faults = scenario_.network;
  }
}

void FleetIncidents::Jump() {
  const auto most = std::chrono::duration_cast<milliseconds>(scenario_.incidents.jump).count();
  const milliseconds skew(rng_.Between(-most, most));
  ++(skew < milliseconds(0) ? counts_.jumps_behind : counts_.jumps_ahead);
  DrawProcess().SetSkew(skew);
}

void FleetIncidents::Sweep() {
  counts_.swept += fleet_.server().SweepTtl();
  auto& scheduler = fleet_.scheduler();
  if (scheduler.clock().Now() >= workload_.end()) return;
  scheduler.At(scheduler.clock().Now() + scenario_.incidents.sweep, [this] { Sweep(); });
}

IncidentCounts& operator+=(IncidentCounts& sum, const IncidentCounts& other) {
  sum.deaths += other.deaths;
  sum.cut_short += other.cut_short;
  sum.stops += other.stops;
  sum.held_up += other.held_up;
  sum.outages += other.outages;
  sum.jumps_ahead += other.jumps_ahead;
  sum.jumps_behind += other.jumps_behind;
  sum.swept += other.swept;
  return sum;
}

void TellIncidents(FaultReport& report, const Scenario& scenario, const IncidentCounts& counts) {
  const IncidentScenario& odds = scenario.incidents;
  report.Report("deaths", odds.deaths, counts.deaths);
  report.Report("calls cut short", odds.deaths, counts.cut_short);
  report.Report("stops", odds.stops, counts.stops);
  report.Report("calls held up", odds.stops, counts.held_up);
  report.Report("outages", odds.outages, counts.outages);
  report.Report("jumps ahead", odds.jumps, counts.jumps_ahead);
  report.Report("jumps behind", odds.jumps, counts.jumps_behind);
  report.Report("items swept", odds.sweep > nanoseconds(0) ? 1 : 0, counts.swept);
}

}  // namespace weir::simulation
