#include "weir/rules/import/import_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "weir/model/quoted.h"

namespace weir::rules {

std::string TextAt(const YamlNode& node, std::string_view key) {
  const YamlEntry* entry = Find(node, key);
  return entry == nullptr ? std::string() : entry->value->text;
}

Status ExpectScalars(const YamlChecks& checks, const YamlNode& node, YamlWords keys) {
  for (const std::string_view key : keys) {
    const YamlEntry* entry = Find(node, key);
    if (entry == nullptr || entry->value->kind == YamlNode::Kind::kNull) continue;
    WEIR_RETURN_IF_ERROR(
        checks.Expect(YamlNode::Kind::kScalar, *entry->value, key, "a single value"));
  }
  return {};
}

Result<std::uint64_t> ReadWhole(const YamlChecks& checks, const YamlNode& node,
                                const WholeNumber& number) {
  const YamlEntry* entry = Find(node, number.key);
  if (entry == nullptr) {
    if (number.absent) return *number.absent;
    return checks.Refuse(node.line, fmt::format("no {}", number.key),
                         fmt::format("'{}: NUMBER'", number.key));
  }
  const std::string& text = entry->value->text;
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = fault == std::errc() && end == text.data() + text.size();
  if (is_whole && value <= number.max) return value;
  return checks.Refuse(entry->value->line, fmt::format("{} is {}", number.key, Quoted(text)),
                       fmt::format("a whole number from 0 to {}", number.max));
}

void ReportKeys(const YamlNode& node, YamlWords known, ImportCollector& out) {
  for (const YamlEntry& entry : node.entries) {
    if (std::ranges::find(known, entry.key->text) != known.end()) continue;
    out.LeaveOut(entry.key->line, fmt::format("{} has no counterpart", Quoted(entry.key->text)));
  }
}

}  // namespace weir::rules
