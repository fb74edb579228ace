// A scenario: the parameters of a run that a text file sets. The seed draws everything else.
#pragma once

#include <string>
#include <string_view>

#include "tests/simulation/seed_runs.h"
#include "weir/base/result.h"
#include "weir/events/testing/scripted_queue_fixture.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/sim_network.h"

namespace weir::simulation {

/// Resources that end while slots are bound to them, and the daemons that read of their ends.
struct EventScenario {
  int jobs = 0;      ///< resources of Weir's clients at a time; 0: no resources and no daemon
  int foreign = 0;   ///< resources of rate-limiter-py's clients, in total
  double crash = 0;  ///< the probability that the daemon crashes, per second
  double stop = 0;   ///< the probability that the daemon stops gracefully, per second
  QueueFaults queue;
};

/// The bounds on the results of a fleet's calls (LedgerTerms) and on their cost.
struct CallBounds {
  int charges = 51;
  int plain_charges = 1;
  int refused_charges = 0;
  nanoseconds late{0};
  double requests = 1'000;     ///< per call, on average over a run
  double write_units = 1'000;  ///< per call, on average over a run
};

/// Incidents at instants that the seed draws.
struct IncidentScenario {
  int deaths = 0;  ///< how often a process dies, and another one replaces it
  int stops = 0;   ///< how often a process stops, for `stop`
  nanoseconds stop{0};
  int outages = 0;  ///< during `outage`, each write is applied and fails
  nanoseconds outage{0};
  int jumps = 0;  ///< how often a process's clock jumps, to at most `jump` ahead or behind
  nanoseconds jump{0};
  nanoseconds sweep{0};  ///< the interval at which expired items are deleted; 0: never
  nanoseconds lull{0};   ///< see WorkloadOdds
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
  milliseconds skew{0};         ///< how far the first process's clock is ahead
  bool exact = false;           ///< no call may fail
  std::int64_t writes = 1'000;  ///< per second on one item, before its bucket is divided
  sim::NetworkFaults network;
  sim::DynamoFaults table;
  EventScenario events;
  CallBounds bounds;
  IncidentScenario incidents;
  PeerScenario peers;
  NamesScenario names;
  bool only_probes = false;  ///< see WorkloadOdds
  double hasty = 0;          ///< the fraction of calls with 40 to 400 ms instead of 3 s
};

/// The sums of all runs.
struct FaultCounts {
  sim::NetworkCounts network;
  std::uint64_t table_throttled = 0;
  std::uint64_t table_conflicts = 0;
  std::uint64_t throttled_ranges = 0;
  std::uint64_t throttled_indexes = 0;
  std::uint64_t wrong_checksums = 0;

  void Add(const sim::NetworkCounts& of_network, const sim::DynamoCounts& of_table);
};
/// Reports the faults that the scenario has.
void TellFaults(FaultReport& report, const Scenario& scenario, const FaultCounts& counts);

/// Parses the format of scenario_text.h.
[[nodiscard]] Result<Scenario> ParseScenario(std::string_view text);

}  // namespace weir::simulation
