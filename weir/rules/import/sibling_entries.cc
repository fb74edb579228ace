#include "weir/rules/import/sibling_entries.h"

#include <fmt/format.h>

#include <utility>

#include "weir/rules/import/import_checks.h"

namespace weir::rules {
namespace {

bool IsPrefix(const EntryPattern& entry) { return entry.kind == EntryPattern::Kind::kPrefix; }

/// Whether the prefix is a wildcard and not a key alone, which the service tries last.
bool IsWildcard(const SiblingEntry& sibling) {
  return TextAt(*sibling.node, "value").ends_with('*');
}

bool HasDescriptors(const SiblingEntry& sibling) {
  const YamlEntry* below = Find(*sibling.node, "descriptors");
  return below != nullptr && !below->value->elements.empty();
}

}  // namespace

bool HasRateLimit(const SiblingEntry& sibling) {
  return Find(*sibling.node, "rate_limit") != nullptr;
}

bool SiblingEntries::Add(const YamlNode& node, EntryPattern entry) {
  auto& indexes = IsPrefix(entry) ? prefixes_[entry.key] : exact_[entry.key];
  if (!indexes.try_emplace(entry.text, all_.size()).second) return false;
  all_.push_back({&node, std::move(entry), all_.size()});
  return true;
}

std::vector<SiblingEntry> SiblingEntries::WiderThan(std::size_t index) const {
  const EntryPattern& entry = all_[index].entry;
  const auto prefixes = prefixes_.find(entry.key);
  if (prefixes == prefixes_.end()) return {};
  std::vector<SiblingEntry> wider;
  std::size_t length = entry.text.size() + (IsPrefix(entry) ? 0 : 1);
  while (length-- > 0) {
    const auto found = prefixes->second.find(std::string_view(entry.text).substr(0, length));
    if (found != prefixes->second.end()) wider.push_back(all_[found->second]);
  }
  return wider;
}

void SiblingEntries::ReportDifferences(std::size_t index, ImportCollector& out) const {
  const auto& [node, entry, order] = all_[index];
  for (const SiblingEntry& wider : WiderThan(index)) {
    if (IsPrefix(entry) && IsWildcard(wider) && wider.index < order) {
      out.Remark(node->line, fmt::format("{} is now more specific than {}, which is before it and "
                                         "was taken first",
                                         TextOf(entry), TextOf(wider.entry)));
    }
    if (HasDescriptors(wider)) {
      out.Remark(node->line,
                 fmt::format("a descriptor with {} now falls back to the rules below {}, "
                             "if none below {} matches",
                             TextOf(entry), TextOf(wider.entry), TextOf(entry)));
    }
  }
}

}  // namespace weir::rules
