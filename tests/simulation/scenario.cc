#include "tests/simulation/scenario.h"

#include "tests/simulation/scenario_text.h"

namespace weir::simulation {
namespace {

void AddEventSetters(Setters<Scenario>& setters) {
  using Text = std::string_view;
  setters["jobs"] = [](Scenario& s, Text v) { return ReadWithin(v, 0, 64, s.events.jobs); };
  setters["foreign"] = [](Scenario& s, Text v) { return ReadWithin(v, 0, 999, s.events.foreign); };
  setters["daemon_crash"] = [](Scenario& s, Text v) { return ReadChance(v, s.events.crash); };
  setters["daemon_stop"] = [](Scenario& s, Text v) { return ReadChance(v, s.events.stop); };
  setters["queue_refuse"] = [](Scenario& s, Text v) {
    return ReadChance(v, s.events.queue.refuse);
  };
  setters["queue_lose_answer"] = [](Scenario& s, Text v) {
    return ReadChance(v, s.events.queue.lose_response);
  };
  setters["event_duplicate"] = [](Scenario& s, Text v) {
    return ReadChance(v, s.events.queue.duplicate);
  };
  setters["event_delay"] = [](Scenario& s, Text v) {
    return ReadTime(v, s.events.queue.longest_delay);
  };
  setters["index_lag"] = [](Scenario& s, Text v) { return ReadTime(v, s.table.longest_index_lag); };
}

void AddBoundSetters(Setters<Scenario>& setters) {
  using Text = std::string_view;
  setters["charges"] = [](Scenario& s, Text v) { return ReadWithin(v, 1, 51, s.bounds.charges); };
  setters["plain_charges"] = [](Scenario& s, Text v) {
    return ReadWithin(v, 1, 51, s.bounds.plain_charges);
  };
  setters["refused_charges"] = [](Scenario& s, Text v) {
    return ReadWithin(v, 0, 51, s.bounds.refused_charges);
  };
  setters["late"] = [](Scenario& s, Text v) { return ReadTime(v, s.bounds.late); };
  setters["requests"] = [](Scenario& s, Text v) { return ReadRatio(v, s.bounds.requests); };
  setters["write_units"] = [](Scenario& s, Text v) { return ReadRatio(v, s.bounds.write_units); };
  setters["only_probes"] = [](Scenario& s, Text v) { return ReadYesNo(v, s.only_probes); };
  setters["hasty"] = [](Scenario& s, Text v) { return ReadChance(v, s.hasty); };
}

void AddIncidentSetters(Setters<Scenario>& setters) {
  using Text = std::string_view;
  setters["deaths"] = [](Scenario& s, Text v) { return ReadWithin(v, 0, 64, s.incidents.deaths); };
  setters["stops"] = [](Scenario& s, Text v) { return ReadWithin(v, 0, 64, s.incidents.stops); };
  setters["stop"] = [](Scenario& s, Text v) { return ReadTime(v, s.incidents.stop); };
  setters["outages"] = [](Scenario& s, Text v) {
    return ReadWithin(v, 0, 64, s.incidents.outages);
  };
  setters["outage"] = [](Scenario& s, Text v) { return ReadTime(v, s.incidents.outage); };
  setters["jumps"] = [](Scenario& s, Text v) { return ReadWithin(v, 0, 64, s.incidents.jumps); };
  setters["jump"] = [](Scenario& s, Text v) { return ReadTime(v, s.incidents.jump); };
  setters["sweep"] = [](Scenario& s, Text v) { return ReadTime(v, s.incidents.sweep); };
  setters["lull"] = [](Scenario& s, Text v) { return ReadTime(v, s.incidents.lull); };
  setters["stray"] = ChanceIn(&Scenario::network, &sim::NetworkFaults::stray);
  setters["longest_stray"] = [](Scenario& s, Text v) {
    return ReadTime(v, s.network.longest_stray);
  };
  setters["tail"] = ChanceIn(&Scenario::network, &sim::NetworkFaults::tail);
  setters["longest_tail"] = [](Scenario& s, Text v) { return ReadTime(v, s.network.longest_tail); };
}

void AddPeerSetters(Setters<Scenario>& setters) {
  using Text = std::string_view;
  setters["peers"] = [](Scenario& s, Text v) { return ReadWithin(v, 0, 16, s.peers.clients); };
  setters["peer_sync"] = [](Scenario& s, Text v) { return ReadTime(v, s.peers.sync); };
  setters["aggregator"] = [](Scenario& s, Text v) { return ReadTime(v, s.peers.aggregator); };
}

void AddTableSetters(Setters<Scenario>& setters) {
  using Text = std::string_view;
  setters["range_writes"] = [](Scenario& s, Text v) { return ReadRatio(v, s.table.range_writes); };
  setters["burst"] = [](Scenario& s, Text v) { return ReadTime(v, s.table.burst); };
  setters["wrong_checksum"] = ChanceIn(&Scenario::table, &sim::DynamoFaults::wrong_checksum);
  setters["sends_date"] = [](Scenario& s, Text v) { return ReadYesNo(v, s.table.sends_date); };
}

void AddNamesSetters(Setters<Scenario>& setters) {
  using Text = std::string_view;
  setters["names"] = [](Scenario& s, Text v) {
    return ReadWithin<std::size_t>(v, 0, 64, s.names.names);
  };
  setters["stalest"] = [](Scenario& s, Text v) { return ReadTime(v, s.names.stalest); };
}

Setters<Scenario> FleetSetters() {
  using sim::DynamoFaults;
  using sim::NetworkFaults;
  constexpr auto kNetwork = &Scenario::network;
  constexpr auto kTable = &Scenario::table;
  Setters<Scenario> setters{
      {"processes",
       [](Scenario& s, std::string_view v) { return ReadWithin(v, 1, 64, s.processes); }},
      {"writes",
       [](Scenario& s, std::string_view v) {
         return ReadWithin<std::int64_t>(v, 1, 1'000'000, s.writes);
       }},
      {"run", [](Scenario& s, std::string_view v) { return ReadTime(v, s.run); }},
      {"trip", [](Scenario& s, std::string_view v) { return ReadTime(v, s.network.longest_trip); }},
      {"skew",
       [](Scenario& s, std::string_view v) {
         nanoseconds skew{0};
         const bool good = ReadTime(v, skew);
         s.skew = std::chrono::duration_cast<milliseconds>(skew);
         return good;
       }},
      {"exact", [](Scenario& s, std::string_view v) { return ReadYesNo(v, s.exact); }},
      {"refuse", ChanceIn(kNetwork, &NetworkFaults::refuse)},
      {"lose_request", ChanceIn(kNetwork, &NetworkFaults::lose_request)},
      {"lose_answer", ChanceIn(kNetwork, &NetworkFaults::lose_response)},
      {"duplicate", ChanceIn(kNetwork, &NetworkFaults::duplicate)},
      {"fail_before", ChanceIn(kNetwork, &NetworkFaults::fail_before)},
      {"fail_after", ChanceIn(kNetwork, &NetworkFaults::fail_after)},
      {"throttle", ChanceIn(kNetwork, &NetworkFaults::throttle)},
      {"table_throttle", ChanceIn(kTable, &DynamoFaults::throttle)},
      {"table_conflict", ChanceIn(kTable, &DynamoFaults::conflict)},
      {"table_unprocessed", ChanceIn(kTable, &DynamoFaults::unprocessed)},
  };
  AddEventSetters(setters);
  AddBoundSetters(setters);
  AddIncidentSetters(setters);
  AddPeerSetters(setters);
  AddNamesSetters(setters);
  AddTableSetters(setters);
  return setters;
}

}  // namespace

void FaultCounts::Add(const sim::NetworkCounts& of_network, const sim::DynamoCounts& of_table) {
  network += of_network;
  table_throttled += of_table.throttled;
  table_conflicts += of_table.conflicts;
  throttled_ranges += of_table.throttled_ranges;
  throttled_indexes += of_table.throttled_indexes;
  wrong_checksums += of_table.wrong_checksums;
}

void TellFaults(FaultReport& report, const Scenario& scenario, const FaultCounts& counts) {
  report.Report("refuse", scenario.network.refuse, counts.network.refused);
  report.Report("lose_request", scenario.network.lose_request, counts.network.lost_requests);
  report.Report("lose_answer", scenario.network.lose_response, counts.network.lost_responses);
  report.Report("duplicate", scenario.network.duplicate, counts.network.duplicates);
  report.Report("fail_before", scenario.network.fail_before, counts.network.failed_before);
  report.Report("fail_after", scenario.network.fail_after, counts.network.failed_after);
  report.Report("throttle", scenario.network.throttle, counts.network.throttled);
  report.Report("stray", scenario.network.stray, counts.network.strays);
  report.Report("tail", scenario.network.tail, counts.network.tails);
  report.Report("table_throttle", scenario.table.throttle, counts.table_throttled);
  report.Report("table_conflict", scenario.table.conflict, counts.table_conflicts);
  report.Report("throttled keys", scenario.table.range_writes, counts.throttled_ranges);
  report.Report("throttled by index", scenario.table.range_writes, counts.throttled_indexes);
  report.Report("wrong_checksum", scenario.table.wrong_checksum, counts.wrong_checksums);
}

Result<Scenario> ParseScenario(std::string_view text) { return ParseLines(text, FleetSetters()); }

}  // namespace weir::simulation
