#include "weir/rules/rules_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "weir/model/quoted.h"
#include "weir/rules/pattern_reader.h"
#include "weir/rules/replace_cycles.h"
#include "weir/rules/rule_reader.h"
#include "weir/rules/shared_buckets.h"

namespace weir::rules {
namespace {

using Kind = YamlNode::Kind;

constexpr std::array<std::string_view, 1> kRulesFileKeys = {"domains"};
constexpr std::array<std::string_view, 1> kDomainKeys = {"rules"};
constexpr std::size_t kMaxShownNames = 8;

class FileReader {
 public:
  explicit FileReader(std::string_view file_name) : checks_(file_name), reader_(file_name) {}

  Result<std::vector<Rule>> Read(const YamlNode& root);

 private:
  Status ReadDomain(const YamlEntry& domain);

  YamlChecks checks_;
  RuleReader reader_;
  std::vector<Rule> rules_;
  std::size_t text_bytes_ = 0;
};

Result<std::vector<Rule>> FileReader::Read(const YamlNode& root) {
  WEIR_RETURN_IF_ERROR(checks_.ExpectKeys(root, "the file", kRulesFileKeys));
  const YamlEntry* domains = Find(root, "domains");
  if (domains == nullptr) return checks_.Refuse(root.line, "no domains", "'domains: {edge: ...}'");
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kMapping, *domains->value, "domains",
                                      "a mapping of domains to their rules"));
  for (const YamlEntry& domain : domains->value->entries) {
    WEIR_RETURN_IF_ERROR(ReadDomain(domain));
  }
  return std::move(rules_);
}

Status FileReader::ReadDomain(const YamlEntry& domain) {
  WEIR_RETURN_IF_ERROR(CheckRuleText(checks_, *domain.key, "domain", kMaxPatternText));
  const std::string where = "domain " + Quoted(domain.key->text);
  WEIR_RETURN_IF_ERROR(checks_.ExpectKeys(*domain.value, where, kDomainKeys));
  const YamlEntry* rules = Find(*domain.value, "rules");
  if (rules == nullptr) {
    return checks_.Refuse(domain.key->line, where + " has no rules", "'rules: [...]'");
  }
  WEIR_RETURN_IF_ERROR(
      checks_.Expect(Kind::kSequence, *rules->value, "rules of " + where, "a list of rules"));
  for (const YamlNode* node : rules->value->elements) {
    if (rules_.size() == kMaxRules) {
      return checks_.Refuse(node->line, fmt::format("more than {} rules", kMaxRules), "fewer");
    }
    WEIR_ASSIGN_OR_RETURN(Rule rule, reader_.Read(*node, domain.key->text));
    text_bytes_ += TextBytesOf(rule);
    if (text_bytes_ > kMaxRulesText) {
      return checks_.Refuse(node->line, fmt::format("more than {} bytes of texts", kMaxRulesText),
                            "fewer or shorter ones, which aliases may repeat");
    }
    rules_.push_back(std::move(rule));
  }
  return {};
}

/// Returns the names, the first kMaxShownNames of them one by one.
std::string TextOfNames(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxShownNames); ++i) {
    text += (i > 0 ? ", " : "") + Quoted(names[i]);
  }
  if (names.size() <= kMaxShownNames) return text;
  return text + fmt::format(" and {} more", names.size() - kMaxShownNames);
}

/// Refuses rules of which none would apply to a request that has all of them.
Status CheckReplaceCycles(const YamlChecks& checks, const std::vector<Rule>& rules) {
  ReplaceCycles cycles(rules);
  const auto closing = cycles.Next();
  if (!closing) return {};
  return checks.Refuse(
      closing->rule->line,
      fmt::format("the rules {} replace each other in a cycle, which can leave a "
                  "request with none of their limits",
                  TextOfNames(cycles.names())),
      fmt::format("a rule that none of the others replaces, such as {}", Quoted(closing->name)));
}

/// Refuses names in `replaces` that no rule of the domain has: they may be misspelt.
Status CheckReplaces(const YamlChecks& checks, const std::vector<Rule>& rules) {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const Rule& rule : rules) names.insert({rule.domain, rule.name});
  for (const Rule& rule : rules) {
    for (const std::string& name : rule.replaces) {
      if (names.contains({rule.domain, name})) continue;
      return checks.Refuse(rule.line, fmt::format("the rule replaces {}", Quoted(name)),
                           "the name of a rule of the same domain");
    }
  }
  return {};
}

}  // namespace

Result<RuleSet> ParseRules(std::string_view text, std::string_view file_name) {
  WEIR_RETURN_IF_ERROR(CheckHash());
  const YamlChecks checks(file_name);
  WEIR_ASSIGN_OR_RETURN(const YamlTree tree, ParseYaml(text, file_name));
  if (tree.root == nullptr) return checks.Refuse(1, "the file is empty", "'domains: {edge: ...}'");
  WEIR_ASSIGN_OR_RETURN(std::vector<Rule> rules, FileReader(file_name).Read(*tree.root));
  WEIR_RETURN_IF_ERROR(CheckReplaces(checks, rules));
  WEIR_RETURN_IF_ERROR(CheckReplaceCycles(checks, rules));
  WEIR_RETURN_IF_ERROR(CheckSharedBuckets(checks, rules));
  auto set = RuleSet::Make(std::move(rules));
  if (set) return std::move(*set);
  const auto [line, first_line] = set.error();
  return checks.Refuse(line, fmt::format("the pattern of the rule on line {}", first_line),
                       "one rule for each pattern");
}

}  // namespace weir::rules
