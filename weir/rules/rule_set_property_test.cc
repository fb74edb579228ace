// Find against a version that compares each rule, and the text of rules against their parser.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "weir/model/identifier.h"
#include "weir/rules/rule_set.h"
#include "weir/rules/rules_file.h"
#include "weir/rules/rules_file_text.h"
#include "weir/rules/sort_in_order.h"
#include "weir/rules/testing/any_rules.h"

namespace weir::rules {
namespace {

bool MatchesEntry(const EntryPattern& pattern, const DescriptorEntry& entry) {
  if (pattern.key != entry.key) return false;
  if (pattern.kind == EntryPattern::Kind::kExact) return pattern.text == entry.value;
  return entry.value.substr(0, pattern.text.size()) == pattern.text;
}

bool MatchesAll(const Rule& rule, std::string_view domain, Descriptor descriptor) {
  return rule.domain == domain && std::ranges::equal(rule.match, descriptor, MatchesEntry);
}

/// Orders patterns that match one descriptor: exact values first, then prefixes by length.
std::vector<std::size_t> RankOf(const Rule& rule) {
  std::vector<std::size_t> rank;
  for (const EntryPattern& entry : rule.match) {
    rank.push_back(entry.kind == EntryPattern::Kind::kExact ? 1'000'000 : entry.text.size());
  }
  return rank;
}

const Rule* SlowFind(const RuleSet& set, std::string_view domain, Descriptor descriptor) {
  const Rule* best = nullptr;
  for (const Rule& rule : set.rules()) {
    if (!MatchesAll(rule, domain, descriptor)) continue;
    if (best == nullptr || RankOf(rule) > RankOf(*best)) best = &rule;
  }
  return best;
}

void CheckFind(const RuleSet& set, const std::string& domain, const OwnedDescriptor& owned) {
  const auto descriptor = ViewOf(owned);
  const auto match = set.Find(domain, descriptor);
  const Rule* expected = SlowFind(set, domain, descriptor);
  RC_ASSERT((match ? match->rule : nullptr) == expected);
  const auto considered = set.Explain(domain, descriptor);
  const bool applies =
      !considered.empty() && considered[0].outcome == Considered::Outcome::kApplies;
  RC_ASSERT((applies ? considered[0].rule : nullptr) == expected);
}

// Fails if: prefixes are tried shortest first, or a branch without a complete rule ends the search.
RC_GTEST_PROP(RuleSetProperty, FindReturnsTheMostSpecificRuleThatMatches, ()) {
  const auto set = RuleSet::Make(*AnyRules());
  RC_ASSERT(set.has_value());
  for (int i = 0; i < 10; ++i) CheckFind(*set, *AnyDomain(), *AnyDescriptor());
  for (const Rule& rule : set->rules()) CheckFind(*set, rule.domain, *AnyDescriptorOf(rule));
}

bool MayShare(const Rule& rule) {
  return !rule.has_own_bucket || std::ranges::any_of(rule.match, &EntryPattern::shared);
}

void CheckBucket(const Match& match) {
  RC_ASSERT(CheckEntityId(match.entity).has_value());
  RC_ASSERT(CheckResource(match.resource).has_value());
  RC_ASSERT(match.entity.starts_with(kOwnPrefix) == match.rule->has_own_bucket);
}

// Fails if: an id has a byte that identifiers must not have, an own bucket does not depend on the
// domain or on an exact value, or two rules share an own bucket.
RC_GTEST_PROP(RuleSetProperty, DifferentDescriptorsHaveDifferentBuckets, ()) {
  const auto set = RuleSet::Make(*AnyRules());
  std::map<std::pair<std::string, std::string>, std::pair<std::string, OwnedDescriptor>> owners;
  std::map<std::pair<std::string, std::string>, const Rule*> rules;
  for (const Rule& rule : set->rules()) {
    const std::pair request(rule.domain, *AnyDescriptorOf(rule));
    const auto match = set->Find(request.first, ViewOf(request.second));
    if (!match || match->rule->unlimited) continue;
    CheckBucket(*match);
    const std::pair bucket(match->entity, match->resource);
    if (match->rule->has_own_bucket) {
      RC_ASSERT(rules.try_emplace(bucket, match->rule).first->second == match->rule);
    }
    if (MayShare(*match->rule)) continue;
    RC_ASSERT(owners.try_emplace(bucket, request).first->second == request);
  }
}

// Fails if: a text is not quoted although YAML reads it as something else.
RC_GTEST_PROP(RuleSetProperty, TheTextOfRulesReadsBack, ()) {
  std::vector<Rule> rules = *AnyRules();
  const std::string text = FormatRules(rules);
  const auto set = ParseRules(text, "f.yaml");
  if (!set) RC_FAIL(set.error().message + "\n" + text);
  const std::vector<Rule> in_order = rules;
  SortInOrder(rules, [&](const Rule& rule) {
    return std::ranges::find(in_order, rule.domain, &Rule::domain) - in_order.begin();
  });
  std::vector<Rule> again = set->rules();
  for (Rule& rule : again) rule.line = 0;
  RC_ASSERT(FormatRules(again) == text);
  RC_ASSERT(std::ranges::is_permutation(again, rules));
}

}  // namespace
}  // namespace weir::rules
