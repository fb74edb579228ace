#include "weir/rules/import/envoy_ratelimit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "weir/model/quoted.h"
#include "weir/model/yaml_checks.h"
#include "weir/rules/import/envoy_unit.h"
#include "weir/rules/import/import_checks.h"
#include "weir/rules/import/sibling_entries.h"
#include "weir/rules/rules_file.h"

namespace weir::rules {
namespace {

using NodeKind = YamlNode::Kind;

constexpr std::array<std::string_view, 2> kRootKeys = {"domain", "descriptors"};
constexpr std::array<std::string_view, 6> kDescriptorKeys = {
    "key", "value", "rate_limit", "descriptors", "shadow_mode", "share_threshold"};
constexpr std::array<std::string_view, 6> kRateLimitKeys = {
    "unit", "requests_per_unit", "unlimited", "name", "replaces", "unit_multiplier"};

/// Returns why no pattern can match the same entries as this key and value; empty if one can. The
/// service joins key and value, and each '*' in the joined text matches any text (since its commit
/// 6bcd4d2).
std::string FaultOfWildcard(const EntryPattern& entry) {
  if (entry.key.find('*') != std::string::npos) {
    return fmt::format("the wildcard {} over keys", Quoted(entry.key));
  }
  const auto star = entry.text.find('*');
  if (star == std::string::npos || star + 1 == entry.text.size()) return {};
  return fmt::format("the wildcard {} has a '*' before its end", Quoted(entry.text));
}

class EnvoyReader {
 public:
  explicit EnvoyReader(std::string_view file_name) : checks_(file_name) {}

  Result<ImportedRules> Read(const YamlNode& root);

 private:
  /// Reads a list of descriptors below `path_`.
  Status ReadList(const YamlNode& list);
  Status AddSibling(const YamlNode& node, SiblingEntries& siblings);
  Status ReadDescriptor(const SiblingEntries& siblings, std::size_t index);
  /// Reads the key and value. Returns nothing if no pattern is their counterpart.
  Result<std::optional<EntryPattern>> ReadEnvoyEntry(const YamlNode& node);
  /// Reports that these descriptors, and all limits in and below them, are left out.
  void LeaveOutDescriptors(int line, std::string what, std::vector<const YamlNode*> descriptors);
  void ReadShareThreshold(const YamlNode& node, EntryPattern& entry);
  /// Adds the rule of a descriptor that has a rate limit.
  Status AddRule(const YamlNode& descriptor, const YamlNode& rate_limit);
  /// Reads the quota into the rule. Returns false if rules cannot have this quota.
  Result<bool> ReadQuota(const YamlNode& rate_limit, Rule& rule);
  Status ReadReplaces(const YamlNode& rate_limit, Rule& rule);
  Result<bool> ReadFlag(const YamlNode& node, std::string_view key) const;
  Rule RuleAt(const YamlNode& node) const {
    return {.domain = domain_, .match = path_, .line = node.line};
  }

  YamlChecks checks_;
  ImportCollector out_;
  std::string domain_;
  std::vector<EntryPattern> path_;
  std::size_t visited_ = 0;
  std::size_t visited_left_out_ = 0;
};

Result<ImportedRules> EnvoyReader::Read(const YamlNode& root) {
  WEIR_RETURN_IF_ERROR(
      checks_.Expect(NodeKind::kMapping, root, "the file", "'domain: NAME' and descriptors"));
  constexpr std::array<std::string_view, 1> kScalars = {"domain"};
  WEIR_RETURN_IF_ERROR(ExpectScalars(checks_, root, kScalars));
  domain_ = TextAt(root, "domain");
  if (domain_.empty()) return checks_.Refuse(root.line, "no domain", "'domain: NAME'");
  ReportKeys(root, kRootKeys, out_);
  if (const YamlEntry* list = Find(root, "descriptors")) {
    WEIR_RETURN_IF_ERROR(ReadList(*list->value));
  }
  return std::move(out_).Finish();
}

Status EnvoyReader::ReadList(const YamlNode& list) {
  if (list.kind == NodeKind::kNull) return {};
  WEIR_RETURN_IF_ERROR(
      checks_.Expect(NodeKind::kSequence, list, "descriptors", "a list of descriptors"));
  if (path_.size() == kMaxPatternEntries && !list.elements.empty()) {
    LeaveOutDescriptors(list.line, fmt::format("descriptors below {} others", kMaxPatternEntries),
                        list.elements);
    return {};
  }
  SiblingEntries siblings;
  // The service tries the wildcard `*` of a key before the key alone.
  for (const bool has_value : {true, false}) {
    for (const YamlNode* node : list.elements) {
      if (TextAt(*node, "value").empty() == has_value) continue;
      WEIR_RETURN_IF_ERROR(AddSibling(*node, siblings));
    }
  }
  for (std::size_t i = 0; i < siblings.all().size(); ++i) {
    WEIR_RETURN_IF_ERROR(ReadDescriptor(siblings, i));
  }
  return {};
}

Status EnvoyReader::AddSibling(const YamlNode& node, SiblingEntries& siblings) {
  if (++visited_ > kMaxRules) {
    return checks_.Refuse(node.line, fmt::format("more than {} descriptors", kMaxRules), "fewer");
  }
  WEIR_ASSIGN_OR_RETURN(const auto entry, ReadEnvoyEntry(node));
  if (!entry || siblings.Add(node, *entry)) return {};
  LeaveOutDescriptors(node.line, fmt::format("{} is listed twice", TextOf(*entry)), {&node});
  return {};
}

Result<std::optional<EntryPattern>> EnvoyReader::ReadEnvoyEntry(const YamlNode& node) {
  WEIR_RETURN_IF_ERROR(
      checks_.Expect(NodeKind::kMapping, node, "a descriptor", "a mapping with key"));
  ReportKeys(node, kDescriptorKeys, out_);
  constexpr std::array<std::string_view, 2> kScalars = {"key", "value"};
  WEIR_RETURN_IF_ERROR(ExpectScalars(checks_, node, kScalars));
  EntryPattern entry{.key = TextAt(node, "key"), .text = TextAt(node, "value")};
  if (entry.key.empty())
    return checks_.Refuse(node.line, "a descriptor without key", "'key: NAME'");
  std::string fault = FaultOfWildcard(entry);
  if (entry.text.ends_with('*')) {
    entry.text.pop_back();
  } else if (!entry.text.empty()) {
    entry.kind = EntryPattern::Kind::kExact;
  }
  // WiderThan tries each length of a text, so the length must be checked before.
  if (fault.empty()) fault = FaultOfEntry(entry);
  if (!fault.empty()) {
    LeaveOutDescriptors(node.line, std::move(fault), {&node});
    return std::optional<EntryPattern>();
  }
  WEIR_ASSIGN_OR_RETURN(const bool is_shared, ReadFlag(node, "share_threshold"));
  if (is_shared) ReadShareThreshold(node, entry);
  return std::optional(std::move(entry));
}

// The walk is bounded, because aliases may unfold to any number of descriptors.
void EnvoyReader::LeaveOutDescriptors(int line, std::string what,
                                      std::vector<const YamlNode*> descriptors) {
  std::size_t limits = 0;
  bool is_complete = true;
  while (!descriptors.empty() && visited_left_out_ < kMaxRules) {
    ++visited_left_out_;
    const YamlNode& node = *descriptors.back();
    descriptors.pop_back();
    if (Find(node, "rate_limit") != nullptr) ++limits;
    const YamlEntry* const below = Find(node, "descriptors");
    if (below == nullptr) continue;
    for (const YamlNode* one : below->value->elements) {
      is_complete &= descriptors.size() < kMaxRules;
      if (descriptors.size() < kMaxRules) descriptors.push_back(one);
    }
  }
  is_complete &= descriptors.empty();
  if (!is_complete) what += ", with more limits below it than are counted";
  if (limits == 0) return out_.LeaveOut(line, std::move(what));
  if (limits > 1) what += fmt::format(" ({} limits in all)", limits);
  out_.CountLimits(limits);
  out_.LeaveOutLimits(line, std::move(what), limits);
}

void EnvoyReader::ReadShareThreshold(const YamlNode& node, EntryPattern& entry) {
  if (TextAt(node, "value").ends_with('*')) {
    entry.shared = true;
  } else {
    out_.LeaveOut(node.line, "share_threshold without a wildcard");
  }
}

Status EnvoyReader::ReadDescriptor(const SiblingEntries& siblings, std::size_t index) {
  const auto& [node, entry, order] = siblings.all()[index];
  const YamlEntry* rate_limit = Find(*node, "rate_limit");
  const YamlEntry* children = Find(*node, "descriptors");
  const auto wider = siblings.WiderThan(index);
  path_.push_back(entry);
  if (rate_limit != nullptr) {
    WEIR_RETURN_IF_ERROR(AddRule(*node, *rate_limit->value));
  } else if (std::ranges::any_of(wider, HasRateLimit)) {
    // The service finds this descriptor, which has no limit, and ignores the limits of wider ones.
    Rule unlimited_rule = RuleAt(*node);
    unlimited_rule.unlimited = true;
    out_.Add(std::move(unlimited_rule), /*limits=*/0);
  } else if (children == nullptr) {
    out_.Remark(node->line, fmt::format("{} has no rate limit and no effect", TextOf(entry)));
  }
  siblings.ReportDifferences(index, out_);
  if (children != nullptr) WEIR_RETURN_IF_ERROR(ReadList(*children->value));
  path_.pop_back();
  return {};
}

Status EnvoyReader::AddRule(const YamlNode& descriptor, const YamlNode& rate_limit) {
  WEIR_RETURN_IF_ERROR(
      checks_.Expect(NodeKind::kMapping, rate_limit, "rate_limit", "a mapping with unit"));
  out_.CountLimits(1);
  ReportKeys(rate_limit, kRateLimitKeys, out_);
  constexpr std::array<std::string_view, 2> kScalars = {"unit", "name"};
  WEIR_RETURN_IF_ERROR(ExpectScalars(checks_, rate_limit, kScalars));
  Rule rule = RuleAt(descriptor);
  rule.name = TextAt(rate_limit, "name");
  WEIR_RETURN_IF_ERROR(ReadReplaces(rate_limit, rule));
  WEIR_ASSIGN_OR_RETURN(rule.unlimited, ReadFlag(rate_limit, "unlimited"));
  if (!rule.unlimited) {
    WEIR_ASSIGN_OR_RETURN(const bool has_quota, ReadQuota(rate_limit, rule));
    if (!has_quota) return {};
    WEIR_ASSIGN_OR_RETURN(rule.shadow, ReadFlag(descriptor, "shadow_mode"));
  } else {
    for (EntryPattern& entry : rule.match) entry.shared = false;
  }
  out_.Add(std::move(rule), /*limits=*/1);
  return {};
}

Result<bool> EnvoyReader::ReadQuota(const YamlNode& rate_limit, Rule& rule) {
  const std::string unit = TextAt(rate_limit, "unit");
  const auto millis = MillisOfEnvoyUnit(unit);
  if (!millis) {
    return checks_.Refuse(rate_limit.line, fmt::format("the unit {}", Quoted(unit)),
                          "second, minute, hour, day, week, month or year");
  }
  constexpr std::uint64_t kMost = UINT32_MAX;
  WEIR_ASSIGN_OR_RETURN(const std::uint64_t requests,
                        ReadWhole(checks_, rate_limit, {"requests_per_unit", kMost, 0}));
  if (Find(rate_limit, "requests_per_unit") == nullptr) {
    out_.Remark(rate_limit.line,
                "rate_limit has no requests_per_unit, which means 0: no request is admitted");
  }
  WEIR_ASSIGN_OR_RETURN(const std::uint64_t multiplier,
                        ReadWhole(checks_, rate_limit, {"unit_multiplier", kMost, 1}));
  const auto max_multiplier = static_cast<std::uint64_t>(kMaxPeriodMillis / *millis);
  if (multiplier < 1 || multiplier > max_multiplier) {
    out_.LeaveOutLimits(rate_limit.line,
                        fmt::format("a limit over {} x {}: a period is at most 366 days",
                                    multiplier, Printable(unit)),
                        1);
    return false;
  }
  const std::int64_t period = *millis * static_cast<std::int64_t>(multiplier);
  rule.limits = {{.name = "requests",
                  .quota = PerPeriod(static_cast<std::int64_t>(requests), milliseconds(period))}};
  return true;
}

Status EnvoyReader::ReadReplaces(const YamlNode& rate_limit, Rule& rule) {
  const YamlEntry* replaces = Find(rate_limit, "replaces");
  if (replaces == nullptr) return {};
  const YamlNode& list = *replaces->value;
  WEIR_RETURN_IF_ERROR(checks_.Expect(NodeKind::kSequence, list, "replaces", "a list of names"));
  for (const YamlNode* one : list.elements) {
    WEIR_RETURN_IF_ERROR(checks_.Expect(NodeKind::kMapping, *one, "replaces", "'- name: NAME'"));
    if (rule.replaces.size() == kMaxReplaces) {
      out_.LeaveOut(one->line, fmt::format("more than {} names in replaces", kMaxReplaces));
      return {};
    }
    rule.replaces.push_back(TextAt(*one, "name"));
  }
  return {};
}

Result<bool> EnvoyReader::ReadFlag(const YamlNode& node, std::string_view key) const {
  const YamlEntry* entry = Find(node, key);
  if (entry == nullptr) return false;
  constexpr std::array<std::string_view, 2> kFlags = {"true", "false"};
  WEIR_RETURN_IF_ERROR(checks_.ExpectWord(*entry->value, key, kFlags));
  return entry->value->text == "true";
}

}  // namespace

Result<ImportedRules> ImportEnvoyRatelimit(std::string_view text, std::string_view file_name) {
  WEIR_ASSIGN_OR_RETURN(const YamlTree tree, ParseYaml(text, file_name));
  if (tree.root == nullptr) {
    return YamlChecks(file_name).Refuse(1, "the file is empty", "'domain: NAME' and descriptors");
  }
  return EnvoyReader(file_name).Read(*tree.root);
}

}  // namespace weir::rules
