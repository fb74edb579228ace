// The configuration of envoyproxy/ratelimit as rules.
#pragma once

#include <string_view>

#include "weir/base/result.h"
#include "weir/rules/import/imported_rules.h"

namespace weir::rules {

/// Reads one file of envoyproxy/ratelimit (github.com/envoyproxy/ratelimit, README.md,
/// "Configuration": a domain and nested descriptors). Each `rate_limit` becomes a rule with a limit
/// named `requests`. A descriptor with a value and without a rate limit exempts this value from the
/// limit of its key: it becomes an unlimited rule. A month has 30 days, a year 365. The result has
/// a note for each key that has no counterpart and for each difference in precedence. Errors are
/// those of ParseYaml, and kInvalidArgument in the same form if the file is no such configuration.
[[nodiscard]] Result<ImportedRules> ImportEnvoyRatelimit(std::string_view text,
                                                         std::string_view file_name);

}  // namespace weir::rules
