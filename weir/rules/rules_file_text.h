// The rules file as text. Format: docs/rules-file.md.
#pragma once

#include <string>
#include <vector>

#include "weir/rules/rule.h"

namespace weir::rules {

/// Returns YAML that ParseRules reads back as these rules, except for their lines. Rules keep their
/// order within a domain; domains have the order of their first rules. REQUIRES: the rules are
/// valid for ParseRules.
std::string FormatRules(const std::vector<Rule>& rules);

}  // namespace weir::rules
