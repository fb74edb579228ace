// A limit as people write and read it: a name and a quota.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/time.h"
#include "weir/bucket/quota.h"

namespace weir {

struct Limit {
  std::string name;
  Quota quota;
  /// How long a process may spend what it took from a shared bucket ahead of the requests, without
  /// asking the store; 0: each request asks the store. What that costs: docs/design/allowances.md.
  milliseconds allowance{0};

  friend bool operator==(const Limit&, const Limit&) = default;
};

/// More limits on one bucket are refused: zae-limiter 0.17, which may share the table, cannot
/// update more in one expression of DynamoDB (300 operators, 4096 bytes).
inline constexpr std::size_t kMaxLimits = 20;

/// Longest allowance.
inline constexpr milliseconds kMaxAllowance{60'000};

/// Reads `name:rate[/period][:burst][~allowance]`: rate and burst in tokens with up to three
/// decimals; period and allowance an optional whole number and ms, sec, min, hour or day (default:
/// a period of min, no allowance); the capacity is the burst, or else the rate. Examples:
/// `rpm:1000`, `tpm:10000/min:15000`, `x:5/30sec`, `rps:1000/sec~500ms`. The error is
/// kInvalidArgument, names the part that is wrong and shows a right one. (The syntax of
/// zae-limiter's command line at commit ced59de, extended by decimals, ms and allowances.)
[[nodiscard]] Result<Limit> ParseLimit(std::string_view text);

/// A list of 1 to kMaxLimits of the above, separated by commas and optional blanks; names may not
/// repeat.
[[nodiscard]] Result<std::vector<Limit>> ParseLimits(std::string_view text);

/// The shortest text that ParseLimit reads back as `limit`. REQUIRES: Validate({limit}).
std::string FormatLimit(const Limit& limit);

/// kInvalidArgument unless there are 1 to kMaxLimits limits, with valid, distinct names, quotas and
/// allowances from 0 to kMaxAllowance.
[[nodiscard]] Status Validate(const std::vector<Limit>& limits);

/// Reads a number of tokens with up to three decimals into millitokens; a sign is allowed. Errors
/// are kInvalidArgument: not such a number, or beyond 64 bits.
[[nodiscard]] Result<std::int64_t> ParseTokens(std::string_view text);

/// Millitokens as tokens, without needless zeros: 1500 -> "1.5", -250 -> "-0.25", 3000 -> "3".
std::string FormatTokens(std::int64_t millitokens);

}  // namespace weir
