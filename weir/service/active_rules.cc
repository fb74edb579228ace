#include "weir/service/active_rules.h"

#include <utility>

namespace weir::service {
namespace {

// Returns the counts of this name, or of `others` if there are too many names.
template <class Table>
typename Table::mapped_type CountsIn(Table& table, typename Table::key_type name,
                                     const typename Table::key_type& others, std::size_t max) {
  if (table.size() >= max && !table.contains(name)) name = others;
  auto& counts = table[std::move(name)];
  if (counts == nullptr) counts = std::make_shared<typename Table::mapped_type::element_type>();
  return counts;
}

}  // namespace

ActiveRulesPtr RuleCountsByName::Activate(rules::RuleSet rules) {
  std::vector<ActiveRules::Counts> counts;
  const MutexLock lock(mutex_);
  for (const rules::Rule& rule : rules.rules()) {
    counts.push_back(
        {.rule = CountsIn(rules_, {rule.domain, rule.name}, {kOthers, kOthers}, kMaxNames),
         .domain = CountsIn(domains_, rule.domain, kOthers, kMaxDomains)});
  }
  return std::make_shared<const ActiveRules>(std::move(rules), std::move(counts));
}

RuleCountsByName::RuleTable RuleCountsByName::ByRule() const {
  const MutexLock lock(mutex_);
  return rules_;
}

RuleCountsByName::DomainTable RuleCountsByName::ByDomain() const {
  const MutexLock lock(mutex_);
  return domains_;
}

}  // namespace weir::service
