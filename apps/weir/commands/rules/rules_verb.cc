// weir rules check|try: the descriptor rules of the rate limit service.
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/weir/commands/rules/rules_verbs.h"
#include "apps/weir/commands/rules/rules_view.h"
#include "apps/weir/files.h"
#include "apps/weir/options.h"
#include "weir/model/nearest_key.h"
#include "weir/model/quoted.h"
#include "weir/model/yaml_source.h"
#include "weir/rules/rules_file.h"

namespace weir::app {
namespace {

/// The maximum number of rules that `rules try` lists as not matching.
constexpr std::size_t kListedRules = 20;
/// The maximum number of domains in the message about an unknown domain.
constexpr std::size_t kListedDomains = 20;

using OwnedEntries = std::vector<std::pair<std::string, std::string>>;

struct RulesOptions {
  std::string file;
  std::string domain;
  OwnedEntries entries;
  bool all = false;
};

Result<rules::RuleSet> ReadRulesFile(const RulesOptions& options, const Context& context) {
  WEIR_ASSIGN_OR_RETURN(const std::string text,
                        ReadFileOrInput(options.file, context.process(), kMaxYamlBytes));
  return rules::ParseRules(text, NameOfInput(options.file));
}

Result<Exit> CheckRules(const RulesOptions& options, Context& context) {
  WEIR_ASSIGN_OR_RETURN(const rules::RuleSet set, ReadRulesFile(options, context));
  Json all = Json::array();
  for (const rules::Rule& rule : set.rules()) all.push_back(app::ToJson(rule));
  context.WriteResult({{"rules", std::move(all)}},
                      fmt::format("{} is valid: domains {}, rules {}\n", NameOfInput(options.file),
                                  set.domains(), set.rules().size()));
  return Exit::kDone;
}

/// Returns the domain whose name is like `domain`, or the names of all, if they are few.
std::string DomainsOf(const rules::RuleSet& set, std::string_view domain) {
  std::set<std::string> names;
  for (const rules::Rule& rule : set.rules()) names.insert(Printable(rule.domain));
  if (names.empty()) return "a file with rules";
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::string nearest = NearestKey(domain, known);
  const bool is_long = known.size() > kListedDomains && nearest.starts_with("one of");
  return is_long ? fmt::format("one of its {} domains", known.size()) : nearest;
}

Result<Exit> TryRules(const RulesOptions& options, Context& context) {
  WEIR_ASSIGN_OR_RETURN(const rules::RuleSet set, ReadRulesFile(options, context));
  if (!set.HasDomain(options.domain)) {
    return Fail(Code::kNotFound, fmt::format("{} has no rules of the domain {}; expected {}",
                                             NameOfInput(options.file), Quoted(options.domain),
                                             DomainsOf(set, options.domain)));
  }
  std::vector<rules::DescriptorEntry> entries;
  for (const auto& [key, value] : options.entries) entries.push_back({key, value});
  const RuleSearch search{set.Find(options.domain, entries), set.Explain(options.domain, entries)};
  const std::size_t others = options.all ? std::numeric_limits<std::size_t>::max() : kListedRules;
  context.WriteResult(app::ToJson(search), app::TextOf(search, others));
  return Exit::kDone;
}

Result<OwnedEntries> ParseEntries(const std::vector<std::string>& texts) {
  OwnedEntries entries;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == text.npos) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("{} is no entry of a descriptor; expected KEY=VALUE", Quoted(text)));
    }
    entries.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return entries;
}

void AddRulesCheck(CLI::App& group, Action& chosen) {
  const auto options = std::make_shared<RulesOptions>();
  AddVerb(group, "check", "Check that a rules file is valid", options, chosen, CheckRules)
      .add_option("FILE,-f,--file", options->file, "the rules file (YAML), - for standard input")
      ->required()
      ->option_text(" ");
}

void AddRulesTry(CLI::App& group, Action& chosen) {
  const auto options = std::make_shared<RulesOptions>();
  CLI::App& verb =
      AddVerb(group, "try", "Show which rule applies to a descriptor, its bucket, and why", options,
              chosen, TryRules);
  verb.add_option("DOMAIN", options->domain, "the domain of the request")
      ->required()
      ->option_text(" ");
  AddParsedList(verb, "KEY=VALUE", options->entries, ParseEntries,
                "the entries of the descriptor, in order, like user=alice")
      ->required()
      ->option_text("...");
  verb.add_option("--rules", options->file, "the rules file (YAML), - for standard input")
      ->required()
      ->option_text("FILE");
  verb.add_flag("--all", options->all, "list all rules of the domain that do not match");
}

}  // namespace

void AddRules(CLI::App& app, Action& chosen) {
  CLI::App& group = AddGroup(app, "rules", "The descriptor rules of the rate limit service");
  AddRulesCheck(group, chosen);
  AddRulesTry(group, chosen);
}

}  // namespace weir::app
