// One rule of a rules file.
#pragma once

#include <string_view>

#include "weir/model/yaml_limits.h"
#include "weir/rules/rule.h"

namespace weir::rules {

/// Reads the rules of one file. Errors have the form of those of ParseYaml.
class RuleReader {
 public:
  /// `file_name` must outlive the reader.
  explicit RuleReader(std::string_view file_name) : checks_(file_name), limits_(file_name) {}

  /// Reads a rule of the domain.
  [[nodiscard]] Result<Rule> Read(const YamlNode& node, std::string_view domain);

 private:
  Status ReadMatch(const YamlNode& node, Rule& rule) const;
  Status ReadName(const YamlNode& node, Rule& rule) const;
  Status ReadReplaces(const YamlNode& node, Rule& rule) const;
  /// Reads limits, amounts, charge and shadow, or refuses all of them if the rule is unlimited.
  Status ReadCharge(const YamlNode& node, Rule& rule);
  Status ReadAmounts(const YamlNode& node, Rule& rule) const;
  Status ReadAmount(const YamlEntry& entry, Rule& rule) const;
  /// Refuses amounts with which no request could pass.
  Status CheckAmounts(const YamlNode& node, const Rule& rule) const;
  Status ReadFlags(const YamlNode& node, Rule& rule) const;
  Status ReadBucket(const YamlNode& node, Rule& rule) const;
  Status ReadShare(const YamlNode& node, Rule& rule) const;
  Result<IdTemplate> ReadTemplate(IdKind kind, const YamlNode& node, const Rule& rule) const;
  /// Reads the word true or false into `flag`, which is unchanged if `node` has no such key.
  Status ReadTruth(const YamlNode& node, std::string_view key, bool& flag) const;

  YamlChecks checks_;
  YamlLimits limits_;
};

}  // namespace weir::rules
