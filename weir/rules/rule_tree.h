// The patterns of one domain, as a tree of entries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/rules/descriptor.h"
#include "weir/rules/rule.h"
#include "weir/rules/text_map.h"

namespace weir::rules {

/// Find costs one hash lookup for each entry, and one more for each length of the prefixes that the
/// key has. Find visits a node at most once, so its cost is bounded by the size of the tree.
class RuleTree {
 public:
  RuleTree() : nodes_(1) {}

  /// Stores `rule` for this pattern. If the pattern has a rule already, keeps and returns that
  /// rule.
  std::optional<std::uint32_t> Add(const std::vector<EntryPattern>& match, std::uint32_t rule);

  /// Returns the rule of the most specific pattern that matches. At the first entry in which two
  /// patterns differ, an exact value is more specific than a prefix, and a prefix is more
  /// specific than a shorter prefix.
  std::optional<std::uint32_t> Find(Descriptor descriptor) const {
    return FindBelow(0, descriptor);
  }

 private:
  using NodeIndex = std::uint32_t;
  using Children = TextMap<NodeIndex>;
  struct PrefixesOfLength {
    std::size_t length;
    Children children;
  };
  struct Branch {  // the children for one key
    Children exact;
    std::vector<PrefixesOfLength> prefixes;  // longest first
  };
  struct Node {
    std::optional<std::uint32_t> rule;
    TextMap<Branch> keys;
  };

  NodeIndex ChildFor(NodeIndex node, const EntryPattern& entry);
  static Children& PrefixesFor(Branch& branch, std::size_t length);
  std::optional<std::uint32_t> FindBelow(NodeIndex node, Descriptor rest) const;

  std::vector<Node> nodes_;  // the first is the root
};

}  // namespace weir::rules
