// The limits of a YAML file: a mapping of names to quotas. Format: docs/limits-file.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/model/limit.h"
#include "weir/model/yaml_checks.h"

namespace weir {

/// Describes correct limits, for messages.
inline constexpr std::string_view kYamlLimitsExample = "1 to 20 limits such as 'rpm: 1000/min'";

/// Aliases may repeat a large part of a file many times; this bounds the number of limits after all
/// aliases are expanded.
inline constexpr std::size_t kMaxDeclaredLimits = 1'000'000;

/// Reads all lists of limits of one file, and counts their limits.
class YamlLimits {
 public:
  /// `file_name` must outlive the reader.
  explicit YamlLimits(std::string_view file_name) : checks_(file_name) {}

  /// Returns 1 to kMaxLimits valid limits in the order of the file. `owner` names their owner in
  /// messages. Errors have the form of those of ParseYaml.
  [[nodiscard]] Result<std::vector<Limit>> Read(const YamlNode& node, const std::string& owner);

 private:
  YamlChecks checks_;
  std::size_t declared_ = 0;
};

}  // namespace weir
