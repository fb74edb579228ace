// A quota and an allowance as text: `rate[/period][:burst][~allowance]`, what stands after the name
// of a limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/time.h"
#include "weir/bucket/quota.h"

namespace weir {

/// Grammar: see ParseLimit. The error names the part that is wrong and shows a right one.
[[nodiscard]] Result<Quota> ParseQuota(std::string_view text);

/// The shortest text that ParseQuota reads back as `quota`. REQUIRES: Validate(quota).
std::string FormatQuota(const Quota& quota);

/// The unit of a duration, a period or an allowance, in milliseconds: ms; s or sec; m or min; h or
/// hour; d or day.
std::optional<std::int64_t> MillisOfUnit(std::string_view name);

struct Terms {
  Quota quota;
  milliseconds allowance{0};
};

/// As ParseQuota, and an allowance where there is one.
[[nodiscard]] Result<Terms> ParseTerms(std::string_view text);

/// Reads an allowance: a whole number and a unit (MillisOfUnit), such as 500ms, up to
/// kMaxAllowance.
[[nodiscard]] Result<milliseconds> ParseAllowance(std::string_view text);
/// The shortest text of it. REQUIRES: it is positive.
std::string FormatAllowance(milliseconds allowance);
/// kInvalidArgument unless it is from 0 to kMaxAllowance.
[[nodiscard]] Status CheckAllowance(milliseconds allowance);

/// Reads a positive number of tokens into millitokens; errors begin with `part`.
[[nodiscard]] Result<std::int64_t> ParsePositiveTokens(std::string_view part,
                                                       std::string_view text);

/// Reads a positive number of seconds into milliseconds; errors begin with `part`.
[[nodiscard]] Result<std::int64_t> ParsePositiveSeconds(std::string_view part,
                                                        std::string_view text);

}  // namespace weir
