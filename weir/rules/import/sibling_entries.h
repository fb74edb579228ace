// The descriptors of one list of envoyproxy/ratelimit's configuration.
#pragma once

#include <string>
#include <vector>

#include "weir/model/yaml_tree.h"
#include "weir/rules/import/imported_rules.h"
#include "weir/rules/rule.h"
#include "weir/rules/text_map.h"

namespace weir::rules {

struct SiblingEntry {
  const YamlNode* node;
  EntryPattern entry;
  std::size_t index;  ///< in SiblingEntries::all
};

/// Whether the descriptor has a rate limit.
bool HasRateLimit(const SiblingEntry& sibling);

class SiblingEntries {
 public:
  /// Adds a descriptor. Returns false if the list has its pattern already.
  bool Add(const YamlNode& node, EntryPattern entry);

  const std::vector<SiblingEntry>& all() const { return all_; }

  /// Returns the siblings that match all values that the sibling at `index` matches, the most
  /// specific first.
  std::vector<SiblingEntry> WiderThan(std::size_t index) const;

  /// Reports values of this descriptor that the service treats differently: it takes the first
  /// wildcard of the file, and does not fall back to a wider descriptor.
  void ReportDifferences(std::size_t index, ImportCollector& out) const;

 private:
  std::vector<SiblingEntry> all_;
  TextMap<TextMap<std::size_t>> prefixes_;  ///< indexes by key and prefix
  TextMap<TextMap<std::size_t>> exact_;
};

}  // namespace weir::rules
