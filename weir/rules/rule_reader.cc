#include "weir/rules/rule_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "weir/model/identifier.h"
#include "weir/model/quota_text.h"
#include "weir/model/quoted.h"
#include "weir/model/reserved_allowance.h"
#include "weir/rules/pattern_reader.h"
#include "weir/rules/rules_file.h"

namespace weir::rules {
namespace {

using Kind = YamlNode::Kind;

constexpr std::array<std::string_view, 11> kRuleKeys = {"match",  "name",      "limits",  "amounts",
                                                        "entity", "resource",  "share",   "charge",
                                                        "shadow", "unlimited", "replaces"};
constexpr std::array<std::string_view, 2> kRuleTruths = {"true", "false"};
constexpr std::array<std::string_view, 2> kCharges = {"admitted", "always"};
/// The keys of a rule that is not unlimited.
constexpr std::array<std::string_view, 7> kChargeKeys = {"limits", "amounts", "entity", "resource",
                                                         "share",  "charge",  "shadow"};
constexpr std::string_view kAmountsExample = "tokens for each hit, such as '{rpm: 1, tpm: 0}'";

const Limit* FindLimit(const std::vector<Limit>& limits, std::string_view name) {
  const auto found = std::ranges::find(limits, name, &Limit::name);
  return found == limits.end() ? nullptr : &*found;
}

bool HasPrefix(const Rule& rule, std::string_view key) {
  return std::ranges::any_of(rule.match, [key](const EntryPattern& entry) {
    return entry.kind == EntryPattern::Kind::kPrefix && entry.key == key;
  });
}

}  // namespace

Result<Rule> RuleReader::Read(const YamlNode& node, std::string_view domain) {
  WEIR_RETURN_IF_ERROR(checks_.ExpectKeys(node, "a rule", kRuleKeys));
  Rule rule{.domain = std::string(domain), .line = node.line};
  WEIR_RETURN_IF_ERROR(ReadMatch(node, rule));
  WEIR_RETURN_IF_ERROR(ReadName(node, rule));
  WEIR_RETURN_IF_ERROR(ReadReplaces(node, rule));
  WEIR_RETURN_IF_ERROR(ReadCharge(node, rule));
  if (!rule.unlimited) WEIR_RETURN_IF_ERROR(ReadBucket(node, rule));
  return rule;
}

Status RuleReader::ReadMatch(const YamlNode& node, Rule& rule) const {
  const YamlEntry* match = Find(node, "match");
  if (match == nullptr) {
    return checks_.Refuse(node.line, "a rule without match", "'match: {user: \"*\"}'");
  }
  WEIR_ASSIGN_OR_RETURN(rule.match, ReadPattern(checks_, *match->value));
  return {};
}

Status RuleReader::ReadName(const YamlNode& node, Rule& rule) const {
  const YamlEntry* name = Find(node, "name");
  if (name == nullptr) {
    rule.name = DefaultName(rule);
    return {};
  }
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kScalar, *name->value, "name", "a text"));
  WEIR_RETURN_IF_ERROR(CheckRuleText(checks_, *name->value, "rule name", kMaxRuleName));
  rule.name = name->value->text;
  return {};
}

Status RuleReader::ReadReplaces(const YamlNode& node, Rule& rule) const {
  const YamlEntry* replaces = Find(node, "replaces");
  if (replaces == nullptr) return {};
  const YamlNode& list = *replaces->value;
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kSequence, list, "replaces", "a list of names"));
  if (list.elements.size() > kMaxReplaces) {
    return checks_.Refuse(list.line, fmt::format("replaces has {} names", list.elements.size()),
                          fmt::format("at most {}", kMaxReplaces));
  }
  for (const YamlNode* name : list.elements) {
    WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kScalar, *name, "a name of replaces", "a text"));
    WEIR_RETURN_IF_ERROR(CheckRuleText(checks_, *name, "rule name", kMaxRuleName));
    if (name->text == rule.name) {
      return checks_.Refuse(name->line,
                            fmt::format("the rule replaces its own name {}", Quoted(rule.name)),
                            "names of other rules");
    }
    rule.replaces.push_back(name->text);
  }
  return {};
}

Status RuleReader::ReadCharge(const YamlNode& node, Rule& rule) {
  WEIR_RETURN_IF_ERROR(ReadFlags(node, rule));
  if (rule.unlimited) {
    for (const std::string_view key : kChargeKeys) {
      const YamlEntry* entry = Find(node, key);
      if (entry == nullptr) continue;
      return checks_.Refuse(entry->key->line, fmt::format("an unlimited rule with {}", key),
                            "one of the two");
    }
    return {};
  }
  if (const YamlEntry* limits = Find(node, "limits")) {
    WEIR_ASSIGN_OR_RETURN(rule.limits, limits_.Read(*limits->value, "rule " + Quoted(rule.name)));
  }
  WEIR_RETURN_IF_ERROR(ReadAmounts(node, rule));
  return CheckAmounts(node, rule);
}

Status RuleReader::ReadFlags(const YamlNode& node, Rule& rule) const {
  WEIR_RETURN_IF_ERROR(ReadTruth(node, "unlimited", rule.unlimited));
  WEIR_RETURN_IF_ERROR(ReadTruth(node, "shadow", rule.shadow));
  const YamlEntry* charge = Find(node, "charge");
  if (charge == nullptr) return {};
  WEIR_RETURN_IF_ERROR(checks_.ExpectWord(*charge->value, "charge", kCharges));
  rule.always_charges = charge->value->text == "always";
  return {};
}

Status RuleReader::ReadAmounts(const YamlNode& node, Rule& rule) const {
  const YamlEntry* amounts = Find(node, "amounts");
  if (amounts == nullptr) {
    if (rule.limits.empty()) {
      return checks_.Refuse(
          node.line, "a rule without limits and amounts",
          "limits, or amounts of limits that the entity has, or 'unlimited: true'");
    }
    for (const Limit& limit : rule.limits) rule.amounts.push_back({limit.name, 1});
    return {};
  }
  const YamlNode& all = *amounts->value;
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kMapping, all, "amounts", kAmountsExample));
  if (all.entries.empty() || all.entries.size() > kMaxLimits) {
    return checks_.Refuse(all.line, fmt::format("amounts of {} limits", all.entries.size()),
                          fmt::format("of 1 to {}", kMaxLimits));
  }
  for (const YamlEntry& amount : all.entries) WEIR_RETURN_IF_ERROR(ReadAmount(amount, rule));
  return {};
}

Status RuleReader::ReadAmount(const YamlEntry& entry, Rule& rule) const {
  const auto& [name, value] = entry;
  WEIR_RETURN_IF_ERROR(checks_.CheckName(*name, CheckLimitName));
  if (!rule.limits.empty() && FindLimit(rule.limits, name->text) == nullptr) {
    return checks_.Refuse(name->line, fmt::format("an amount of {}", Quoted(name->text)),
                          "a limit that the rule has");
  }
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kScalar, *value, "an amount", "a number of tokens"));
  const auto tokens = ParseTokensFromZero("amount of " + name->text, value->text);
  if (!tokens) return checks_.At(*value, tokens.error());
  rule.amounts.push_back({name->text, Tokens::Milli(*tokens)});
  return {};
}

// A limit of 0 is a way to block what the rule matches, and only a rule that is decided can refuse.
Status RuleReader::CheckAmounts(const YamlNode& node, const Rule& rule) const {
  if (rule.always_charges || rule.shadow) return {};
  const std::vector<Limit> enforced = ReserveAllowance(rule.limits);
  for (const auto& [name, per_hit] : rule.amounts) {
    const Limit* limit = FindLimit(enforced, name);
    const std::int64_t capacity = limit == nullptr ? 0 : limit->quota.capacity;
    if (capacity == 0 || per_hit.milli() <= capacity) continue;
    const YamlEntry* amounts = Find(node, "amounts");
    return checks_.Refuse(
        amounts == nullptr ? node.line : amounts->value->line,
        fmt::format("a hit takes {} of {}, and its bucket holds {}: no request would pass",
                    FormatTokens(per_hit.milli()), Quoted(name), FormatTokens(capacity)),
        "an amount that fits, or 'charge: always'");
  }
  return {};
}

Status RuleReader::ReadBucket(const YamlNode& node, Rule& rule) const {
  const YamlEntry* entity = Find(node, "entity");
  const YamlEntry* resource = Find(node, "resource");
  if ((entity == nullptr) != (resource == nullptr)) {
    return checks_.Refuse(node.line, "only one of entity and resource",
                          "both of them, or none if the rule has limits");
  }
  WEIR_RETURN_IF_ERROR(ReadShare(node, rule));
  rule.has_own_bucket = entity == nullptr;
  if (rule.has_own_bucket) {
    if (rule.limits.empty()) {
      return checks_.Refuse(node.line, "a rule without limits and entity",
                            "limits, or entity and resource, which have limits");
    }
    rule.entity = OwnEntity(rule.match);
    rule.resource = OwnResource(rule.domain);
    return {};
  }
  WEIR_ASSIGN_OR_RETURN(rule.entity, ReadTemplate(IdKind::kEntity, *entity->value, rule));
  WEIR_ASSIGN_OR_RETURN(rule.resource, ReadTemplate(IdKind::kResource, *resource->value, rule));
  return {};
}

Status RuleReader::ReadShare(const YamlNode& node, Rule& rule) const {
  const YamlEntry* share = Find(node, "share");
  if (share == nullptr) return {};
  const YamlNode& value = *share->value;
  if (Find(node, "entity") != nullptr) {
    return checks_.Refuse(share->key->line, "share and entity",
                          "an entity without the key whose values share the bucket");
  }
  if (value.kind == Kind::kScalar) {
    bool all = false;
    WEIR_RETURN_IF_ERROR(ReadTruth(node, "share", all));
    for (EntryPattern& entry : rule.match) {
      entry.shared = all && entry.kind == EntryPattern::Kind::kPrefix;
    }
    return {};
  }
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kSequence, value, "share", "true, or a list of keys"));
  for (const YamlNode* key : value.elements) {
    WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kScalar, *key, "a key of share", "a text"));
    if (!HasPrefix(rule, key->text)) {
      return checks_.Refuse(key->line, fmt::format("share has {}", Quoted(key->text)),
                            "a key of match without value, or with a wildcard");
    }
    for (EntryPattern& entry : rule.match) {
      const bool is_prefix = entry.kind == EntryPattern::Kind::kPrefix;
      if (is_prefix && entry.key == key->text) entry.shared = true;
    }
  }
  return {};
}

Result<IdTemplate> RuleReader::ReadTemplate(IdKind kind, const YamlNode& node,
                                            const Rule& rule) const {
  const auto* what = kind == IdKind::kEntity ? "entity" : "resource";
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kScalar, node, what, "a template such as '{tenant}'"));
  WEIR_RETURN_IF_ERROR(CheckRuleText(checks_, node, what, kMaxPatternText));
  auto parsed = IdTemplate::Parse(kind, node.text, rule.match);
  if (!parsed) return checks_.At(node, parsed.error());
  return parsed;
}

Status RuleReader::ReadTruth(const YamlNode& node, std::string_view key, bool& flag) const {
  const YamlEntry* entry = Find(node, key);
  if (entry == nullptr) return {};
  WEIR_RETURN_IF_ERROR(checks_.ExpectWord(*entry->value, key, kRuleTruths));
  flag = entry->value->text == "true";
  return {};
}

}  // namespace weir::rules
