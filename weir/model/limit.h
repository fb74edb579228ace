// A limit as people write and read it: a name and a quota.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/bucket/quota.h"

namespace weir {

struct Limit {
  std::string name;
  Quota quota;

  friend bool operator==(const Limit&, const Limit&) = default;
};

/// More limits on one bucket are refused (zae-limiter-0.17, section 8).
inline constexpr std::size_t kMaxLimits = 20;

/// Reads `name:rate[/period][:burst]`: rate and burst in tokens with up to three decimals; period
/// an optional whole number and sec, min, hour or day (default min). Examples: `rpm:1000`,
/// `tpm:10000/min:15000`, `x:5/30sec`. The error names the part that is wrong and shows a right one.
[[nodiscard]] Result<Limit> ParseLimit(std::string_view text);

/// A comma-separated list of the above; names may not repeat.
[[nodiscard]] Result<std::vector<Limit>> ParseLimits(std::string_view text);

/// The shortest text that ParseLimit reads back as `limit`.
std::string FormatLimit(const Limit& limit);

/// kInvalidArgument unless there are 1 to kMaxLimits limits, with valid, distinct names and quotas.
[[nodiscard]] Status Validate(const std::vector<Limit>& limits);

/// Reads a number of tokens with up to three decimals into millitokens; a sign is allowed.
[[nodiscard]] Result<std::int64_t> ParseTokens(std::string_view text);

/// Millitokens as tokens, without needless zeros: 1500 -> "1.5", -250 -> "-0.25", 3000 -> "3".
std::string FormatTokens(std::int64_t millitokens);

}  // namespace weir
