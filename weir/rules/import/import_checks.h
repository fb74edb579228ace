// Reads scalars of files that are imported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/model/yaml_checks.h"
#include "weir/rules/import/imported_rules.h"

namespace weir::rules {

/// Returns the text of the scalar with this key; empty if there is none.
std::string TextAt(const YamlNode& node, std::string_view key);

/// Checks that the values of these keys are scalars or null.
[[nodiscard]] Status ExpectScalars(const YamlChecks& checks, const YamlNode& node, YamlWords keys);

/// What ReadWhole reads: a whole number from 0 to `max`. If the key is missing, ReadWhole returns
/// `absent`, or an error if `absent` is nothing.
struct WholeNumber {
  std::string_view key;
  std::uint64_t max;
  std::optional<std::uint64_t> absent;
};
[[nodiscard]] Result<std::uint64_t> ReadWhole(const YamlChecks& checks, const YamlNode& node,
                                              const WholeNumber& number);

/// Reports the keys of the mapping that are not in `known`.
void ReportKeys(const YamlNode& node, YamlWords known, ImportCollector& out);

}  // namespace weir::rules
