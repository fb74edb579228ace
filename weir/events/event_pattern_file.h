// Patterns and predicates of event_pattern.h, read from YAML. Format: docs/design/events.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/events/event_values_file.h"

namespace weir {

/// Walks one file. Refuses in the form of ParseYaml. Bounds what aliases unfold to. `where` is what
/// messages call the part.
class EventPatternReader {
 public:
  /// `file_name` must outlive it.
  explicit EventPatternReader(std::string_view file_name) : values_(file_name) {}

  /// A mapping of paths to lists of tests or to mappings of the same kind, and `$or`.
  Result<EventPattern> Pattern(const YamlNode& node, const std::string& where) {
    return Fields(node, {where});
  }
  /// {path, equals or matches, and, or}.
  Result<EventPredicate> Predicate(const YamlNode& node, const std::string& where) {
    return ReadPredicate(node, {where});
  }
  Result<EventPath> Path(const YamlNode& node, const std::string& where) const;

  const YamlChecks& checks() const { return values_.checks(); }

 private:
  Result<EventPattern> Fields(const YamlNode& node, const EventPlace& place);
  Result<EventPattern> Field(const YamlEntry& entry, const EventPlace& place);
  Result<std::vector<EventPattern>> Choices(const YamlNode& node, const EventPlace& place);
  Result<EventPredicate> ReadPredicate(const YamlNode& node, const EventPlace& place);
  Result<EventPattern> Own(const YamlNode& node, const EventPlace& place);
  Result<std::vector<EventPredicate>> Predicates(const YamlNode& node, const EventPlace& place);

  EventValueReader values_;
};

}  // namespace weir
