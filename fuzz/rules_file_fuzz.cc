// ParseRules: rules read back the same from their formatted text, and a descriptor that a pattern
// describes has a rule and a valid bucket. An error begins with the name and a line of the file and
// ends with a remedy.
#include <string>
#include <vector>

#include "fuzz/require_file_refusal.h"
#include "weir/model/identifier.h"
#include "weir/rules/rules_file.h"
#include "weir/rules/rules_file_text.h"

namespace weir {
namespace {

constexpr std::string_view kName = "f.yaml";
/// Aliases make a file longer when it is written.
constexpr std::size_t kLongestText = std::size_t{1} << 20;

void CheckFind(const rules::RuleSet& set, const rules::Rule& rule, std::string_view rest) {
  std::vector<std::string> values;
  for (const rules::EntryPattern& entry : rule.match) {
    const bool is_exact = entry.kind == rules::EntryPattern::Kind::kExact;
    values.push_back(is_exact ? entry.text : entry.text + std::string(rest));
  }
  std::vector<rules::DescriptorEntry> entries;
  for (std::size_t i = 0; i < values.size(); ++i) entries.push_back({rule.match[i].key, values[i]});
  const auto match = set.Find(rule.domain, entries);
  Require(match.has_value(), "a descriptor that a pattern describes has a rule");
  if (match->rule->unlimited) return;
  Require(CheckEntityId(match->entity).has_value(), "the entity is valid");
  Require(CheckResource(match->resource).has_value(), "the resource is valid");
}

void CheckRule(const rules::Rule& rule) {
  Require(!rule.match.empty() && rule.match.size() <= rules::kMaxPatternEntries, "a pattern");
  Require(rule.limits.empty() || Validate(rule.limits), "limits are valid");
  Require(rule.unlimited == rule.amounts.empty(), "a rule charges or is unlimited");
  for (const rules::HitAmount& amount : rule.amounts) {
    Require(amount.per_hit >= Tokens(0), "no amount is negative");
  }
}

void CheckFormatted(const rules::RuleSet& set) {
  const std::string text = rules::FormatRules(set.rules());
  if (text.size() > kLongestText) return;
  const auto again = rules::ParseRules(text, kName);
  Require(again.has_value(), again ? "" : again.error().message);
  Require(again->rules().size() == set.rules().size(), "no rule is lost");
  Require(rules::FormatRules(again->rules()) == text, "FormatRules reads back");
}

void CheckSet(const rules::RuleSet& set) {
  CheckFormatted(set);
  for (std::size_t i = 0; i < set.rules().size() && i < 1000; ++i) {
    CheckRule(set.rules()[i]);
    for (const std::string_view rest : {"", "x", ".:_", "\xff:"})
      CheckFind(set, set.rules()[i], rest);
  }
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto set = weir::rules::ParseRules(text, weir::kName);
  if (set) {
    weir::CheckSet(*set);
  } else {
    weir::RequireFileRefusal(text, weir::kName, set.error());
  }
  return 0;
}
