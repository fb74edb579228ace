#include "apps/weir/commands/rules/rules_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

using rules::Considered;
using rules::EntryPattern;
using rules::Rule;

Json EntryJson(const EntryPattern& entry) {
  Json json = {{"key", entry.key}};
  if (entry.kind == EntryPattern::Kind::kExact) {
    json["value"] = entry.text;
  } else if (!entry.text.empty()) {
    json["prefix"] = entry.text;
  }
  if (entry.shared) json["shared"] = true;
  return json;
}

std::string_view NameOfOutcome(Considered::Outcome outcome) {
  switch (outcome) {
    case Considered::Outcome::kApplies:
      return "applies";
    case Considered::Outcome::kLessSpecific:
      return "less_specific";
    case Considered::Outcome::kDiffers:
      return "differs";
  }
  return "unknown";
}

std::string TextOfAmounts(const Rule& rule) {
  std::vector<std::string> texts;
  texts.reserve(rule.amounts.size());
  for (const auto& [limit, per_hit] : rule.amounts) {
    texts.push_back(fmt::format("{}={}", limit, FormatTokens(per_hit.milli())));
  }
  return fmt::format("{} for each hit", fmt::join(texts, " "));
}

std::string TextOfMatch(const rules::Match& match) {
  const Rule& rule = *match.rule;
  std::string text = fmt::format("rule      {}\n", EscapeControls(rule.name));
  if (rule.unlimited) return text + "charge    none: the rule is unlimited\n";
  text += fmt::format("entity    {}\nresource  {}\n", match.entity, match.resource);
  text += fmt::format("limits    {}\n", rule.limits.empty()
                                            ? "those of the entity and resource in the store"
                                            : FormatLimits(rule.limits));
  text += fmt::format("amounts   {}\n", TextOfAmounts(rule));
  if (rule.always_charges) text += "charge    always: into debt, never refused\n";
  if (rule.shadow) text += "shadow    charges, never refuses\n";
  return text;
}

}  // namespace

Json ToJson(const Rule& rule) {
  Json json = {{"name", rule.name}, {"domain", rule.domain}, {"match", Json::array()}};
  for (const EntryPattern& entry : rule.match) json["match"].push_back(EntryJson(entry));
  if (!rule.limits.empty()) json["limits"] = ToJson(rule.limits);
  for (const auto& [limit, per_hit] : rule.amounts) {
    json["amounts"][limit] = TokensJson(per_hit.milli());
  }
  if (!rule.has_own_bucket) {
    json["entity"] = rule.entity.text();
    json["resource"] = rule.resource.text();
  }
  if (!rule.unlimited) json["charge"] = rule.always_charges ? "always" : "admitted";
  if (rule.shadow) json["shadow"] = true;
  if (rule.unlimited) json["unlimited"] = true;
  if (!rule.replaces.empty()) json["replaces"] = rule.replaces;
  json["line"] = rule.line;
  return json;
}

Json ToJson(const RuleSearch& search) {
  Json json = {{"rule", nullptr}};
  if (search.match) {
    json["rule"] = ToJson(*search.match->rule);
    if (!search.match->rule->unlimited) {
      json["entity"] = search.match->entity;
      json["resource"] = search.match->resource;
    }
  }
  json["considered"] = Json::array();
  for (const auto& [rule, outcome, why] : search.considered) {
    json["considered"].push_back({{"name", rule->name},
                                  {"line", rule->line},
                                  {"outcome", NameOfOutcome(outcome)},
                                  {"why", why}});
  }
  return json;
}

std::string TextOf(const RuleSearch& search, std::size_t others) {
  std::string text = search.match ? TextOfMatch(*search.match)
                                  : "no rule matches: the descriptor is not limited\n";
  Table table({"considered", ">line", "result"});
  std::size_t left_away = 0;
  for (const auto& [rule, outcome, why] : search.considered) {
    if (outcome == Considered::Outcome::kDiffers && others == 0) {
      ++left_away;
      continue;
    }
    if (outcome == Considered::Outcome::kDiffers) --others;
    table.Row({EscapeControls(rule->name), fmt::format("{}", rule->line), why});
  }
  if (!table.empty()) text += '\n' + table.Text();
  if (left_away > 0) text += fmt::format("{} more that do not match: see --all\n", left_away);
  return text;
}

Json ToJson(const rules::ImportedRules& imported) {
  Json json = {{"limits", imported.limits},
               {"left_out", imported.limits_left_out},
               {"parts_left_out", imported.parts_left_out},
               {"rules", Json::array()},
               {"notes", Json::array()}};
  for (const Rule& rule : imported.rules) json["rules"].push_back(ToJson(rule));
  for (const auto& [line, is_left_out, what] : imported.notes) {
    json["notes"].push_back({{"line", line}, {"left_out", is_left_out}, {"what", what}});
  }
  return json;
}

}  // namespace weir::app
