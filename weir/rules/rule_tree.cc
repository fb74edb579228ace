#include "weir/rules/rule_tree.h"

#include <algorithm>

namespace weir::rules {

RuleTree::Children& RuleTree::PrefixesFor(Branch& branch, std::size_t length) {
  const auto at = std::ranges::find_if(
      branch.prefixes, [length](const auto& prefixes) { return prefixes.length <= length; });
  if (at != branch.prefixes.end() && at->length == length) return at->children;
  return branch.prefixes.insert(at, {length, {}})->children;
}

RuleTree::NodeIndex RuleTree::ChildFor(NodeIndex node, const EntryPattern& entry) {
  Branch& branch = nodes_[node].keys[entry.key];
  Children& children = entry.kind == EntryPattern::Kind::kExact
                           ? branch.exact
                           : PrefixesFor(branch, entry.text.size());
  const auto next = static_cast<NodeIndex>(nodes_.size());
  const auto [child, is_new] = children.try_emplace(entry.text, next);
  const NodeIndex index = child->second;
  if (is_new) nodes_.emplace_back();
  return index;
}

std::optional<std::uint32_t> RuleTree::Add(const std::vector<EntryPattern>& match,
                                           std::uint32_t rule) {
  NodeIndex node = 0;
  for (const EntryPattern& entry : match) node = ChildFor(node, entry);
  if (nodes_[node].rule) return nodes_[node].rule;
  nodes_[node].rule = rule;
  return {};
}

std::optional<std::uint32_t> RuleTree::FindBelow(NodeIndex node, Descriptor rest) const {
  if (rest.empty()) return nodes_[node].rule;
  const auto [key, value] = rest.front();
  const auto branch = nodes_[node].keys.find(key);
  if (branch == nodes_[node].keys.end()) return {};
  const auto& [exact, prefixes] = branch->second;
  if (const auto child = exact.find(value); child != exact.end()) {
    if (const auto found = FindBelow(child->second, rest.subspan(1))) return found;
  }
  for (const auto& [length, children] : prefixes) {
    if (length > value.size()) continue;
    const auto child = children.find(value.substr(0, length));
    if (child == children.end()) continue;
    if (const auto found = FindBelow(child->second, rest.subspan(1))) return found;
  }
  return {};
}

}  // namespace weir::rules
