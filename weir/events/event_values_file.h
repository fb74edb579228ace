// The lists of tests in patterns, read from YAML. Format: docs/design/events.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/events/event_pattern.h"
#include "weir/model/yaml_checks.h"

namespace weir {

/// What messages call a part of the file, and how deep it is.
struct EventPlace {
  std::string where;
  int level = 0;

  EventPlace Below(std::string_view name) const {
    return {where + ", " + std::string(name), level + 1};
  }
};

/// Walks one file. Refuses in the form of ParseYaml.
class EventValueReader {
 public:
  /// `file_name` must outlive it.
  explicit EventValueReader(std::string_view file_name) : checks_(file_name) {}

  /// To be called for each part: aliases may name one many times over, and within itself.
  Status Count(const YamlNode& node, const EventPlace& place);
  Result<std::vector<ValueTest>> Tests(const YamlNode& node, const EventPlace& place);
  /// A scalar without quotes is what JSON would read in it (a number, true, false, null), else a
  /// text.
  Result<PlainValue> Plain(const YamlNode& node, const EventPlace& place) const;

  const YamlChecks& checks() const { return checks_; }

 private:
  using Bound = NumericTest::Bound;

  Result<ValueTest> Test(const YamlNode& node, const EventPlace& place);
  Result<ValueTest> Operation(const YamlEntry& operation, const EventPlace& place);
  Result<ExistsTest> Exists(const YamlNode& node, const EventPlace& place) const;
  Result<TextTest> Text(const YamlEntry& operation, const EventPlace& place) const;
  Result<AnythingButTest> AnythingBut(const YamlNode& node, const EventPlace& place);
  Result<NumericTest> Numeric(const YamlNode& node, const EventPlace& place) const;
  Result<Bound> ReadBound(const YamlNode& op, const YamlNode& number,
                          const EventPlace& place) const;

  YamlChecks checks_;
  std::size_t parts_ = 0;
};

}  // namespace weir
