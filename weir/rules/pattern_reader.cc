#include "weir/rules/pattern_reader.h"

#include <fmt/format.h>

#include <array>

#include "weir/model/quoted.h"
#include "weir/model/stored_text.h"
#include "weir/rules/rules_file.h"

namespace weir::rules {
namespace {

using Kind = YamlNode::Kind;

constexpr std::array<std::string_view, 1> kValueKeys = {"exact"};
constexpr std::string_view kEntryExample = "a key, '{key: value}' or '{key: prefix*}'";

/// Reads `value`, the value of `entry` in a pattern.
Status ReadValue(const YamlChecks& checks, const YamlNode& value, EntryPattern& entry) {
  const std::string where = "the value of " + Quoted(entry.key);
  if (value.kind == Kind::kMapping) {
    WEIR_RETURN_IF_ERROR(checks.ExpectKeys(value, where, kValueKeys));
    const YamlEntry* exact = Find(value, "exact");
    if (exact == nullptr) return checks.Refuse(value.line, where + " is empty", "{exact: VALUE}");
    WEIR_RETURN_IF_ERROR(checks.Expect(Kind::kScalar, *exact->value, where, "a text"));
    entry.kind = EntryPattern::Kind::kExact;
    entry.text = exact->value->text;
    if (entry.text.empty()) return {};
    return CheckRuleText(checks, *exact->value, "value", kMaxPatternText);
  }
  // A null is a value that was forgotten, or that a template left empty. A rule for any value would
  // apply to every request.
  if (value.kind != Kind::kNull) {
    WEIR_RETURN_IF_ERROR(checks.Expect(Kind::kScalar, value, where, "a text"));
  }
  if (value.text.empty()) {
    return checks.Refuse(value.line, where + " is empty",
                         "the key alone for any value, or '{exact: \"\"}' for no value");
  }
  WEIR_RETURN_IF_ERROR(CheckRuleText(checks, value, "value", kMaxPatternText));
  entry.text = value.text;
  const std::size_t star = entry.text.find('*');
  if (star == std::string::npos) {
    entry.kind = EntryPattern::Kind::kExact;
    return {};
  }
  // A pattern that is taken literally would protect nothing.
  if (star + 1 < entry.text.size()) {
    return checks.Refuse(value.line, fmt::format("{} is {}", where, Quoted(value.text)),
                         "one '*' at the end, or '{exact: VALUE}'");
  }
  entry.text.pop_back();
  return {};
}

Result<EntryPattern> ReadEntry(const YamlChecks& checks, const YamlNode& node) {
  EntryPattern entry;
  if (node.kind == Kind::kScalar) {
    WEIR_RETURN_IF_ERROR(CheckRuleText(checks, node, "key", kMaxPatternText));
    entry.key = node.text;
    return entry;
  }
  WEIR_RETURN_IF_ERROR(checks.Expect(Kind::kMapping, node, "an entry of match", kEntryExample));
  if (node.entries.size() != 1) {
    return checks.Refuse(node.line, fmt::format("an entry with {} keys", node.entries.size()),
                         "a list, as entries have an order: '[{a: x}, {b: y}]'");
  }
  const auto& [key, value] = node.entries[0];
  WEIR_RETURN_IF_ERROR(CheckRuleText(checks, *key, "key", kMaxPatternText));
  entry.key = key->text;
  WEIR_RETURN_IF_ERROR(ReadValue(checks, *value, entry));
  return entry;
}

}  // namespace

Result<std::vector<EntryPattern>> ReadPattern(const YamlChecks& checks, const YamlNode& node) {
  std::vector<EntryPattern> match;
  if (node.kind != Kind::kSequence) {
    WEIR_ASSIGN_OR_RETURN(EntryPattern only, ReadEntry(checks, node));
    match.push_back(std::move(only));
    return match;
  }
  if (node.elements.empty() || node.elements.size() > kMaxPatternEntries) {
    return checks.Refuse(node.line, fmt::format("match has {} entries", node.elements.size()),
                         fmt::format("1 to {}", kMaxPatternEntries));
  }
  for (const YamlNode* element : node.elements) {
    WEIR_ASSIGN_OR_RETURN(EntryPattern entry, ReadEntry(checks, *element));
    match.push_back(std::move(entry));
  }
  return match;
}

Status CheckRuleText(const YamlChecks& checks, const YamlNode& node, std::string_view what,
                     std::size_t longest) {
  const Status status = CheckText({.what = what, .longest = longest}, node.text);
  if (status) return {};
  return checks.At(node, status.error());
}

}  // namespace weir::rules
