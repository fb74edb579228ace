#include "weir/rules/shared_buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "weir/rules/text_map.h"

namespace weir::rules {
namespace {

/// Ends a text that must not match a longer one. No text of a rule has this byte.
constexpr char kEnd = '\0';

/// A rule with limits and templates.
struct Charger {
  const Rule* rule;
  FixedText entity;
  FixedText resource;
  std::string family;  ///< FamilyOf
  std::string key;     ///< of the search: of two rules with one bucket, one key begins the other
};
using Chargers = std::vector<Charger>;

/// Returns a text that is the same for two rules if these have the same templates, and the same
/// patterns of entries whose values are not in them. Such rules never have one bucket: its values
/// are equal, so both rules match each descriptor of the bucket, and one of them is more specific.
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

/// Returns whether one of the texts can begin the other.
bool AgreeAtStart(std::string_view a, std::string_view b) {
  return a.size() < b.size() ? b.starts_with(a) : a.starts_with(b);
}

bool AgreeAtEnd(std::string_view a, std::string_view b) {
  return a.size() < b.size() ? b.ends_with(a) : a.ends_with(b);
}

/// Returns whether `whole` can be one of the ids.
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

/// Collects the rules to compare. Rules with the same fixed text and the same limits conflict with
/// the same others, unless these are of their family: two families stand for all.
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

/// Searches for two rules that conflict among those of which one key begins the other.
class ConflictSearch {
 public:
  using Pair = std::pair<const Rule*, const Rule*>;

  /// Returns the first rule and the second one, or nothing. Does not compare two rules if
  /// `only_variable` and the resources of both are whole.
  std::optional<Pair> Find(Chargers& chargers, bool only_variable);

  /// Whether more pairs are compared than allowed; Find returns a rule that has many similar ones.
  bool is_exhausted() const { return compared_ > kMaxComparedPairs; }

 private:
  using Open = std::vector<const Charger*>;

  std::optional<Pair> Compare(const Open& open, const Charger& charger);

  std::size_t compared_ = 0;
};

std::optional<ConflictSearch::Pair> ConflictSearch::Find(Chargers& chargers, bool only_variable) {
  std::ranges::sort(chargers, {}, &Charger::key);
  Open whole;
  Open variable;
  for (const Charger& charger : chargers) {
    for (Open* open : {&whole, &variable}) {
      while (!open->empty() && !charger.key.starts_with(open->back()->key)) open->pop_back();
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

std::optional<ConflictSearch::Pair> ConflictSearch::Compare(const Open& open,
                                                            const Charger& charger) {
  compared_ += open.size();
  for (const Charger* other : open) {
    if (!is_exhausted() && !Conflict(*other, charger)) continue;
    Pair pair(other->rule, charger.rule);
    if (pair.first->line > pair.second->line) std::swap(pair.first, pair.second);
    return pair;
  }
  return {};
}

/// Ends the fixed start of an id if no other text follows it.
std::string KeyOf(const FixedText& fixed) {
  return fixed.is_whole ? fixed.prefix + kEnd : fixed.prefix;
}

/// Compares first the rules with whole resources, which are many if there is one for each path, and
/// then all others.
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
