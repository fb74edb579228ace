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

/// More limits on one bucket are refused: zae-limiter 0.17, which may share the table, cannot
/// update more in one expression of DynamoDB (300 operators, 4096 bytes).
inline constexpr std::size_t kMaxLimits = 20;

/// Reads `name:rate[/period][:burst]`: rate and burst in tokens with up to three decimals; period
/// an optional whole number and ms, sec, min, hour or day (default min); the capacity is the burst,
/// or else the rate. Examples: `rpm:1000`, `tpm:10000/min:15000`, `x:5/30sec`. The error is
/// kInvalidArgument, names the part that is wrong and shows a right one. (The syntax of
/// zae-limiter's command line at commit ced59de, extended by decimals and ms.)
[[nodiscard]] Result<Limit> ParseLimit(std::string_view text);

/// A list of 1 to kMaxLimits of the above, separated by commas and optional blanks; names may not
/// repeat.
[[nodiscard]] Result<std::vector<Limit>> ParseLimits(std::string_view text);

/// The shortest text that ParseLimit reads back as `limit`. REQUIRES: Validate({limit}).
std::string FormatLimit(const Limit& limit);

/// kInvalidArgument unless there are 1 to kMaxLimits limits, with valid, distinct names and quotas.
[[nodiscard]] Status Validate(const std::vector<Limit>& limits);

/// Reads a number of tokens with up to three decimals into millitokens; a sign is allowed. Errors
/// are kInvalidArgument: not such a number, or beyond 64 bits.
[[nodiscard]] Result<std::int64_t> ParseTokens(std::string_view text);

/// Millitokens as tokens, without needless zeros: 1500 -> "1.5", -250 -> "-0.25", 3000 -> "3".
std::string FormatTokens(std::int64_t millitokens);

}  // namespace weir
