// The check of rules that have one bucket, against the buckets of all short descriptors.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/rules/rule_set.h"
#include "weir/rules/shared_buckets.h"
#include "weir/rules/testing/any_rules.h"

namespace weir::rules {
namespace {

using Kind = EntryPattern::Kind;

constexpr std::string_view kValues[] = {"",    "x",  "y",   "x:",  "x:y", "y:x", "x.",
                                        "x.y", "xy", "x:x", "x.:", ".",   "yx"};

EntryPattern AnyEntryOf(const std::string& key) {
  EntryPattern entry{.key = key};
  entry.text = *rc::gen::element<std::string>("", "x", "x.", "x.y", "x:", "y", "x:y");
  if (!entry.text.empty() && *rc::gen::arbitrary<bool>()) entry.kind = Kind::kExact;
  return entry;
}

/// Nothing if the pattern has not all keys of the templates.
std::optional<Rule> AnyRuleWithTemplates() {
  Rule rule{.domain = "d"};
  for (const char key : *rc::gen::element<std::string>("a", "b", "ab", "ba")) {
    rule.match.push_back(AnyEntryOf(std::string(1, key)));
  }
  const auto entity = *rc::gen::element<std::string>("{a}", "{b}", "x:{a}", "{b}:y", "{a}:{b}", "x",
                                                     "{a}-", "y:{b}:x", "{b}x");
  const auto resource = *rc::gen::element<std::string>("x", "x", "y", "{a}", "x/{b}", "{b}:y");
  const auto made = IdTemplate::Parse(IdKind::kEntity, entity, rule.match);
  const auto other = IdTemplate::Parse(IdKind::kResource, resource, rule.match);
  if (!made || !other) return {};
  rule.entity = *made;
  rule.resource = *other;
  rule.has_own_bucket = false;
  rule.limits = {{.name = "r", .quota = PerMinute(*rc::gen::inRange(1, 4))}};
  return rule;
}

std::vector<OwnedDescriptor> ShortDescriptors() {
  std::vector<OwnedDescriptor> all;
  for (const std::string_view x : kValues) {
    for (const char* key : {"a", "b"}) all.push_back({{key, std::string(x)}});
    for (const std::string_view y : kValues) {
      all.push_back({{"a", std::string(x)}, {"b", std::string(y)}});
      all.push_back({{"b", std::string(x)}, {"a", std::string(y)}});
    }
  }
  return all;
}

bool HaveOneBucketWithTwoLimits(const RuleSet& set) {
  static const auto descriptors = ShortDescriptors();
  std::map<std::pair<std::string, std::string>, const Rule*> owners;
  for (const OwnedDescriptor& descriptor : descriptors) {
    const auto match = set.Find("d", ViewOf(descriptor));
    if (!match) continue;
    const auto [owner, is_new] = owners.try_emplace({match->entity, match->resource}, match->rule);
    if (!is_new && owner->second->limits != match->rule->limits) return true;
  }
  return false;
}

// Fails if: rules with the same templates are not compared although other entries differ.
RC_GTEST_PROP(SharedBucketsProperty, NoBucketOfAcceptedRulesHasTwoLimits, ()) {
  for (int round = 0; round < 50; ++round) {
    std::vector<Rule> rules;
    const int number = *rc::gen::inRange(2, 6);
    for (int i = 0; i < number; ++i) {
      if (auto rule = AnyRuleWithTemplates()) rules.push_back(std::move(*rule));
    }
    const bool is_accepted = CheckSharedBuckets(YamlChecks("f.yaml"), rules).has_value();
    const auto set = RuleSet::Make(std::move(rules));
    if (set && is_accepted) RC_ASSERT(!HaveOneBucketWithTwoLimits(*set));
  }
}

}  // namespace
}  // namespace weir::rules
