#include "weir/rules/testing/any_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace weir::rules {
namespace {

using Kind = EntryPattern::Kind;

rc::Gen<std::string> AnyKey() { return rc::gen::element<std::string>("a", "b", "k y"); }

rc::Gen<std::string> AnyValue() {
  return rc::gen::element<std::string>("", "x", "xy", "xyz", "xyz.", "y", "x*", "\"", "\\", "null",
                                       "\xc3\xa9");
}

rc::Gen<EntryPattern> AnyEntry() {
  return rc::gen::map(rc::gen::tuple(AnyKey(), AnyValue(), rc::gen::arbitrary<bool>()),
                      [](const auto& parts) {
                        const auto& [key, text, exact] = parts;
                        const bool has_star = text.find('*') != std::string::npos;
                        const auto kind = exact || has_star ? Kind::kExact : Kind::kPrefix;
                        return EntryPattern{.key = key, .kind = kind, .text = text};
                      });
}

Rule NewRule(std::string domain, std::vector<EntryPattern> match) {
  Rule rule{.domain = std::move(domain), .match = std::move(match)};
  rule.name = DefaultName(rule);
  return rule;
}

void ChooseLimits(Rule& rule) {
  if (*rc::gen::inRange(0, 5) == 0) {
    rule.unlimited = true;
    return;
  }
  rule.limits = {{.name = "r", .quota = PerMinute(*rc::gen::inRange(0, 3))}};
  rule.amounts = {{"r", Tokens::Milli(*rc::gen::element(0, 500, 1000))}};
  rule.always_charges = *rc::gen::arbitrary<bool>();
  rule.shadow = *rc::gen::arbitrary<bool>();
}

void ChooseBucket(Rule& rule) {
  const std::string& key = rule.match[0].key;
  const auto same_key = [&](const EntryPattern& entry) { return entry.key == key; };
  rule.has_own_bucket =
      std::ranges::count_if(rule.match, same_key) > 1 || *rc::gen::arbitrary<bool>();
  if (rule.has_own_bucket) {
    const bool shared = *rc::gen::arbitrary<bool>();
    for (EntryPattern& entry : rule.match) {
      entry.shared = shared && same_key(entry) && entry.kind == Kind::kPrefix;
    }
    rule.entity = OwnEntity(rule.match);
    rule.resource = OwnResource(rule.domain);
    return;
  }
  rule.entity = *IdTemplate::Parse(IdKind::kEntity, "t:{" + key + "}", rule.match);
  // Rules that have one bucket need the same limits.
  const std::string resource = fmt::format("r{}", rule.limits[0].quota.amount);
  rule.resource = *IdTemplate::Parse(IdKind::kResource, resource, rule.match);
}

Rule AnyRule() {
  Rule rule =
      NewRule(*AnyDomain(),
              *rc::gen::resize(
                  3, rc::gen::nonEmpty(rc::gen::container<std::vector<EntryPattern>>(AnyEntry()))));
  ChooseLimits(rule);
  if (!rule.unlimited) ChooseBucket(rule);
  if (*rc::gen::inRange(0, 4) == 0) rule.name = "a \"name\": #1";
  return rule;
}

/// Lets some rules replace others of their domain, in one order of names: rules must not replace
/// each other in a cycle.
void ChooseReplaces(std::vector<Rule>& rules) {
  for (Rule& rule : rules) {
    const Rule& other = rules[*rc::gen::inRange<std::size_t>(0, rules.size())];
    const bool may_replace = other.domain == rule.domain && other.name < rule.name;
    if (may_replace && *rc::gen::arbitrary<bool>()) rule.replaces = {other.name};
  }
}

}  // namespace

rc::Gen<std::string> AnyDomain() { return rc::gen::element<std::string>("edge", "b: c", "yes"); }

rc::Gen<std::vector<Rule>> AnyRules() {
  return rc::gen::exec([] {
    std::vector<Rule> rules;
    std::set<std::string> patterns;
    const int number = *rc::gen::inRange(0, 24);
    for (int i = 0; i < number; ++i) {
      Rule rule = AnyRule();
      std::string pattern = rule.domain + '\n';
      for (const EntryPattern& entry : rule.match) {
        pattern += entry.key + '\n' + (entry.kind == Kind::kExact ? '=' : '*') + entry.text + '\n';
      }
      if (patterns.insert(pattern).second) rules.push_back(std::move(rule));
    }
    ChooseReplaces(rules);
    return rules;
  });
}

std::vector<DescriptorEntry> ViewOf(const OwnedDescriptor& owned) {
  std::vector<DescriptorEntry> entries;
  for (const auto& [key, value] : owned) entries.push_back({key, value});
  return entries;
}

rc::Gen<OwnedDescriptor> AnyDescriptor() {
  const auto key = rc::gen::element<std::string>("a", "b", "k y", "c");
  const auto value = rc::gen::element<std::string>("", "x", "xy", "xyz", "xyz..", "xyzz", "y", "x*",
                                                   "\"", "\\\\", "z", std::string("\0", 1));
  return rc::gen::resize(3, rc::gen::container<OwnedDescriptor>(rc::gen::pair(key, value)));
}

rc::Gen<OwnedDescriptor> AnyDescriptorOf(const Rule& rule) {
  return rc::gen::exec([match = rule.match] {
    OwnedDescriptor owned;
    for (const EntryPattern& entry : match) {
      const bool is_exact = entry.kind == Kind::kExact;
      const auto rest = is_exact ? "" : *rc::gen::element<std::string>("", "", "y", "yz", "z");
      owned.emplace_back(entry.key, entry.text + rest);
    }
    return owned;
  });
}

}  // namespace weir::rules
