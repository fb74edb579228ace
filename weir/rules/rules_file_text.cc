#include "weir/rules/rules_file_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "weir/model/yaml_text.h"
#include "weir/rules/sort_in_order.h"
#include "weir/rules/text_map.h"

namespace weir::rules {
namespace {

std::string TextOfEntry(const EntryPattern& entry) {
  const std::string key = YamlText(entry.key);
  if (entry.kind == EntryPattern::Kind::kPrefix) {
    return entry.text.empty() ? key : fmt::format("{{{}: {}}}", key, YamlText(entry.text + '*'));
  }
  const bool needs_exact = entry.text.empty() || entry.text.find('*') != std::string::npos;
  const std::string value = YamlText(entry.text);
  return needs_exact ? fmt::format("{{{}: {{exact: {}}}}}", key, value)
                     : fmt::format("{{{}: {}}}", key, value);
}

/// Returns `[a, b, ...]`, with the texts that `text_of` returns for the values.
template <class Values, class TextOf>
std::string ListOf(const Values& values, TextOf text_of) {
  std::vector<std::string> texts;
  std::ranges::transform(values, std::back_inserter(texts), text_of);
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string TextOfLimits(const std::vector<Limit>& limits) {
  std::vector<std::string> texts;
  for (const Limit& limit : limits) {
    const std::string terms = FormatLimit(limit).substr(limit.name.size() + 1);
    texts.push_back(fmt::format("{}: {}", YamlText(limit.name), YamlText(terms)));
  }
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

std::string TextOfAmounts(const std::vector<HitAmount>& amounts) {
  std::vector<std::string> texts;
  texts.reserve(amounts.size());
  for (const auto& [limit, per_hit] : amounts) {
    texts.push_back(fmt::format("{}: {}", YamlText(limit), FormatTokens(per_hit.milli())));
  }
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

/// Returns whether the amounts are the default: one token of each limit. They are not written then.
bool HasDefaultAmounts(const Rule& rule) {
  return std::ranges::equal(rule.amounts, rule.limits, [](const auto& amount, const auto& limit) {
    return amount == HitAmount{limit.name, 1};
  });
}

std::vector<std::string> SharedKeys(const Rule& rule) {
  std::vector<std::string> keys;
  for (const EntryPattern& entry : rule.match) {
    if (entry.shared && std::ranges::find(keys, entry.key) == keys.end()) keys.push_back(entry.key);
  }
  return keys;
}

class RuleWriter {
 public:
  void Write(const Rule& rule);
  void WriteDomain(std::string_view domain) {
    fmt::format_to(std::back_inserter(text_), "  {}:\n    rules:\n", YamlText(domain));
  }
  std::string TakeText() && { return std::move(text_); }

 private:
  void WriteKey(std::string_view key, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "        {}: {}\n", key, value);
  }

  std::string text_ = "domains:\n";
};

void RuleWriter::Write(const Rule& rule) {
  fmt::format_to(
      std::back_inserter(text_), "      - match: {}\n",
      rule.match.size() == 1 ? TextOfEntry(rule.match[0]) : ListOf(rule.match, TextOfEntry));
  if (rule.name != DefaultName(rule)) WriteKey("name", YamlText(rule.name));
  if (!rule.limits.empty()) WriteKey("limits", TextOfLimits(rule.limits));
  if (!HasDefaultAmounts(rule)) WriteKey("amounts", TextOfAmounts(rule.amounts));
  if (!rule.unlimited && !rule.has_own_bucket) {
    WriteKey("entity", YamlText(rule.entity.text()));
    WriteKey("resource", YamlText(rule.resource.text()));
  }
  const auto shared = SharedKeys(rule);
  if (!shared.empty()) WriteKey("share", ListOf(shared, YamlText));
  if (rule.always_charges) WriteKey("charge", "always");
  if (rule.shadow) WriteKey("shadow", "true");
  if (rule.unlimited) WriteKey("unlimited", "true");
  if (!rule.replaces.empty()) WriteKey("replaces", ListOf(rule.replaces, YamlText));
}

}  // namespace

std::string FormatRules(const std::vector<Rule>& rules) {
  if (rules.empty()) return "domains: {}\n";
  TextMap<std::size_t> order;  // of the domains
  std::vector<const Rule*> sorted;
  for (const Rule& rule : rules) {
    order.try_emplace(rule.domain, order.size());
    sorted.push_back(&rule);
  }
  SortInOrder(sorted, [&](const Rule* rule) { return order.at(rule->domain); });
  RuleWriter out;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 || sorted[i]->domain != sorted[i - 1]->domain) out.WriteDomain(sorted[i]->domain);
    out.Write(*sorted[i]);
  }
  return std::move(out).TakeText();
}

}  // namespace weir::rules
