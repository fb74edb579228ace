#include "tests/simulation/scenario.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <map>
#include <sstream>

namespace weir::simulation {
namespace {

template <class T>
bool ReadNumber(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool ReadChance(std::string_view text, double& chance) {
  return ReadNumber(text, chance) && chance >= 0 && chance <= 1;
}

// "30ms" or "2s".
bool ReadTime(std::string_view text, nanoseconds& time) {
  const bool is_millis = text.ends_with("ms");
  if (!is_millis && !text.ends_with('s')) return false;
  text.remove_suffix(is_millis ? 2 : 1);
  std::int64_t count = 0;
  if (!ReadNumber(text, count) || count < 0 || count > 1'000'000) return false;
  time = is_millis ? nanoseconds(std::chrono::milliseconds(count))
                   : nanoseconds(std::chrono::seconds(count));
  return true;
}

using Setter = std::function<bool(Scenario&, std::string_view)>;

Setter Chance(double sim::NetworkFaults::* field) {
  return [field](Scenario& s, std::string_view v) { return ReadChance(v, s.network.*field); };
}
Setter Chance(double sim::DynamoFaults::* field) {
  return [field](Scenario& s, std::string_view v) { return ReadChance(v, s.table.*field); };
}

const std::map<std::string, Setter, std::less<>>& Setters() {
  static const std::map<std::string, Setter, std::less<>> setters{
      {"processes",
       [](Scenario& s, std::string_view v) {
         return ReadNumber(v, s.processes) && s.processes > 0 && s.processes <= 64;
       }},
      {"writes",
       [](Scenario& s, std::string_view v) {
         return ReadNumber(v, s.writes) && s.writes > 0 && s.writes <= 1'000'000;
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
      {"exact",
       [](Scenario& s, std::string_view v) {
         s.exact = v == "yes";
         return v == "yes" || v == "no";
       }},
      {"refuse", Chance(&sim::NetworkFaults::refuse)},
      {"lose_request", Chance(&sim::NetworkFaults::lose_request)},
      {"lose_answer", Chance(&sim::NetworkFaults::lose_answer)},
      {"duplicate", Chance(&sim::NetworkFaults::duplicate)},
      {"fail_before", Chance(&sim::NetworkFaults::fail_before)},
      {"fail_after", Chance(&sim::NetworkFaults::fail_after)},
      {"throttle", Chance(&sim::NetworkFaults::throttle)},
      {"table_throttle", Chance(&sim::DynamoFaults::throttle)},
      {"table_conflict", Chance(&sim::DynamoFaults::conflict)},
      {"table_unprocessed", Chance(&sim::DynamoFaults::unprocessed)},
  };
  return setters;
}

Status ReadLine(const std::string& line, Scenario& scenario) {
  std::istringstream words(line);
  std::string name;
  std::string value;
  std::string more;
  words >> name >> value;
  const auto setter = Setters().find(name);
  const bool good = setter != Setters().end() && !value.empty() && !(words >> more) &&
                    setter->second(scenario, value);
  if (good) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("'{}' is no line of a scenario: write a name and a value, like 'processes "
                  "4', 'trip 30ms' or 'lose_answer 0.02'",
                  line));
}

}  // namespace

Result<Scenario> ParseScenario(std::string_view text) {
  Scenario scenario;
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    if (line.empty() || line.front() == '#') continue;
    WEIR_RETURN_IF_ERROR(ReadLine(line, scenario));
  }
  return scenario;
}

}  // namespace weir::simulation
