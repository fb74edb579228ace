#include "weir/rules/import/limitador.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "weir/model/identifier.h"
#include "weir/model/quoted.h"
#include "weir/model/yaml_checks.h"
#include "weir/rules/import/cel_condition.h"
#include "weir/rules/import/import_checks.h"
#include "weir/rules/rules_file.h"
#include "weir/rules/text_map.h"

namespace weir::rules {
namespace {

using NodeKind = YamlNode::Kind;

constexpr std::array<std::string_view, 6> kLimitadorKeys = {"namespace",  "max_value", "seconds",
                                                            "conditions", "variables", "name"};
constexpr std::string_view kLimitadorExample =
    "a list of limits with namespace, max_value and seconds";
constexpr std::string_view kGeneralRemark =
    "limitador applies all limits whose entries descriptors[N] has, in any order and among others; "
    "a rule applies to each descriptor with exactly its entries in this order, and only the most "
    "specific rule applies";

std::string ListOfKeys(const std::vector<EntryPattern>& match) {
  std::vector<std::string> keys;
  keys.reserve(match.size());
  for (const EntryPattern& entry : match) keys.push_back(Printable(entry.key));
  return fmt::format("[{}]", fmt::join(keys, ", "));
}

/// Returns a text that is equal for two rules only if their domains and patterns (without
/// `with_values`: their domains and keys) are equal.
std::string IdentityOf(const Rule& rule, bool with_values) {
  std::string text = fmt::format("{}:{}", rule.domain.size(), rule.domain);
  for (const auto& [key, kind, value, shared] : rule.match) {
    text += fmt::format("{}:{}", key.size(), key);
    if (!with_values) continue;
    text += kind == EntryPattern::Kind::kExact ? fmt::format("={}:{}", value.size(), value) : "*";
  }
  return text;
}

class LimitadorReader {
 public:
  explicit LimitadorReader(std::string_view file_name) : checks_(file_name) {}

  Result<ImportedRules> Read(const YamlNode& root);

 private:
  Status ReadLimit(const YamlNode& node);
  Result<std::vector<const YamlNode*>> ReadTexts(const YamlNode& node, std::string_view key) const;
  /// Reads conditions and variables into the pattern. Returns false if no pattern is their
  /// counterpart, and reports each part for which there is none.
  Result<bool> ReadEntries(const YamlNode& node, Rule& rule);
  Status ReadConditions(const YamlNode& node, Rule& rule);
  Status ReadVariables(const YamlNode& node, Rule& rule);
  /// Reports why the current limit is left out. It is counted once.
  void LeaveOutLimit(int line, std::string what);
  /// Adds an entry, or leaves the limit out if the rule would need entries of two descriptors, or
  /// two values of one key.
  void AddEntry(int line, const DescriptorPath& path, const std::string* value, Rule& rule);
  /// Adds the limit to the rule of the same pattern, or as a new rule.
  void AddLimit(const YamlNode& node, Rule rule, const Quota& quota);
  std::string NameForLimit(const YamlNode& node, const std::vector<Limit>& limits);
  void ReportOverlaps();

  YamlChecks checks_;
  ImportCollector out_;
  std::optional<std::uint32_t> index_;  ///< of the descriptor of the current limit
  bool is_left_out_ = false;            ///< the current limit
  TextMap<std::size_t> rules_;          ///< by IdentityOf
};

Result<ImportedRules> LimitadorReader::Read(const YamlNode& root) {
  WEIR_RETURN_IF_ERROR(checks_.Expect(NodeKind::kSequence, root, "the file", kLimitadorExample));
  if (root.elements.size() > kMaxRules) {
    return checks_.Refuse(root.line, fmt::format("more than {} limits", kMaxRules), "fewer");
  }
  for (const YamlNode* node : root.elements) WEIR_RETURN_IF_ERROR(ReadLimit(*node));
  if (!out_.rules().empty()) out_.Remark(root.line, std::string(kGeneralRemark));
  ReportOverlaps();
  return std::move(out_).Finish();
}

Status LimitadorReader::ReadLimit(const YamlNode& node) {
  WEIR_RETURN_IF_ERROR(checks_.Expect(NodeKind::kMapping, node, "a limit", kLimitadorExample));
  out_.CountLimits(1);
  is_left_out_ = false;
  ReportKeys(node, kLimitadorKeys, out_);
  constexpr std::array<std::string_view, 2> kScalars = {"namespace", "name"};
  WEIR_RETURN_IF_ERROR(ExpectScalars(checks_, node, kScalars));
  Rule rule{.domain = TextAt(node, "namespace"), .line = node.line};
  if (rule.domain.empty()) {
    return checks_.Refuse(node.line, "a limit without namespace", "'namespace: NAME'");
  }
  WEIR_ASSIGN_OR_RETURN(const std::uint64_t tokens,
                        ReadWhole(checks_, node, {"max_value", UINT64_MAX, {}}));
  WEIR_ASSIGN_OR_RETURN(const std::uint64_t seconds,
                        ReadWhole(checks_, node, {"seconds", UINT64_MAX, {}}));
  WEIR_ASSIGN_OR_RETURN(const bool has_entries, ReadEntries(node, rule));
  if (!has_entries) return {};
  if (seconds < 1 || seconds > static_cast<std::uint64_t>(kMaxPeriodMillis / 1000) ||
      tokens > static_cast<std::uint64_t>(kMaxMillitokens / kMillitokens)) {
    LeaveOutLimit(node.line,
                  fmt::format("{} in {} s: a rule has at most 10^13 tokens in 1 s to 366 "
                              "days",
                              tokens, seconds));
    return {};
  }
  AddLimit(node, std::move(rule),
           PerPeriod(static_cast<std::int64_t>(tokens),
                     milliseconds(static_cast<std::int64_t>(seconds) * 1000)));
  return {};
}

Result<std::vector<const YamlNode*>> LimitadorReader::ReadTexts(const YamlNode& node,
                                                                std::string_view key) const {
  const YamlEntry* entry = Find(node, key);
  if (entry == nullptr || entry->value->kind == NodeKind::kNull) {
    return std::vector<const YamlNode*>();
  }
  const YamlNode& list = *entry->value;
  WEIR_RETURN_IF_ERROR(checks_.Expect(NodeKind::kSequence, list, key, "a list of expressions"));
  if (list.elements.size() > kMaxPatternEntries) {
    return checks_.Refuse(list.line, fmt::format("{} {}", list.elements.size(), key),
                          fmt::format("at most {}", kMaxPatternEntries));
  }
  for (const YamlNode* one : list.elements) {
    WEIR_RETURN_IF_ERROR(checks_.Expect(NodeKind::kScalar, *one, key, "an expression"));
  }
  return list.elements;
}

Result<bool> LimitadorReader::ReadEntries(const YamlNode& node, Rule& rule) {
  index_.reset();
  WEIR_RETURN_IF_ERROR(ReadConditions(node, rule));
  WEIR_RETURN_IF_ERROR(ReadVariables(node, rule));
  if (is_left_out_) return false;
  if (rule.match.size() > kMaxPatternEntries) {
    LeaveOutLimit(node.line, fmt::format("a limit on {} entries", rule.match.size()));
    return false;
  }
  if (rule.match.empty()) {
    LeaveOutLimit(node.line, "a limit on all requests of a namespace, with any descriptors");
    return false;
  }
  if (rule.match.size() > 1) {
    out_.Remark(node.line,
                fmt::format("the rule needs the entries {} in this order", ListOfKeys(rule.match)));
  }
  if (*index_ > 0) {
    out_.Remark(node.line,
                fmt::format("the rule applies to every descriptor of a request, not only "
                            "to descriptors[{}]",
                            *index_));
  }
  return true;
}

Status LimitadorReader::ReadConditions(const YamlNode& node, Rule& rule) {
  WEIR_ASSIGN_OR_RETURN(const auto conditions, ReadTexts(node, "conditions"));
  for (const YamlNode* condition : conditions) {
    const auto all = ParseConjunction(condition->text);
    if (!all) {
      LeaveOutLimit(condition->line,
                    fmt::format("a limit with the condition {}", Quoted(condition->text)));
      continue;
    }
    for (const auto& [path, value] : *all) {
      AddEntry(condition->line, path, &value, rule);
    }
  }
  return {};
}

Status LimitadorReader::ReadVariables(const YamlNode& node, Rule& rule) {
  WEIR_ASSIGN_OR_RETURN(const auto variables, ReadTexts(node, "variables"));
  for (const YamlNode* variable : variables) {
    const auto path = ParseDescriptorPath(variable->text);
    if (!path) {
      LeaveOutLimit(variable->line,
                    fmt::format("a limit with the variable {}", Quoted(variable->text)));
      continue;
    }
    AddEntry(variable->line, *path, nullptr, rule);
  }
  return {};
}

void LimitadorReader::LeaveOutLimit(int line, std::string what) {
  out_.LeaveOutLimits(line, std::move(what), is_left_out_ ? 0 : 1);
  is_left_out_ = true;
}

void LimitadorReader::AddEntry(int line, const DescriptorPath& path, const std::string* value,
                               Rule& rule) {
  if (!index_) index_ = path.index;
  if (*index_ != path.index) {
    return LeaveOutLimit(
        line, fmt::format("a limit on descriptors[{}] and descriptors[{}] together", *index_,
                          path.index));
  }
  const auto same = std::ranges::find(rule.match, path.key, &EntryPattern::key);
  if (same != rule.match.end()) {
    // A variable whose value a condition fixes adds nothing.
    if (value == nullptr || *value == same->text) return;
    return LeaveOutLimit(
        line, fmt::format("a limit that never applies: {} has two values", Quoted(path.key)));
  }
  EntryPattern& entry = rule.match.emplace_back(EntryPattern{.key = path.key});
  if (value == nullptr) return;
  entry.kind = EntryPattern::Kind::kExact;
  entry.text = *value;
}

std::string LimitadorReader::NameForLimit(const YamlNode& node, const std::vector<Limit>& limits) {
  const auto is_free = [&](std::string_view name) {
    return std::ranges::find(limits, name, &Limit::name) == limits.end();
  };
  std::string name = TextAt(node, "name");
  if (CheckLimitName(name) && is_free(name)) return name;
  if (!name.empty()) out_.LeaveOut(node.line, fmt::format("the name {}", Quoted(name)));
  name = "requests";
  for (int i = 2; !is_free(name); ++i) name = fmt::format("requests-{}", i);
  return name;
}

void LimitadorReader::AddLimit(const YamlNode& node, Rule rule, const Quota& quota) {
  const std::string identity = IdentityOf(rule, /*with_values=*/true);
  if (const auto found = rules_.find(identity); found != rules_.end()) {
    Rule& same = out_.rules()[found->second];
    if (same.limits.size() == kMaxLimits) {
      return LeaveOutLimit(node.line, fmt::format("more than {} limits of one rule", kMaxLimits));
    }
    same.limits.push_back({.name = NameForLimit(node, same.limits), .quota = quota});
    same.amounts.push_back({same.limits.back().name, 1});
    return;
  }
  rule.limits = {{.name = NameForLimit(node, {}), .quota = quota}};
  const std::size_t before = out_.rules().size();
  out_.Add(std::move(rule), /*limits=*/1);
  if (out_.rules().size() > before) rules_[identity] = before;
}

/// Reports rules that do not apply to some descriptors to which limitador applies their limits.
void LimitadorReader::ReportOverlaps() {
  TextMap<std::size_t> rules_with_keys;
  for (const Rule& rule : out_.rules()) ++rules_with_keys[IdentityOf(rule, /*with_values=*/false)];
  for (const Rule& rule : out_.rules()) {
    const bool is_exact = std::ranges::all_of(rule.match, [](const EntryPattern& entry) {
      return entry.kind == EntryPattern::Kind::kExact;
    });
    if (is_exact || rules_with_keys[IdentityOf(rule, /*with_values=*/false)] == 1) continue;
    out_.Remark(rule.line, fmt::format("{} no longer applies to descriptors for which another rule "
                                       "with these keys is more specific",
                                       Printable(rule.name)));
  }
}

}  // namespace

Result<ImportedRules> ImportLimitador(std::string_view text, std::string_view file_name) {
  WEIR_ASSIGN_OR_RETURN(const YamlTree tree, ParseYaml(text, file_name));
  if (tree.root == nullptr) {
    return YamlChecks(file_name).Refuse(1, "the file is empty", kLimitadorExample);
  }
  return LimitadorReader(file_name).Read(*tree.root);
}

}  // namespace weir::rules
