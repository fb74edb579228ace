#include "weir/rules/rule_set.h"

#include <utility>

namespace weir::rules {

tl::expected<RuleSet, SamePattern> RuleSet::Make(std::vector<Rule> rules) {
  RuleSet set;
  set.rules_ = std::move(rules);
  for (std::size_t i = 0; i < set.rules_.size(); ++i) {
    const Rule& rule = set.rules_[i];
    const auto first = set.domains_[rule.domain].Add(rule.match, static_cast<std::uint32_t>(i));
    if (first) return tl::unexpected(SamePattern{rule.line, set.rules_[*first].line});
  }
  return set;
}

std::optional<Match> RuleSet::Find(std::string_view domain, Descriptor descriptor) const {
  const auto tree = domains_.find(domain);
  if (tree == domains_.end()) return {};
  const auto found = tree->second.Find(descriptor);
  if (!found) return {};
  const Rule& rule = rules_[*found];
  if (rule.unlimited) return Match{&rule, {}, {}};
  return Match{&rule, rule.entity.Expand(descriptor), rule.resource.Expand(descriptor)};
}

}  // namespace weir::rules
