#include <fmt/format.h>

#include <algorithm>

#include "weir/model/quoted.h"
#include "weir/rules/rule_set.h"
#include "weir/rules/sort_in_order.h"

namespace weir::rules {
namespace {

using Outcome = Considered::Outcome;

std::string CountOf(std::size_t entries) {
  return entries == 1 ? "1 entry" : fmt::format("{} entries", entries);
}

/// Returns why the entry does not match; empty if it does.
std::string DifferenceOf(const EntryPattern& pattern, const DescriptorEntry& entry) {
  if (pattern.key != entry.key) {
    return fmt::format("the key is {} and not {}", Quoted(entry.key), Quoted(pattern.key));
  }
  if (pattern.kind == EntryPattern::Kind::kExact && entry.value != pattern.text) {
    return fmt::format("{} is {} and not {}", Quoted(entry.key), Quoted(entry.value),
                       Quoted(pattern.text));
  }
  if (pattern.kind == EntryPattern::Kind::kPrefix && !entry.value.starts_with(pattern.text)) {
    return fmt::format("{} is {} and does not begin with {}", Quoted(entry.key),
                       Quoted(entry.value), Quoted(pattern.text));
  }
  return {};
}

/// Returns why the rule does not match; empty if it does.
std::string DifferenceOf(const Rule& rule, Descriptor descriptor) {
  if (rule.match.size() != descriptor.size()) {
    return fmt::format("the rule has {}, the descriptor {}", CountOf(rule.match.size()),
                       CountOf(descriptor.size()));
  }
  for (std::size_t i = 0; i < descriptor.size(); ++i) {
    std::string why = DifferenceOf(rule.match[i], descriptor[i]);
    if (!why.empty()) return fmt::format("entry {}: {}", i + 1, why);
  }
  return {};
}

/// Returns a number that is larger for the more specific of two patterns that match one value.
std::size_t SpecificityOf(const EntryPattern& entry) {
  return entry.kind == EntryPattern::Kind::kExact ? std::string::npos : entry.text.size();
}

bool IsMoreSpecific(const Considered& a, const Considered& b) {
  return std::ranges::lexicographical_compare(a.rule->match, b.rule->match, std::greater(),
                                              SpecificityOf, SpecificityOf);
}

/// Returns why `applied` applies and not `rule`. REQUIRES: `rule` matches and is less specific.
std::string ReasonOfOrder(const Rule& rule, const Rule& applied) {
  for (std::size_t i = 0; i < rule.match.size(); ++i) {
    if (SpecificityOf(rule.match[i]) == SpecificityOf(applied.match[i])) continue;
    return fmt::format("entry {}: {} is more specific than {}", i + 1, TextOf(applied.match[i]),
                       TextOf(rule.match[i]));
  }
  return {};
}

}  // namespace

std::vector<Considered> RuleSet::Explain(std::string_view domain, Descriptor descriptor) const {
  std::vector<Considered> all;
  for (const Rule& rule : rules_) {
    if (rule.domain != domain) continue;
    std::string why = DifferenceOf(rule, descriptor);
    const Outcome outcome = why.empty() ? Outcome::kLessSpecific : Outcome::kDiffers;
    all.push_back({&rule, outcome, std::move(why)});
  }
  const auto is_different = [](const Considered& one) { return one.outcome == Outcome::kDiffers; };
  SortInOrder(all, is_different);
  const auto end_of_matching = std::ranges::find_if(all, is_different);
  std::sort(all.begin(), end_of_matching, IsMoreSpecific);
  for (auto one = all.begin(); one != end_of_matching; ++one) {
    const bool is_applied = one == all.begin();
    if (is_applied) one->outcome = Outcome::kApplies;
    one->why = is_applied ? "matches" : ReasonOfOrder(*one->rule, *all.front().rule);
  }
  return all;
}

}  // namespace weir::rules
