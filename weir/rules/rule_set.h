// The descriptor rules of the rate limit service. Format: docs/rules-file.md; why the rules are as
// they are: docs/design/rules.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "weir/rules/descriptor.h"
#include "weir/rules/rule.h"
#include "weir/rules/rule_tree.h"
#include "weir/rules/text_map.h"

namespace weir::rules {

/// The rule of a descriptor and the bucket to charge.
struct Match {
  const Rule* rule;      ///< lives as long as the set
  std::string entity;    ///< valid for CheckEntityId; empty if the rule is unlimited
  std::string resource;  ///< valid for CheckResource; empty if the rule is unlimited
};

/// One rule that Explain has considered.
struct Considered {
  enum class Outcome { kApplies, kLessSpecific, kDiffers };
  const Rule* rule;  ///< lives as long as the set
  Outcome outcome;
  std::string why;  ///< one line of visible text in UTF-8
};

/// The lines of two rules that match the same descriptors.
struct SamePattern {
  int line;
  int first_line;
};

/// An immutable set of rules. All functions may be called by any thread.
class RuleSet {
 public:
  RuleSet() = default;
  // A Match refers to a rule of its set: sets are moved, not copied.
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;
  RuleSet(RuleSet&&) = default;
  RuleSet& operator=(RuleSet&&) = default;
  ~RuleSet() = default;

  /// Returns the rule of the most specific pattern that matches (RuleTree::Find), and its bucket.
  /// Nothing if no rule matches or the domain has no rules. The time is linear in the bytes of the
  /// descriptor and does not depend on the number of rules, except if prefixes of many lengths
  /// match. Throws std::bad_alloc if memory is exhausted.
  [[nodiscard]] std::optional<Match> Find(std::string_view domain, Descriptor descriptor) const;

  /// Returns all rules of the domain with the reason why each of them applies or not: first the
  /// rule that Find returns, then the other rules that match, the more specific ones first, then
  /// those that do not match, in the order of the file. Slow; for `weir rules try`.
  [[nodiscard]] std::vector<Considered> Explain(std::string_view domain,
                                                Descriptor descriptor) const;

  /// Returns the rules in the order of the file.
  const std::vector<Rule>& rules() const { return rules_; }
  /// Returns the number of domains that have a rule.
  std::size_t domains() const { return domains_.size(); }
  /// Returns whether the domain has a rule.
  bool HasDomain(std::string_view domain) const { return domains_.contains(domain); }

  /// Makes a set of these rules, which are valid (ParseRules), or returns the lines of two rules
  /// with the same pattern.
  [[nodiscard]] static tl::expected<RuleSet, SamePattern> Make(std::vector<Rule> rules);

 private:
  std::vector<Rule> rules_;
  TextMap<RuleTree> domains_;
};

}  // namespace weir::rules
