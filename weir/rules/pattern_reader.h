// The pattern of a rule in a rules file.
#pragma once

#include <string>
#include <vector>

#include "weir/model/yaml_checks.h"
#include "weir/rules/rule.h"

namespace weir::rules {

/// Reads a pattern: an entry, or a list of 1 to kMaxPatternEntries entries. An entry is a key (any
/// value), `{key: value}`, `{key: prefix*}` or `{key: {exact: value}}`. Errors have the form of
/// those of ParseYaml.
[[nodiscard]] Result<std::vector<EntryPattern>> ReadPattern(const YamlChecks& checks,
                                                            const YamlNode& node);

/// Checks that the scalar is UTF-8 of 1 to `longest` bytes. `what` names it in messages.
[[nodiscard]] Status CheckRuleText(const YamlChecks& checks, const YamlNode& node,
                                   std::string_view what, std::size_t longest);

}  // namespace weir::rules
