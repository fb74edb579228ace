// The configuration of envoyproxy/ratelimit as rules.
#pragma once

#include <string_view>

#include "weir/base/result.h"
#include "weir/rules/import/imported_rules.h"

namespace weir::rules {

/// Reads one file of envoyproxy/ratelimit (github.com/envoyproxy/ratelimit, README.md,
/// "Configuration": a domain and nested descriptors). Each `rate_limit` becomes a rule with a limit
/// named `requests`; a descriptor with a value and without a rate limit, which lifts the limit of
/// the same key without this value, becomes an unlimited rule. A unit of a month has 30 days, of a
/// year 365. The result has a note for each key that has no counterpart and for each difference in
/// precedence. Errors are those of ParseYaml, and kInvalidArgument in their form if the file is no
/// such configuration.
[[nodiscard]] Result<ImportedRules> ImportEnvoyRatelimit(std::string_view text,
                                                         std::string_view file_name);

}  // namespace weir::rules
