#include "tests/simulation/stream_scenario.h"

#include "tests/simulation/scenario_text.h"

namespace weir::simulation {
namespace {

using Scenario = StreamScenario;

const Setters<Scenario>& ShapeSetters() {
  using Text = std::string_view;
  using std::int64_t;
  static const Setters<Scenario> setters{
      {"producers", [](Scenario& s, Text v) { return ReadWithin(v, 1, 64, s.producers); }},
      {"shards", [](Scenario& s, Text v) { return ReadWithin<std::uint64_t>(v, 1, 99, s.shards); }},
      {"run", [](Scenario& s, Text v) { return ReadTime(v, s.run); }},
      {"puts", [](Scenario& s, Text v) { return ReadWithin<int64_t>(v, 1, 100'000, s.puts); }},
      {"ttl", [](Scenario& s, Text v) { return ReadTime(v, s.ttl); }},
      {"timeout", [](Scenario& s, Text v) { return ReadTime(v, s.timeout); }},
      {"large", [](Scenario& s, Text v) { return ReadChance(v, s.large); }},
      {"shard_rate",
       [](Scenario& s, Text v) { return ReadWithin<int64_t>(v, 130, 1000, s.shard_rate); }},
      {"burst", [](Scenario& s, Text v) { return ReadWithin<int64_t>(v, 1, 100, s.burst); }},
      {"windows", [](Scenario& s, Text v) { return ReadYesNo(v, s.options.limits.fixed_windows); }},
      {"page", [](Scenario& s,
                  Text v) { return ReadWithin<std::size_t>(v, 1, 1000, s.options.max_listed); }},
      {"max_shards",
       [](Scenario& s, Text v) {
         return ReadWithin<std::size_t>(v, 1, 500, s.options.max_open_shards);
       }},
      {"calm", [](Scenario& s, Text v) { return ReadYesNo(v, s.calm); }},
      {"shortest_trip", [](Scenario& s, Text v) { return ReadTime(v, s.network.shortest_trip); }},
      {"trip", [](Scenario& s, Text v) { return ReadTime(v, s.network.longest_trip); }},
  };
  return setters;
}

Setters<Scenario> AllSetters() {
  using sim::KinesisFaults;
  using sim::NetworkFaults;
  Setters<Scenario> setters = ShapeSetters();
  constexpr auto kNetwork = &Scenario::network;
  constexpr auto kStream = &Scenario::faults;
  setters["refuse"] = ChanceIn(kNetwork, &NetworkFaults::refuse);
  setters["lose_request"] = ChanceIn(kNetwork, &NetworkFaults::lose_request);
  setters["lose_answer"] = ChanceIn(kNetwork, &NetworkFaults::lose_response);
  setters["fail_before"] = ChanceIn(kNetwork, &NetworkFaults::fail_before);
  setters["fail_after"] = ChanceIn(kNetwork, &NetworkFaults::fail_after);
  setters["throttle"] = ChanceIn(kNetwork, &NetworkFaults::throttle);
  setters["entry_throttle"] = ChanceIn(kStream, &KinesisFaults::throttle);
  setters["entry_fail_before"] = ChanceIn(kStream, &KinesisFaults::fail_before);
  setters["entry_fail_after"] = ChanceIn(kStream, &KinesisFaults::fail_after);
  setters["miscount"] = ChanceIn(kStream, &KinesisFaults::miscount);
  setters["refuse_list"] = ChanceIn(kStream, &KinesisFaults::refuse_list);
  setters["reshard"] = ChanceIn(kStream, &KinesisFaults::reshard);
  setters["error"] = ChanceIn(kStream, &KinesisFaults::error);
  return setters;
}

}  // namespace

Result<StreamScenario> ParseStreamScenario(std::string_view text) {
  static const Setters<Scenario> setters = AllSetters();
  auto scenario = ParseLines(text, setters);
  if (!scenario) return scenario;
  scenario->options.limits.records_per_second = scenario->shard_rate;
  scenario->options.limits.bytes_per_second = scenario->shard_rate * 1024;
  return scenario;
}

}  // namespace weir::simulation
