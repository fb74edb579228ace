#include "weir/rules/shared_buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "weir/rules/text_map.h"

namespace weir::rules {
namespace {

/// Ends a text that must not be a prefix of a longer one. No text of a rule has this byte.
constexpr char kEnd = '\0';

/// A rule with limits and templates.
struct Charger {
  const Rule* rule;
  FixedText entity;
  FixedText resource;
  std::string family;  ///< FamilyOf
  std::string key;     ///< of the search: if rules can share a bucket, one key begins the other
};
using Chargers = std::vector<Charger>;

/// Returns a text that is equal for two rules if the rules have the same templates, and the same
/// patterns of the entries whose values are not in the templates. Such rules never share a bucket:
/// equal ids mean equal values in the templates, so both rules would match each descriptor of the
/// bucket, and only the more specific rule applies.
std::string FamilyOf(const Rule& rule) {
  std::string family = rule.entity.text() + kEnd + rule.resource.text() + kEnd;
  for (std::size_t i = 0; i < rule.match.size(); ++i) {
    const EntryPattern& entry = rule.match[i];
    family += entry.key + kEnd;
    if (rule.entity.HasValueOf(i) || rule.resource.HasValueOf(i)) continue;
    family += (entry.kind == EntryPattern::Kind::kExact ? '=' : '*') + entry.text + kEnd;
  }
  return family;
}

/// Returns whether one of the texts begins with the other.
bool AgreeAtStart(std::string_view a, std::string_view b) {
  return a.size() < b.size() ? b.starts_with(a) : a.starts_with(b);
}

bool AgreeAtEnd(std::string_view a, std::string_view b) {
  return a.size() < b.size() ? b.ends_with(a) : a.ends_with(b);
}

/// Returns whether `whole`, a complete id, can be one of `ids`.
bool CanBe(std::string_view whole, const FixedText& ids) {
  return whole.size() >= ids.prefix.size() + ids.suffix.size() && whole.starts_with(ids.prefix) &&
         whole.ends_with(ids.suffix);
}

bool CanCoincide(const FixedText& a, const FixedText& b) {
  if (a.is_whole && b.is_whole) return a.prefix == b.prefix;
  if (a.is_whole) return CanBe(a.prefix, b);
  if (b.is_whole) return CanBe(b.prefix, a);
  return AgreeAtStart(a.prefix, b.prefix) && AgreeAtEnd(a.suffix, b.suffix);
}

bool Conflict(const Charger& a, const Charger& b) {
  if (a.rule->limits == b.rule->limits) return false;
  if (a.family == b.family) return false;
  return CanCoincide(a.resource, b.resource) && CanCoincide(a.entity, b.entity);
}

std::string ShapeOf(const FixedText& fixed) {
  return fixed.prefix + kEnd + (fixed.is_whole ? std::string() : "*" + fixed.suffix) + kEnd;
}

/// Collects the rules to compare. Rules with the same fixed texts and the same limits conflict with
/// the same other rules, except that rules of one family never conflict. So one rule of each of two
/// families suffices.
class ChargerList {
 public:
  void Add(const Rule& rule);
  Chargers Take() && { return std::move(all_); }

 private:
  struct Families {
    std::size_t number = 0;
    std::string first;
  };
  TextMap<Families> known_;
  Chargers all_;
};

void ChargerList::Add(const Rule& rule) {
  Charger charger{.rule = &rule,
                  .entity = rule.entity.FixedTextFor(rule.match),
                  .resource = rule.resource.FixedTextFor(rule.match),
                  .family = FamilyOf(rule)};
  std::string text = rule.domain + kEnd + ShapeOf(charger.entity) + ShapeOf(charger.resource);
  for (const Limit& limit : rule.limits) text += FormatLimit(limit) + kEnd;
  Families& families = known_[text];
  if (families.number == 2 || (families.number == 1 && families.first == charger.family)) return;
  if (families.number++ == 0) families.first = charger.family;
  all_.push_back(std::move(charger));
}

/// Searches for two conflicting rules. Compares only rules of which one key begins the other.
class ConflictSearch {
 public:
  using Pair = std::pair<const Rule*, const Rule*>;

  /// Returns two rules in the order of the file, or nothing. If `only_variable`, does not compare
  /// two rules whose resources are both whole.
  std::optional<Pair> Find(Chargers& chargers, bool only_variable);

  /// Returns whether more pairs were compared than allowed. Find then returned two similar rules,
  /// which need not conflict.
  bool is_exhausted() const { return compared_ > kMaxComparedPairs; }

 private:
  /// Chargers whose keys begin the key of the current one.
  using Stack = std::vector<const Charger*>;

  std::optional<Pair> Compare(const Stack& stack, const Charger& charger);

  std::size_t compared_ = 0;
};

std::optional<ConflictSearch::Pair> ConflictSearch::Find(Chargers& chargers, bool only_variable) {
  std::ranges::sort(chargers, {}, &Charger::key);
  Stack whole;
  Stack variable;
  for (const Charger& charger : chargers) {
    for (Stack* stack : {&whole, &variable}) {
      while (!stack->empty() && !charger.key.starts_with(stack->back()->key)) stack->pop_back();
    }
    if (auto found = Compare(variable, charger)) return found;
    const bool compares_all = !only_variable || !charger.resource.is_whole;
    if (!compares_all) {
      whole.push_back(&charger);
      continue;
    }
    if (auto found = Compare(whole, charger)) return found;
    variable.push_back(&charger);
  }
  return {};
}

std::optional<ConflictSearch::Pair> ConflictSearch::Compare(const Stack& stack,
                                                            const Charger& charger) {
  compared_ += stack.size();
  for (const Charger* other : stack) {
    if (!is_exhausted() && !Conflict(*other, charger)) continue;
    Pair pair(other->rule, charger.rule);
    if (pair.first->line > pair.second->line) std::swap(pair.first, pair.second);
    return pair;
  }
  return {};
}

/// Returns the fixed start of an id, followed by kEnd if it is the whole id.
std::string KeyOf(const FixedText& fixed) {
  return fixed.is_whole ? fixed.prefix + kEnd : fixed.prefix;
}

/// Compares first the rules with whole resources, of which there are many if each path has a rule,
/// and then all other pairs.
std::optional<ConflictSearch::Pair> FindConflict(ConflictSearch& search, Chargers& all) {
  const auto middle =
      std::ranges::partition(all, [](const Charger& charger) { return charger.resource.is_whole; });
  Chargers whole(all.begin(), middle.begin());
  for (Charger& charger : whole) {
    charger.key = charger.rule->domain + kEnd + KeyOf(charger.resource) + KeyOf(charger.entity);
  }
  if (auto found = search.Find(whole, /*only_variable=*/false)) return found;
  for (Charger& charger : all) charger.key = charger.rule->domain + kEnd + KeyOf(charger.entity);
  return search.Find(all, /*only_variable=*/true);
}

}  // namespace

Status CheckSharedBuckets(const YamlChecks& checks, const std::vector<Rule>& rules) {
  ChargerList list;
  for (const Rule& rule : rules) {
    if (!rule.limits.empty() && !rule.has_own_bucket) list.Add(rule);
  }
  Chargers chargers = std::move(list).Take();
  ConflictSearch search;
  const auto found = FindConflict(search, chargers);
  if (!found) return {};
  const auto [first, second] = *found;
  if (search.is_exhausted()) {
    return checks.Refuse(second->line,
                         fmt::format("more than {} pairs of rules, such as that on line {}, with "
                                     "templates that begin alike",
                                     kMaxComparedPairs, first->line),
                         "different fixed text at their start, or no templates");
  }
  return checks.Refuse(second->line,
                       fmt::format("the rule can have a bucket of the rule on line {}, which has "
                                   "other limits",
                                   first->line),
                       "the same limits, different fixed text in both templates, such as "
                       "'user:{user}', or no templates");
}

}  // namespace weir::rules
