// A quota as text: `rate[/period][:burst]`, what stands after the name of a limit.
#pragma once

#include <string>
#include <string_view>

#include "weir/bucket/quota.h"

namespace weir {

/// Grammar: see ParseLimit. The error names the part that is wrong and shows a right one.
[[nodiscard]] Result<Quota> ParseQuota(std::string_view text);

/// The shortest text that ParseQuota reads back as `quota`. REQUIRES: Validate(quota).
std::string FormatQuota(const Quota& quota);

/// Reads a positive number of tokens into millitokens; errors begin with `part`.
[[nodiscard]] Result<std::int64_t> ParsePositiveTokens(std::string_view part,
                                                       std::string_view text);

/// Reads a positive number of seconds into milliseconds; errors begin with `part`.
[[nodiscard]] Result<std::int64_t> ParsePositiveSeconds(std::string_view part,
                                                        std::string_view text);

}  // namespace weir
