// The text format of scenarios: lines `name value`. Blank lines and lines that begin with '#' are
// skipped.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "weir/base/integer_text.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir::simulation {

/// Parse values. Each returns false for an invalid text.
bool ReadChance(std::string_view text, double& chance);   ///< "0.02": 0 to 1
bool ReadRatio(std::string_view text, double& ratio);     ///< "4.5": not negative
bool ReadTime(std::string_view text, nanoseconds& time);  ///< "30ms" or "2s"
bool ReadYesNo(std::string_view text, bool& yes);

template <class Int>
bool ReadWithin(std::string_view text, Int least, Int most, Int& number) {
  const auto read = ReadInteger<Int>(text);
  if (!read || *read < least || *read > most) return false;
  number = *read;
  return true;
}

/// The function that sets a value, by the name of the line. It returns false for an invalid value.
template <class Scenario>
using Setters =
    std::map<std::string, std::function<bool(Scenario&, std::string_view)>, std::less<>>;

/// Returns the setter of a probability in a member struct of the scenario.
template <class Scenario, class Faults>
auto ChanceIn(Faults Scenario::* faults, double Faults::* field) {
  return [=](Scenario& s, std::string_view value) { return ReadChance(value, s.*faults.*field); };
}

/// Parses a scenario. Returns kInvalidArgument, with the line, for an unknown name or an invalid
/// value.
template <class Scenario>
[[nodiscard]] Result<Scenario> ParseLines(std::string_view text, const Setters<Scenario>& setters) {
  Scenario scenario;
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string name;
    std::string value;
    std::string more;
    words >> name >> value;
    const auto setter = setters.find(name);
    const bool good = setter != setters.end() && !value.empty() && !(words >> more) &&
                      setter->second(scenario, value);
    if (good) continue;
    return Fail(
        Code::kInvalidArgument,
        fmt::format("'{}' is not a line of a scenario: write a name and a value, like 'trip "
                    "30ms' or 'lose_answer 0.02'",
                    line));
  }
  return scenario;
}

}  // namespace weir::simulation
