// Reads the patterns and predicates of event_pattern.h from YAML. Format: docs/design/events.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/events/event_values_file.h"

namespace weir {

/// Reads the parts of one file. Errors are kInvalidArgument in the form of ParseYaml. The number of
/// parts to which aliases unfold is bounded. `where` names the part in error messages.
class EventPatternReader {
 public:
  /// `file_name` must outlive it.
  explicit EventPatternReader(std::string_view file_name) : values_(file_name) {}

  /// Reads a mapping of paths to lists of tests or to mappings of the same kind, and `$or`.
  Result<EventPattern> Pattern(const YamlNode& node, const std::string& where) {
    return ReadFields(node, {where});
  }
  /// Reads {path, equals or matches, and, or}.
  Result<EventPredicate> Predicate(const YamlNode& node, const std::string& where) {
    return ReadPredicate(node, {where});
  }
  /// Reads names with dots between them.
  Result<EventPath> ReadPath(const YamlNode& node, const std::string& where) const;

  const YamlChecks& checks() const { return values_.checks(); }

 private:
  /// Reads the fields of a mapping.
  Result<EventPattern> ReadFields(const YamlNode& node, const EventPlace& place);
  /// Reads one field: a path, and its tests or nested fields.
  Result<EventPattern> ReadField(const YamlEntry& entry, const EventPlace& place);
  /// Reads the list of `$or`.
  Result<std::vector<EventPattern>> ReadChoices(const YamlNode& node, const EventPlace& place);
  Result<EventPredicate> ReadPredicate(const YamlNode& node, const EventPlace& place);
  /// Reads a predicate's own test, without `and` and `or`.
  Result<EventPattern> ReadOwnTest(const YamlNode& node, const EventPlace& place);
  Result<std::vector<EventPredicate>> ReadPredicates(const YamlNode& node, const EventPlace& place);

  EventValueReader values_;
};

}  // namespace weir
