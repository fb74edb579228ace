#include "weir/events/event_rules.h"

#include <absl/strings/ascii.h>
#include <absl/time/time.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "weir/events/event_json.h"
#include "weir/events/event_pattern_file.h"
#include "weir/model/yaml_tree.h"
#include "weir/store/reservation/reservation_checks.h"

namespace weir {
namespace {

using Kind = YamlNode::Kind;
using nlohmann::json;

constexpr std::array<std::string_view, 1> kFileKeys = {"rules"};
constexpr std::array<std::string_view, 5> kRuleKeys = {"source", "detail-type", "id", "pattern",
                                                       "when"};
constexpr std::string_view kRulesExample =
    "a list of rules such as '- {source: aws.emr, id: detail.clusterId}'";

std::string FoldedType(std::string_view type) {
  std::string folded;
  for (const char c : type) {
    if (c != ' ') folded += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return folded;
}

class RulesReader {
 public:
  explicit RulesReader(std::string_view file_name) : patterns_(file_name) {}

  Result<EventRules> ReadFile(const YamlNode* root);

 private:
  const YamlChecks& checks() const { return patterns_.checks(); }
  Result<EventRule> ReadRule(const YamlNode& node, const std::string& where);
  Status ReadOptional(const YamlNode& node, const std::string& where, EventRule& rule);
  Result<const YamlNode*> RequiredMember(const YamlNode& rule, std::string_view key,
                                         const std::string& where) const;
  Status ExpectText(const YamlNode& node, const std::string& where, std::string_view right) const;

  EventPatternReader patterns_;
};

Result<EventRules> RulesReader::ReadFile(const YamlNode* root) {
  if (root == nullptr) return checks().Refuse(1, "the file is empty", "'rules:' and a list");
  WEIR_RETURN_IF_ERROR(checks().ExpectKeys(*root, "the file", kFileKeys));
  const YamlEntry* list = Find(*root, "rules");
  if (list == nullptr) return checks().Refuse(root->line, "no rules", "'rules:' and a list");
  const YamlNode& node = *list->value;
  WEIR_RETURN_IF_ERROR(checks().Expect(Kind::kSequence, node, "rules", kRulesExample));
  if (node.elements.empty()) return checks().Refuse(node.line, "rules are empty", kRulesExample);
  EventRules rules;
  for (const YamlNode* element : node.elements) {
    const auto where = fmt::format("rule {}", rules.rules.size() + 1);
    WEIR_ASSIGN_OR_RETURN(EventRule rule, ReadRule(*element, where));
    rules.rules.push_back(std::move(rule));
  }
  return rules;
}

Result<EventRule> RulesReader::ReadRule(const YamlNode& node, const std::string& where) {
  WEIR_RETURN_IF_ERROR(checks().ExpectKeys(node, where, kRuleKeys));
  EventRule rule;
  WEIR_ASSIGN_OR_RETURN(const YamlNode* source, RequiredMember(node, "source", where));
  WEIR_RETURN_IF_ERROR(ExpectText(*source, where + ", source", "a text such as aws.emr"));
  rule.source = source->text;
  WEIR_ASSIGN_OR_RETURN(const YamlNode* id, RequiredMember(node, "id", where));
  WEIR_ASSIGN_OR_RETURN(rule.id, patterns_.ReadPath(*id, where + ", id"));
  WEIR_RETURN_IF_ERROR(ReadOptional(node, where, rule));
  return rule;
}

Status RulesReader::ReadOptional(const YamlNode& node, const std::string& where, EventRule& rule) {
  if (const YamlEntry* type = Find(node, "detail-type")) {
    WEIR_RETURN_IF_ERROR(ExpectText(*type->value, where + ", detail-type",
                                    "a text such as EMR Cluster State Change"));
    rule.type = FoldedType(type->value->text);
  }
  if (const YamlEntry* pattern = Find(node, "pattern")) {
    WEIR_ASSIGN_OR_RETURN(rule.pattern, patterns_.Pattern(*pattern->value, where + ", pattern"));
  }
  if (const YamlEntry* when = Find(node, "when")) {
    WEIR_ASSIGN_OR_RETURN(rule.when, patterns_.Predicate(*when->value, where + ", when"));
  }
  return {};
}

Result<const YamlNode*> RulesReader::RequiredMember(const YamlNode& rule, std::string_view key,
                                                    const std::string& where) const {
  if (const YamlEntry* entry = Find(rule, key)) return entry->value;
  return checks().Refuse(rule.line, fmt::format("{} has no {}", where, key),
                         "'{source: aws.emr, id: detail.clusterId}'");
}

Status RulesReader::ExpectText(const YamlNode& node, const std::string& where,
                               std::string_view right) const {
  WEIR_RETURN_IF_ERROR(checks().Expect(Kind::kScalar, node, where, right));
  if (!FoldedType(node.text).empty()) return {};
  return checks().Refuse(node.line, where + " is empty", right);
}

std::vector<const EventRule*> RulesFor(const EventRules& rules, const json& event) {
  const auto type = event.find("detail-type");
  const std::string folded =
      type != event.end() && type->is_string() ? FoldedType(type->get<std::string>()) : "";
  std::vector<const EventRule*> typed;
  std::vector<const EventRule*> untyped;
  for (const EventRule& rule : rules.rules) {
    if (event["source"] != rule.source) continue;
    if (!rule.type) untyped.push_back(&rule);
    if (rule.type == folded) typed.push_back(&rule);
  }
  return typed.empty() ? untyped : typed;
}

/// Returns the id at the path, or an empty string if there is none.
std::string IdAt(const json& event, const EventPath& path) {
  const json* at = &event;
  for (const std::string& name : path) {
    const auto found = at->is_object() ? at->find(name) : at->end();
    if (found == at->end()) return {};
    at = &*found;
  }
  const std::string id = at->is_string() ? at->get<std::string>() : "";
  return at->is_number() ? at->dump() : id;
}

UnixMillis EndOf(const json& event, UnixMillis now) {
  const auto found = event.find("time");
  if (found == event.end() || !found->is_string()) return now;
  const auto& text = found->get_ref<const std::string&>();
  absl::Time time;
  // ParseTime also accepts years before Christ and the words for infinite times; none of these
  // begins with a digit.
  const bool is_date = !text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text[0]));
  if (!is_date || !absl::ParseTime(absl::RFC3339_full, text, &time, nullptr)) return now;
  const auto millis = std::min(absl::ToUnixMillis(time), now.value);  // avoids an overflow below
  const bool is_whole = text.find('.') == std::string::npos;
  return std::min(UnixMillis{millis + (is_whole ? 999 : 0)}, now);
}

}  // namespace

Result<EventRules> ReadEventRules(std::string_view text, std::string_view file_name) {
  WEIR_ASSIGN_OR_RETURN(const YamlTree tree, ParseYaml(text, file_name));
  return RulesReader(file_name).ReadFile(tree.root);
}

Result<EventMatch> MatchEvent(const EventRules& rules, std::string_view event, UnixMillis now) {
  EventMatch match;
  WEIR_ASSIGN_OR_RETURN(const json read, ReadEvent(event));
  for (const EventRule* rule : RulesFor(rules, read)) {
    if (rule->pattern && !Matches(*rule->pattern, read)) continue;
    if (rule->when && !Holds(*rule->when, read)) continue;
    if (rule->extra_test && !rule->extra_test(read.dump())) continue;
    std::string id = IdAt(read, rule->id);
    if (id.empty()) {
      if (!match.without_id) match.without_id = static_cast<std::size_t>(rule - rules.rules.data());
      continue;
    }
    WEIR_RETURN_IF_ERROR(CheckResourceId(id));
    return EventMatch{
        .ended = EndedResource{.resource_id = std::move(id), .ended_at = EndOf(read, now)},
        .without_id = {}};
  }
  return match;
}

}  // namespace weir
