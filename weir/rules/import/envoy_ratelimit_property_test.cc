// Imported rules against the lookup of envoyproxy/ratelimit (GetLimit in
// src/config/config_impl.go).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weir/rules/import/envoy_ratelimit.h"
#include "weir/rules/testing/any_rules.h"
#include "weir/rules/testing/import_fixture.h"

namespace weir::rules {
namespace {

constexpr int kUnlimited = -1;

struct EnvoyNode {
  std::string key;
  std::string value;         // empty: any
  std::optional<int> limit;  // requests in a second, or kUnlimited
  std::vector<EnvoyNode> below;

  std::string FinalKey() const { return value.empty() ? key : key + '_' + value; }
};

std::vector<EnvoyNode> AnyEnvoyList(int depth, int& limits) {
  std::vector<EnvoyNode> list;
  std::set<std::string> keys;
  const int number = *rc::gen::inRange(1, 4);
  for (int i = 0; i < number; ++i) {
    EnvoyNode node{.key = *rc::gen::element<std::string>("a", "b"),
                   .value = *rc::gen::element<std::string>("", "x", "xy", "x*", "xy*", "*")};
    if (!keys.insert(node.FinalKey()).second) continue;
    const int kind = *rc::gen::inRange(0, 6);
    if (kind > 1) node.limit = ++limits;
    if (kind == 1) node.limit = kUnlimited;
    if (depth > 0 && *rc::gen::inRange(0, 3) == 0) node.below = AnyEnvoyList(depth - 1, limits);
    list.push_back(std::move(node));
  }
  return list;
}

void WriteEnvoyList(const std::vector<EnvoyNode>& list, const std::string& indent,
                    std::string& out) {
  for (const EnvoyNode& node : list) {
    out += fmt::format("{}- key: {}\n", indent, node.key);
    if (!node.value.empty()) out += fmt::format("{}  value: \"{}\"\n", indent, node.value);
    if (node.limit == kUnlimited) {
      out += fmt::format("{}  rate_limit: {{unlimited: true}}\n", indent);
    } else if (node.limit) {
      out += fmt::format("{}  rate_limit: {{unit: second, requests_per_unit: {}}}\n", indent,
                         *node.limit);
    }
    if (node.below.empty()) continue;
    out += fmt::format("{}  descriptors:\n", indent);
    WriteEnvoyList(node.below, indent + "    ", out);
  }
}

const EnvoyNode* FindInList(const std::vector<EnvoyNode>& list, const DescriptorEntry& entry) {
  const std::string key = fmt::format("{}_{}", entry.key, entry.value);
  const auto exact = std::ranges::find(list, key, &EnvoyNode::FinalKey);
  if (exact != list.end()) return &*exact;
  for (const EnvoyNode& node : list) {
    const std::string wildcard = node.FinalKey();
    if (!wildcard.ends_with('*')) continue;
    if (key.starts_with(wildcard.substr(0, wildcard.size() - 1))) return &node;
  }
  const auto any = std::ranges::find(list, entry.key, &EnvoyNode::FinalKey);
  return any == list.end() ? nullptr : &*any;
}

/// Returns the limit that the service finds; kUnlimited if there is none.
int LimitOfService(const std::vector<EnvoyNode>& list, Descriptor descriptor) {
  if (descriptor.empty()) return kUnlimited;
  const EnvoyNode* node = FindInList(list, descriptor.front());
  if (node == nullptr) return kUnlimited;
  if (descriptor.size() == 1) return node->limit.value_or(kUnlimited);
  return LimitOfService(node->below, descriptor.subspan(1));
}

int LimitOfRules(const RuleSet& set, Descriptor descriptor) {
  const auto match = set.Find("d", descriptor);
  if (!match || match->rule->unlimited) return kUnlimited;
  return static_cast<int>(match->rule->limits[0].quota.amount / kMillitokens);
}

/// Whether a note announces that a descriptor may have another rule than before.
bool HasDifference(const ImportedRules& imported) {
  return std::ranges::any_of(imported.notes, [](const ImportNote& note) {
    return note.is_left_out || note.what.find(" now ") != std::string::npos;
  });
}

// Fails if: a value without a rate limit does not lift that of its key, or the import reports none
// of the differences that wildcards and wider branches make.
RC_GTEST_PROP(EnvoyRatelimitImport, ADescriptorKeepsItsLimitUnlessANoteSaysOtherwise, ()) {
  int limits = 0;
  const auto list = AnyEnvoyList(2, limits);
  std::string text = "domain: d\ndescriptors:\n";
  WriteEnvoyList(list, "  ", text);
  const auto imported = ImportEnvoyRatelimit(text, "e.yaml");
  RC_ASSERT(imported.has_value());
  RC_CLASSIFY(HasDifference(*imported), "has a difference");
  if (HasDifference(*imported)) return;
  const auto set = ParseRules(FormatRules(imported->rules), "rules.yaml");
  RC_ASSERT(set.has_value());
  for (int i = 0; i < 30; ++i) {
    const OwnedDescriptor owned = *AnyDescriptor();
    const auto descriptor = ViewOf(owned);
    const int expected = LimitOfService(list, descriptor);
    if (LimitOfRules(*set, descriptor) != expected) RC_FAIL(text);
  }
}

}  // namespace
}  // namespace weir::rules
