// The rules of the rate limit service, declared in one YAML file. Format: docs/rules-file.md.
#pragma once

#include <string_view>

#include "weir/base/result.h"
#include "weir/rules/rule_set.h"

namespace weir::rules {

/// Bounds on the content of a file, after all aliases are expanded.
inline constexpr std::size_t kMaxRules = 100'000;
inline constexpr std::size_t kMaxRulesText = std::size_t{64} << 20;  ///< bytes of all texts
inline constexpr std::size_t kMaxPatternText = 1024;  ///< bytes of a key, value, domain or template
inline constexpr std::size_t kMaxRuleName = 256;      ///< bytes of the name of a rule
inline constexpr std::size_t kMaxReplaces = 64;       ///< names that one rule replaces

/// Parses a rules file of at most 16 MiB. The function rejects everything that it does not
/// understand: unknown and duplicate keys, two rules with one pattern, templates over keys that the
/// pattern does not have, amounts of limits that the rule does not have, a rule that replaces its
/// own name, rules that replace each other in a cycle, rules with different limits that can have
/// one bucket (CheckSharedBuckets). Errors are kInvalidArgument with a message of one line,
/// `file_name:line: what; expected ...`, or kInternal if OpenSSL has no SHA-256.
[[nodiscard]] Result<RuleSet> ParseRules(std::string_view text, std::string_view file_name);

}  // namespace weir::rules
