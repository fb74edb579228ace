// The output of verbs on rules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/weir/terminal/json.h"
#include "weir/rules/import/imported_rules.h"
#include "weir/rules/rule_set.h"

namespace weir::app {

/// The rule of a descriptor, and the rules that were considered.
struct RuleSearch {
  std::optional<rules::Match> match;
  std::vector<rules::Considered> considered;
};

/// Returns {"name", "domain", "match", "limits", "amounts", "entity", "resource", "charge",
/// "shadow", "unlimited", "replaces", "line"} without the members that the rule lacks. `entity` and
/// `resource` are its templates. `match` is a list of {"key", "value"}, {"key", "prefix"} or
/// {"key"}, with "shared".
Json ToJson(const rules::Rule& rule);

/// Returns {"rule", "entity", "resource", "considered": [{"name", "line", "outcome", "why"}]}. The
/// rule is null if none matches.
Json ToJson(const RuleSearch& search);

/// Returns the rule, its bucket and a table of the rules that were considered. Of those that do not
/// match, at most `others` are listed.
std::string TextOf(const RuleSearch& search, std::size_t others);

/// Returns {"limits", "left_out" (limits), "parts_left_out", "rules", "notes": [{"line",
/// "left_out", "what"}]}.
Json ToJson(const rules::ImportedRules& imported);

}  // namespace weir::app
