// A quota and an allowance as text: `rate[/period][:burst][~allowance]`, the part of a limit after
// its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/time.h"
#include "weir/bucket/quota.h"

namespace weir {

/// Grammar: see ParseLimit. The error names the wrong part and shows a correct one.
[[nodiscard]] Result<Quota> ParseQuota(std::string_view text);

/// Returns the shortest text that ParseQuota reads back as `quota`. REQUIRES: Validate(quota), or
/// capacity and amount are 0.
std::string FormatQuota(const Quota& quota);

/// Returns the milliseconds of a unit of periods and allowances: ms; s or sec; m or min; h or hour;
/// d or day. Nothing if the unit is unknown.
std::optional<std::int64_t> MillisOfUnit(std::string_view name);

struct LimitTerms {
  Quota quota;
  milliseconds allowance{0};
};

/// Like ParseQuota, followed by an optional allowance.
[[nodiscard]] Result<LimitTerms> ParseTerms(std::string_view text);

/// Parses an allowance: a whole number and a unit (see MillisOfUnit), such as 500ms, up to
/// kMaxAllowance.
[[nodiscard]] Result<milliseconds> ParseAllowance(std::string_view text);
/// Returns the shortest text that ParseAllowance reads back. REQUIRES: `allowance` is positive.
std::string FormatAllowance(milliseconds allowance);
/// Returns kInvalidArgument unless the allowance is from 0 to kMaxAllowance.
[[nodiscard]] Status CheckAllowance(milliseconds allowance);

/// Parses a positive number of tokens into millitokens. Error messages begin with `part`.
[[nodiscard]] Result<std::int64_t> ParsePositiveTokens(std::string_view part,
                                                       std::string_view text);

/// Like ParsePositiveTokens, but also accepts 0.
[[nodiscard]] Result<std::int64_t> ParseTokensFromZero(std::string_view part,
                                                       std::string_view text);

/// Returns kInvalidArgument if one of capacity and amount is 0 and the other is not.
[[nodiscard]] Status CheckZeros(const Quota& quota);

/// Parses a positive number of seconds into milliseconds. Error messages begin with `part`.
[[nodiscard]] Result<std::int64_t> ParsePositiveSeconds(std::string_view part,
                                                        std::string_view text);

}  // namespace weir
