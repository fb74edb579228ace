#include "weir/rules/import/imported_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "weir/model/quoted.h"
#include "weir/model/stored_text.h"
#include "weir/rules/replace_cycles.h"
#include "weir/rules/rules_file.h"
#include "weir/rules/sort_in_order.h"

namespace weir::rules {
namespace {

/// Returns why a rules file cannot have this text; empty if it can.
std::string FaultOfText(std::string_view what, std::string_view text, std::size_t longest) {
  const Status status = CheckText({.what = what, .longest = longest}, text);
  return status ? "" : status.error().message;
}

std::string FaultOf(const Rule& rule) {
  std::string fault = FaultOfText("domain", rule.domain, kMaxPatternText);
  if (fault.empty()) fault = FaultOfText("rule name", rule.name, kMaxRuleName);
  for (const EntryPattern& entry : rule.match) {
    if (fault.empty()) fault = FaultOfEntry(entry);
    for (const EntryPattern& other : rule.match) {
      const bool may_share = other.key == entry.key && other.kind == EntryPattern::Kind::kPrefix;
      if (!entry.shared || !may_share || other.shared) continue;
      return fmt::format("only one of two values of {} shares its limit", Quoted(entry.key));
    }
  }
  return fault;
}

/// Finds names that the `replaces` of rules cannot have.
class ReplacesChecks {
 public:
  explicit ReplacesChecks(const std::vector<Rule>& rules) {
    for (const Rule& rule : rules) names_.insert({rule.domain, rule.name});
    ReplaceCycles cycles(rules);
    while (const auto closing = cycles.Next()) {
      closing_.insert({closing->rule->domain, closing->rule->name, std::string(closing->name)});
    }
  }

  /// Returns why the rule cannot replace this name; empty if it can.
  std::string_view FaultOf(const Rule& rule, const std::string& name) const {
    if (name == rule.name) return "the name of the rule itself";
    if (!names_.contains({rule.domain, name})) return "no rule has this name";
    if (!closing_.contains({rule.domain, rule.name, name})) return {};
    return "rules that replace each other would lift their limits";
  }

 private:
  std::set<std::pair<std::string, std::string>> names_;  ///< domains and names
  /// Domains, names of rules, and the names in their `replaces` that close a cycle.
  std::set<std::tuple<std::string, std::string, std::string>> closing_;
};

}  // namespace

std::string FaultOfEntry(const EntryPattern& entry) {
  std::string fault = FaultOfText("key", entry.key, kMaxPatternText);
  if (!fault.empty() || entry.text.empty()) return fault;
  return FaultOfText("value", entry.text, kMaxPatternText - 1);
}

void ImportCollector::LeaveOut(int line, std::string what) {
  ++imported_.parts_left_out;
  AddNote({line, true, std::move(what)});
}

void ImportCollector::LeaveOutLimits(int line, std::string what, std::size_t limits) {
  imported_.limits_left_out += limits;
  AddNote({line, true, std::move(what)});
}

void ImportCollector::Add(Rule rule, std::size_t limits) {
  if (rule.name.empty()) rule.name = DefaultName(rule);
  std::string fault = FaultOf(rule);
  text_bytes_ += TextBytesOf(rule);
  if (text_bytes_ > kMaxRulesText)
    fault = fmt::format("more than {} bytes of texts", kMaxRulesText);
  if (imported_.rules.size() == kMaxRules) fault = fmt::format("more than {} rules", kMaxRules);
  if (!fault.empty()) {
    return limits == 0 ? LeaveOut(rule.line, std::move(fault))
                       : LeaveOutLimits(rule.line, std::move(fault), limits);
  }
  for (const Limit& limit : rule.limits) rule.amounts.push_back({limit.name, 1});
  if (!rule.unlimited) {
    rule.entity = OwnEntity(rule.match);
    rule.resource = OwnResource(rule.domain);
  }
  imported_.rules.push_back(std::move(rule));
}

void ImportCollector::AddNote(ImportNote note) {
  if (imported_.notes.size() == kMaxImportNotes) {
    ++imported_.notes_away;
    return;
  }
  imported_.notes.push_back(std::move(note));
}

ImportedRules ImportCollector::Finish() && {
  // First, so that of the rules of a cycle the last one of the file changes.
  SortInOrder(imported_.rules, &Rule::line);
  const ReplacesChecks checks(imported_.rules);
  for (Rule& rule : imported_.rules) {
    std::erase_if(rule.replaces, [&](const std::string& name) {
      const std::string_view fault = checks.FaultOf(rule, name);
      if (fault.empty()) return false;
      LeaveOut(rule.line, fmt::format("replaces {}: {}", Quoted(name), fault));
      return true;
    });
  }
  SortInOrder(imported_.notes, &ImportNote::line);
  return std::move(imported_);
}

}  // namespace weir::rules
