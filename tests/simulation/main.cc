// Runs a scenario under many seeds and checks each run for the properties that every run must have.
//
//     fleet_simulation SCENARIO FIRST LAST
//
// Exits with 1 if a run violated a property, or if a fault of the scenario never happened.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "tests/simulation/fleet_incidents.h"
#include "tests/simulation/scenario.h"
#include "tests/simulation/seed_runs.h"
#include "weir/zae_table/actor/batch_choice.h"
#include "weir/zae_table/testing/fleet_names_fixture.h"
#include "weir/zae_table/testing/fleet_oracle_fixture.h"
#include "weir/zae_table/testing/fleet_peers_fixture.h"
#include "weir/zae_table/testing/fleet_ttl_fixture.h"
#include "weir/zae_table/testing/fleet_workload_fixture.h"

namespace weir::simulation {
namespace {

using dynamo::Fleet;
using dynamo::FleetPeers;
using dynamo::FleetTally;
using dynamo::FleetWorkload;

constexpr std::uint64_t kSeedOfNames = 0x9e37'79b9'7f4a'7c15;

struct Counts {
  FaultCounts faults;
  IncidentCounts incidents;
  dynamo::PeerCounts peers;
  dynamo::NamesTally names;
  std::uint64_t table_unprocessed = 0;
  std::int64_t admitted = 0;
  std::int64_t denied = 0;
  std::uint64_t divisions = 0;
  std::uint64_t repeated = 0;
  std::uint64_t probed = 0;
  std::int64_t doubtful = 0;
  dynamo::LedgerFindings most{};  ///< the maximum of all runs
  double requests = 0;            ///< per call, the maximum of all runs
  double write_units = 0;         ///< per call, the maximum of all runs
};

double PerCall(double all, const FleetWorkload& workload) {
  return all / static_cast<double>(std::max<std::size_t>(workload.ledger().calls().size(), 1));
}

void NoteMost(const dynamo::LedgerFindings& findings, dynamo::LedgerFindings& most) {
  most.charges = std::max(most.charges, findings.charges);
  most.plain_charges = std::max(most.plain_charges, findings.plain_charges);
  most.refused_charges = std::max(most.refused_charges, findings.refused_charges);
  most.late = std::max(most.late, findings.late);
}

void Count(const Fleet& fleet, const FleetWorkload& workload, Counts& counts) {
  const FleetTally& tally = workload.tally();
  counts.admitted += tally.admitted;
  counts.denied += tally.refused;
  counts.doubtful += tally.doubtful;
  counts.repeated += static_cast<std::uint64_t>(tally.repeated);
  counts.probed += static_cast<std::uint64_t>(tally.probed);
  const sim::DynamoCounts& of_table = fleet.server().counts();
  const auto requests = static_cast<double>(of_table.AllRequests());
  counts.requests = std::max(counts.requests, PerCall(requests, workload));
  counts.write_units = std::max(counts.write_units, PerCall(of_table.write_units, workload));

  counts.faults.Add(fleet.CountFaults(), fleet.server().counts());
  counts.table_unprocessed += fleet.server().counts().unprocessed;
  counts.divisions += fleet.ReadDivisions().size();
}

/// Returns the largest delay from the date of a write to the instant at which it counts.
milliseconds Slack(const Scenario& scenario) {
  const sim::NetworkFaults& network = scenario.network;
  const nanoseconds trips = 2 * network.longest_trip + network.longest_stray + network.longest_tail;
  // From a clock that is behind to one that is ahead.
  const auto jumps = std::chrono::duration_cast<milliseconds>(2 * scenario.incidents.jump);
  if (trips == nanoseconds(0)) return scenario.skew + jumps;
  return scenario.skew + jumps + dynamo::kDatedAgainAfter +
         std::chrono::duration_cast<milliseconds>(trips);
}

void CheckCosts(const Scenario& scenario, const Fleet& fleet, const FleetWorkload& workload,
                std::vector<std::string>& broken) {
  const sim::DynamoCounts& counts = fleet.server().counts();
  const double requests = PerCall(static_cast<double>(counts.AllRequests()), workload);
  const double units = PerCall(counts.write_units, workload);
  if (requests > scenario.bounds.requests) {
    broken.push_back(fmt::format("{:.2f} requests for each call", requests));
  }
  if (units > scenario.bounds.write_units) {
    broken.push_back(fmt::format("{:.2f} write units for each call", units));
  }
}

dynamo::LedgerTerms Terms(const Scenario& scenario) {
  const CallBounds& bounds = scenario.bounds;
  return {.charges = bounds.charges,
          .plain_charges = bounds.plain_charges,
          .refused_charges = bounds.refused_charges,
          .drops_returns = scenario.incidents.sweep > nanoseconds(0) ||
                           scenario.peers.sync > nanoseconds(0) || scenario.names.names > 0,
          .late = bounds.late};
}

dynamo::NamesTerms TermsOfNames(const NamesScenario& names) {
  return {.names = names.names, .stalest = std::chrono::floor<milliseconds>(names.stalest)};
}

std::map<std::string, Quota> Quotas(const Scenario& scenario) {
  auto quotas = scenario.peers.clients > 0 ? dynamo::QuotasWithPeers() : dynamo::FleetQuotas();
  quotas.merge(dynamo::GreatestQuotas(TermsOfNames(scenario.names)));
  return quotas;
}

std::vector<std::string> Violations(const Scenario& scenario, const Fleet& fleet,
                                    const FleetWorkload& workload) {
  std::vector<std::string> broken =
      OverAdmissions(fleet.ReadMovements(), Quotas(scenario), Slack(scenario));
  std::ranges::move(Minted(fleet.ReadDivisions()), std::back_inserter(broken));
  std::ranges::move(EarlyTtls(fleet, Slack(scenario)), std::back_inserter(broken));
  CheckCosts(scenario, fleet, workload, broken);
  const FleetTally& tally = workload.tally();
  if (scenario.exact && tally.failed > 0) {
    broken.push_back(fmt::format("{} calls failed, the last: {}", tally.failed, tally.failure));
  }
  return broken;
}

std::vector<std::string> RunOnce(const Scenario& scenario, std::uint64_t seed, Counts& counts) {
  Fleet fleet(seed, scenario.writes * 1000);
  for (int i = 0; i < scenario.processes; ++i) {
    fleet.Join(i == 0 ? scenario.skew : milliseconds(0)).network().faults = scenario.network;
  }
  fleet.server().faults = scenario.table;
  FleetWorkload workload(fleet, seed, scenario.run,
                         {.only_probes = scenario.only_probes,
                          .hasty = scenario.hasty,
                          .lull = scenario.incidents.lull});
  const FleetPeers peers(fleet, workload.ledger(), seed,
                         {.clients = scenario.peers.clients,
                          .sync = scenario.peers.sync,
                          .aggregator = scenario.peers.aggregator,
                          .network = scenario.network},
                         workload.end());
  std::optional<dynamo::FleetNames> names;
  if (scenario.names.names > 0) {
    // A seed of its own: ids of adjusts must differ from the workload's.
    names.emplace(fleet, workload.ledger(), TermsOfNames(scenario.names), seed ^ kSeedOfNames,
                  workload.end());
  }
  const FleetIncidents incidents(scenario, fleet, workload, seed);
  const bool ended = workload.Run();
  Count(fleet, workload, counts);
  counts.incidents += incidents.counts();
  counts.peers += peers.counts();
  if (names) counts.names += names->tally();
  std::vector<std::string> broken = Violations(scenario, fleet, workload);
  if (!ended) broken.emplace_back("something was still scheduled at the end");
  auto findings = CompareWithTable(workload.ledger(), fleet, Terms(scenario));
  std::ranges::move(findings.broken, std::back_inserter(broken));
  NoteMost(findings, counts.most);
  return broken;
}

void TellMost(const Counts& counts) {
  fmt::print(
      "  at most, of one decision: {} charges; {} of an admitted one that says nothing, {} of "
      "a refused one\n",
      counts.most.charges, counts.most.plain_charges, counts.most.refused_charges);
  fmt::print(
      "  at most, in one run: {:.2f} requests and {:.2f} write units for each call; an "
      "answer {} ms after its deadline; {} doubtful in all\n",
      counts.requests, counts.write_units,
      std::chrono::ceil<milliseconds>(counts.most.late).count(), counts.doubtful);
}

void TellPeers(FaultReport& report, const PeerScenario& odds, const dynamo::PeerCounts& counts) {
  const auto tell = [&](std::string_view name, bool is_asked, int met) {
    report.Report(name, is_asked ? 1 : 0, static_cast<std::uint64_t>(met));
  };
  const bool are_there = odds.clients > 0;
  tell("peers admitted", are_there, counts.calls.admitted);
  tell("peers refused", are_there, counts.calls.refused);
  tell("peer passes", are_there, counts.calls.slow);
  tell("peer passes lost", are_there, counts.calls.lost_passes);
  tell("peer charges back", are_there, counts.calls.compensated);
  tell("peer credits vu=0", are_there, counts.calls.unproven);
  tell("peer bumps", are_there, counts.calls.bumps + counts.aggregator.bumps);
  tell("peer limits seeded", odds.sync > nanoseconds(0), counts.calls.seeds);
  tell("peer writes again", are_there, counts.repeated);
  tell("aggregator refills", odds.aggregator > nanoseconds(0), counts.aggregator.refills);
  tell("aggregator clones", odds.aggregator > nanoseconds(0), counts.aggregator.clones);
}

void TellNames(FaultReport& report, const NamesScenario& odds, const dynamo::NamesTally& counts) {
  const auto tell = [&](std::string_view name, int met) {
    report.Report(name, static_cast<double>(odds.names), static_cast<std::uint64_t>(met));
  };
  tell("changes of limits", counts.changes);
  tell("stale resolutions", counts.stale);
  tell("overrides", counts.overrides);
  tell("refused by names", counts.refused);
  tell("adjusts of departed", counts.departed);
}

/// Reports the faults. Returns false if a fault of the scenario never happened.
bool Tell(const Scenario& scenario, const Counts& counts) {
  FaultReport report;
  TellFaults(report, scenario, counts.faults);
  TellIncidents(report, scenario, counts.incidents);
  TellPeers(report, scenario.peers, counts.peers);
  TellNames(report, scenario.names, counts.names);
  report.Report("failed in outages", scenario.incidents.outages,
                counts.faults.network.failed_after);
  report.Report("table_unprocessed", scenario.table.unprocessed, counts.table_unprocessed);
  report.Report("divisions", scenario.writes < 1'000 ? 1 : 0, counts.divisions);
  report.Report("admitted", 1, static_cast<std::uint64_t>(counts.admitted));
  report.Report("refused", scenario.only_probes ? 0 : 1, static_cast<std::uint64_t>(counts.denied));
  report.Report("repeated adjusts", 1, counts.repeated);
  report.Report("doubtful", scenario.only_probes ? 1 : 0,
                static_cast<std::uint64_t>(counts.doubtful));
  report.Report("probes", 1, counts.probed);
  TellMost(counts);
  return report.complete();
}

}  // namespace
}  // namespace weir::simulation

int main(int argc, char** argv) {
  using namespace weir::simulation;
  return RunSeeds(
      ReadArguments(argc, argv),
      Simulation<Scenario, Counts>{.parse = ParseScenario, .run = RunOnce, .tell = Tell});
}
