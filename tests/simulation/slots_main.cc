// Runs a scenario of slots under many seeds and checks each run for the properties that every run
// must have.
//
//     slots_simulation SCENARIO FIRST LAST
//
// Exits with 1 if a run violated a property, or if a fault of the scenario never happened.
#include "tests/simulation/scenario.h"
#include "tests/simulation/seed_runs.h"
#include "tests/simulation/slot_run.h"

namespace weir::simulation {
namespace {

void TellEvents(FaultReport& report, const Scenario& scenario, const EventCounts& counts) {
  const EventScenario& events = scenario.events;
  if (events.jobs == 0) return;
  report.Report("index_lag", scenario.table.longest_index_lag > nanoseconds(0) ? 1 : 0,
                counts.late_indexes);
  report.Report("daemon_crash", events.crash, counts.crashes);
  report.Report("daemon_stop", events.stop, counts.stops);
  report.Report("queue_refuse", events.queue.refuse, counts.queue.refused);
  report.Report("queue_lose_answer", events.queue.lose_response, counts.queue.lost_responses);
  report.Report("event_duplicate", events.queue.duplicate, counts.queue.duplicates);
  report.Report("event_delay", events.queue.longest_delay > nanoseconds(0) ? 1 : 0,
                counts.queue.reordered);
  report.Report("ends", 1, counts.ends);
  report.Report("free within 10 s", 1, counts.measured);
}

/// Reports the faults. Returns false if a fault of the scenario never happened.
bool Tell(const Scenario& scenario, const SlotCounts& counts) {
  FaultReport report;
  TellFaults(report, scenario, counts.faults);
  report.Report("reorder", scenario.network.longest_trip > nanoseconds(0) ? 1 : 0,
                counts.faults.network.reordered);
  report.Report("admitted", 1, counts.admitted);
  report.Report("refused", 1, counts.refused);
  report.Report("crashes", 1, counts.crashes);
  TellEvents(report, scenario, counts.events);
  return report.complete();
}

}  // namespace
}  // namespace weir::simulation

int main(int argc, char** argv) {
  using namespace weir::simulation;
  return RunSeeds(
      ReadArguments(argc, argv),
      Simulation<Scenario, SlotCounts>{.parse = ParseScenario, .run = RunSlots, .tell = Tell});
}
