// A scenario: what a text file fixes of a run; the seed draws the rest.
#pragma once

#include <string>
#include <string_view>

#include "tests/simulation/seed_runs.h"
#include "weir/base/result.h"
#include "weir/events/scripted_queue_fixture.h"
#include "weir/sim/sim_dynamo.h"
#include "weir/sim/sim_network.h"

namespace weir::simulation {

/// Of resources that end while slots are bound to them, and of the daemons that read of it.
struct EventScenario {
  int jobs = 0;      ///< resources of Weir's clients at a time; 0: none, and no daemon
  int foreign = 0;   ///< resources of rate-limiter-py's clients, in all
  double crash = 0;  ///< of the daemon, in each second
  double stop = 0;   ///< of the daemon, gracefully, in each second
  QueueFaults queue;
};

/// What the calls of a fleet may come to: LedgerTerms, and what they may cost.
struct CallBounds {
  int charges = 51;
  int plain_charges = 1;
  int refused_charges = 0;
  nanoseconds late{0};
  double requests = 1'000;     ///< of a call, on average over a run
  double write_units = 1'000;  ///< the same
};

/// What happens to the fleet at instants that the seed draws.
struct IncidentScenario {
  int deaths = 0;  ///< of a process, which another one replaces
  int stops = 0;   ///< of a process, for `stop`
  nanoseconds stop{0};
  int outages = 0;  ///< in which each write is applied and fails, for `outage`
  nanoseconds outage{0};
  int jumps = 0;  ///< of a process's clock, to at most `jump` ahead or behind
  nanoseconds jump{0};
  nanoseconds sweep{0};  ///< what has expired is deleted so often; 0: never
  nanoseconds lull{0};   ///< WorkloadOdds
};

/// Clients of zae-limiter on the same table (dynamo::PeerOdds).
struct PeerScenario {
  int clients = 0;
  nanoseconds sync{0};        ///< between two changes of the limits; 0: none
  nanoseconds aggregator{0};  ///< between two batches of the stream; 0: none
};

/// Buckets whose limits change, leave and rejoin (dynamo::NamesTerms).
struct NamesScenario {
  std::size_t names = 0;  ///< 0: there are no such buckets
  nanoseconds stalest = milliseconds(600);
};

struct Scenario {
  int processes = 1;
  nanoseconds run = std::chrono::seconds(2);
  milliseconds skew{0};         ///< the first process is ahead by so much
  bool exact = false;           ///< nothing may fail, and what is told is what was taken
  std::int64_t writes = 1'000;  ///< a second on one item, before its bucket is divided
  sim::NetworkFaults network;
  sim::DynamoFaults table;
  EventScenario events;
  CallBounds bounds;
  IncidentScenario incidents;
  PeerScenario peers;
  NamesScenario names;
  bool only_probes = false;  ///< WorkloadOdds
  double hasty = 0;          ///< part of the calls that have 40 to 400 ms, not 3 s
};

/// Of all runs.
struct FaultCounts {
  sim::NetworkCounts network;
  std::uint64_t table_throttled = 0;
  std::uint64_t table_conflicts = 0;
  std::uint64_t throttled_ranges = 0;
  std::uint64_t throttled_indexes = 0;
  std::uint64_t wrong_checksums = 0;

  void Add(const sim::NetworkCounts& of_network, const sim::DynamoCounts& of_table);
};
/// Those that the scenario asks for.
void TellFaults(FaultReport& report, const Scenario& scenario, const FaultCounts& counts);

/// The format: scenario_text.h.
[[nodiscard]] Result<Scenario> ParseScenario(std::string_view text);

}  // namespace weir::simulation
