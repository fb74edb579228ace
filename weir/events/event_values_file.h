// Reads the tests of event patterns from YAML: the lists of tests that the values of an event must
// pass. Format: docs/design/events.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/events/event_pattern.h"
#include "weir/model/yaml_checks.h"

namespace weir {

/// A part of the file: its name in error messages and its nesting level.
struct EventPlace {
  std::string where;
  int level = 0;

  EventPlace Below(std::string_view name) const {
    return {where + ", " + std::string(name), level + 1};
  }
};

/// Reads the tests of one file. Errors are kInvalidArgument in the form of ParseYaml.
class EventValueReader {
 public:
  /// `file_name` must outlive it.
  explicit EventValueReader(std::string_view file_name) : checks_(file_name) {}

  /// Counts a part and refuses too many or too deep ones. Must be called for each part, so that
  /// aliases of YAML cannot make a small file endless: many aliases may refer to one part, and an
  /// alias may refer to a part that contains it.
  Status CountPart(const YamlNode& node, const EventPlace& place);
  /// Reads a list of tests.
  Result<std::vector<ValueTest>> ReadTests(const YamlNode& node, const EventPlace& place);
  /// Reads a scalar. Without quotes it is parsed as JSON (a number, true, false, null); if it is
  /// not valid JSON, it is a string.
  Result<PlainValue> ReadPlain(const YamlNode& node, const EventPlace& place) const;

  const YamlChecks& checks() const { return checks_; }

 private:
  using Bound = NumericTest::Bound;

  Result<ValueTest> ReadTest(const YamlNode& node, const EventPlace& place);
  Result<ValueTest> ReadOperation(const YamlEntry& operation, const EventPlace& place);
  Result<ExistsTest> ReadExists(const YamlNode& node, const EventPlace& place) const;
  Result<TextTest> ReadText(const YamlEntry& operation, const EventPlace& place) const;
  Result<AnythingButTest> ReadAnythingBut(const YamlNode& node, const EventPlace& place);
  Result<NumericTest> ReadNumeric(const YamlNode& node, const EventPlace& place) const;
  Result<Bound> ReadBound(const YamlNode& op, const YamlNode& number,
                          const EventPlace& place) const;

  YamlChecks checks_;
  std::size_t parts_ = 0;
};

}  // namespace weir
