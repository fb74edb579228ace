// The rules in force, and their counts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/rules/rule_set.h"
#include "weir/telemetry/counter.h"

namespace weir::service {

/// Counts of the descriptors of the rules of one name, and of their hits. A descriptor that only
/// looks (takes nothing) has no hits. Any thread.
struct RuleCounts {
  Counter within;       ///< descriptors that were admitted, or charged without a decision
  Counter over;         ///< descriptors that were refused
  Counter shadow_over;  ///< descriptors that would have been refused if the rule were no shadow
  Counter undecided;    ///< descriptors that could not be decided, and charges that failed
  Counter hits_within;
  Counter hits_over;
  Counter hits_shadow_over;
};

/// Counts of the requests of one domain that have a rule. Any thread.
struct DomainCounts {
  Counter admitted;
  Counter refused;
};

/// Rules and their counts. Immutable but for the counts.
class ActiveRules {
 public:
  struct Counts {
    std::shared_ptr<RuleCounts> rule;
    std::shared_ptr<DomainCounts> domain;
  };

  /// `counts[i]` is of `rules.rules()[i]`.
  ActiveRules(rules::RuleSet rules, std::vector<Counts> counts)
      : rules_(std::move(rules)), counts_(std::move(counts)) {}

  const rules::RuleSet& rules() const { return rules_; }
  /// REQUIRES: `rule` is one of rules().
  const Counts& CountsOf(const rules::Rule& rule) const {
    return counts_[static_cast<std::size_t>(&rule - rules_.rules().data())];
  }

 private:
  rules::RuleSet rules_;
  std::vector<Counts> counts_;
};
using ActiveRulesPtr = std::shared_ptr<const ActiveRules>;

/// Preserves the counts of rules when the rules file changes. Thread-safe.
class RuleCountsByName {
 public:
  /// Names of rules, and domains, beyond these numbers share the counts of kOthers. Names that are
  /// no longer in the file keep their counts as long as there is space for the names of the file.
  static constexpr std::size_t kMaxNames = 1'000;
  static constexpr std::size_t kMaxDomains = 100;
  static constexpr char kOthers[] = "others";

  /// A domain and the name of a rule.
  using Name = std::pair<std::string, std::string>;
  using RuleTable = std::map<Name, std::shared_ptr<RuleCounts>>;
  using DomainTable = std::map<std::string, std::shared_ptr<DomainCounts>>;

  ActiveRulesPtr Activate(rules::RuleSet rules);
  RuleTable ByRule() const;
  DomainTable ByDomain() const;

 private:
  mutable Mutex mutex_;
  RuleTable rules_ WEIR_GUARDED_BY(mutex_);
  DomainTable domains_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::service
