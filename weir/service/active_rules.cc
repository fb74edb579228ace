#include "weir/service/active_rules.h"

#include <algorithm>
#include <set>
#include <utility>

namespace weir::service {
namespace {

// A table of counts with at most `max` names, and `others`.
template <class Table>
class BoundedTable {
 public:
  using Name = typename Table::key_type;

  BoundedTable(Table& table, Name others, std::size_t max)
      : table_(table), others_(std::move(others)), max_(max) {}

  // Removes the names that are not among these, if there is no space for all of these. Requests in
  // flight may still count under removed names; no metric has these counts any more.
  void MakeSpace(const std::set<Name>& names) {
    const auto is_new = [this](const Name& name) { return !table_.contains(name); };
    const auto more = static_cast<std::size_t>(std::ranges::count_if(names, is_new));
    if (size() + more <= max_) return;
    std::erase_if(table_, [&](const auto& entry) {
      return entry.first != others_ && !names.contains(entry.first);
    });
  }

  // Returns the counts of this name, or those of `others` if there is no space.
  typename Table::mapped_type CountsOf(Name name) {
    if (size() >= max_ && !table_.contains(name)) name = others_;
    auto& counts = table_[std::move(name)];
    if (counts == nullptr) counts = std::make_shared<typename Table::mapped_type::element_type>();
    return counts;
  }

 private:
  std::size_t size() const { return table_.size() - table_.count(others_); }

  Table& table_;
  const Name others_;
  const std::size_t max_;
};

}  // namespace

ActiveRulesPtr RuleCountsByName::Activate(rules::RuleSet rules) {
  std::set<Name> names;
  std::set<std::string> domains;
  for (const rules::Rule& rule : rules.rules()) {
    names.insert({rule.domain, rule.name});
    domains.insert(rule.domain);
  }
  std::vector<ActiveRules::Counts> counts;
  const MutexLock lock(mutex_);
  BoundedTable<RuleTable> by_rule(rules_, {kOthers, kOthers}, kMaxNames);
  BoundedTable<DomainTable> by_domain(domains_, kOthers, kMaxDomains);
  by_rule.MakeSpace(names);
  by_domain.MakeSpace(domains);
  for (const rules::Rule& rule : rules.rules()) {
    counts.push_back({.rule = by_rule.CountsOf({rule.domain, rule.name}),
                      .domain = by_domain.CountsOf(rule.domain)});
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
