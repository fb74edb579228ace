#include "weir/model/parents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "weir/model/entity.h"
#include "weir/model/yaml_tree.h"

namespace weir {
namespace {

using Entities = std::map<std::string, EntityDeclaration>;
using Chain = std::vector<std::string>;

/// Returns null for an entity without a parent, and for one that is only named as a parent.
const std::string* ParentOf(const Entities& entities, const std::string& entity) {
  const auto found = entities.find(entity);
  if (found == entities.end()) return nullptr;
  const std::optional<std::string>& parent = found->second.parent;
  return parent ? &*parent : nullptr;
}

/// Returns the cycle from its smallest id back to that id, so that the message of a cycle does not
/// depend on the entity from which it was found.
Chain CycleThrough(const Entities& entities, const std::string& entity) {
  Chain cycle;
  const std::string* at = &entity;
  do {
    cycle.push_back(*at);
    at = ParentOf(entities, *at);
  } while (*at != entity);
  std::ranges::rotate(cycle, std::ranges::min_element(cycle));
  cycle.push_back(cycle.front());
  return cycle;
}

/// Formats a chain as "a -> b -> c". A long one is cut, and ends with the number of its links.
std::string FormatChain(const Chain& chain) {
  constexpr std::size_t kShown = 64;
  if (chain.size() <= kShown) return fmt::format("{}", fmt::join(chain, " -> "));
  return fmt::format("{} -> ... ({} in all)",
                     fmt::join(chain.begin(), chain.begin() + kShown, " -> "), chain.size() - 1);
}

std::optional<ParentFault> FindCycle(const Entities& entities) {
  // For each visited entity, the start of the walk that visited it first. A walk ends at an entity
  // that was visited before.
  std::unordered_map<std::string, const std::string*> met_from;
  for (const auto& [entity, declaration] : entities) {
    for (const std::string* at = &entity; at != nullptr; at = ParentOf(entities, *at)) {
      const auto [met, is_new] = met_from.try_emplace(*at, &entity);
      if (is_new) continue;
      if (met->second != &entity) break;
      const Chain cycle = CycleThrough(entities, *at);
      return ParentFault{cycle.front(), fmt::format("parents form a cycle: {}; expected a "
                                                    "chain that ends",
                                                    FormatChain(cycle))};
    }
  }
  return std::nullopt;
}

/// Returns the entities that a request of `entity` charges, up to one more than allowed.
Chain ChargedWith(const Entities& entities, const std::string& entity) {
  Chain chain = {entity};
  while (chain.size() <= kMaxCascade) {
    const auto found = entities.find(chain.back());
    if (found == entities.end() || !found->second.cascade) break;
    const std::string* parent = ParentOf(entities, chain.back());
    if (parent == nullptr) break;
    chain.push_back(*parent);
  }
  return chain;
}

}  // namespace

std::optional<ParentFault> FindParentFault(const Entities& entities) {
  if (auto cycle = FindCycle(entities)) return cycle;
  for (const auto& [entity, declaration] : entities) {
    const Chain chain = ChargedWith(entities, entity);
    if (chain.size() <= kMaxCascade) continue;
    return ParentFault{entity, fmt::format("a request would charge more than {} entities: {}; "
                                           "expected 'cascade: false' on one of them",
                                           kMaxCascade, FormatChain(chain))};
  }
  return std::nullopt;
}

int LineOfParent(std::string_view text, std::string_view entity) {
  const Result<YamlTree> tree = ParseYaml(text, "");
  if (!tree || tree->root == nullptr) return 0;
  const YamlNode* node = tree->root;
  for (const std::string_view key : std::array<std::string_view, 3>{"entities", entity, "parent"}) {
    const YamlEntry* entry = Find(*node, key);
    if (entry == nullptr) return 0;
    node = entry->value;
  }
  return node->line;
}

}  // namespace weir
