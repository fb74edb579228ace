// A limit as users write and read it: a name, a quota and an allowance.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/time.h"
#include "weir/bucket/quota.h"

namespace weir {

struct Limit {
  std::string name;
  Quota quota;
  /// How long a process may spend tokens that it took from a shared bucket in advance, without a
  /// call to the store. 0: each request calls the store. The cost of an allowance:
  /// docs/design/allowances.md.
  milliseconds allowance{0};

  friend bool operator==(const Limit&, const Limit&) = default;
};

/// Returns true for a limit that refuses every request for its tokens: its capacity and its rate
/// are 0. No bucket stores such a limit; a balance that a bucket has from an earlier limit of this
/// name stays in the bucket.
constexpr bool Blocks(const Limit& limit) {
  return limit.quota.capacity == 0 && limit.quota.amount == 0;
}

/// The largest number of limits of one bucket. zae-limiter 0.17, which may share the table, cannot
/// update more in one expression of DynamoDB (300 operators, 4096 bytes).
inline constexpr std::size_t kMaxLimits = 20;

/// The longest allowance.
inline constexpr milliseconds kMaxAllowance{60'000};

/// Parses `name:rate[/period][:burst][~allowance]`. Rate and burst are in tokens with up to three
/// decimals. Period and allowance are an optional whole number and ms, sec, min, hour or day; the
/// default is a period of one minute and no allowance. The capacity is the burst, or the rate if
/// there is no burst. A rate of 0 without a burst blocks (Blocks). Examples: `rpm:1000`,
/// `tpm:10000/min:15000`, `x:5/30sec`, `rps:1000/sec~500ms`. Errors are kInvalidArgument; the
/// message names the wrong part and shows a correct one. (The syntax of zae-limiter's command line
/// at commit ced59de, extended by decimals, ms and allowances.)
[[nodiscard]] WEIR_API Result<Limit> ParseLimit(std::string_view text);

/// Parses a list of 1 to kMaxLimits such limits with distinct names, separated by commas and
/// optional blanks.
[[nodiscard]] WEIR_API Result<std::vector<Limit>> ParseLimits(std::string_view text);

/// Returns the shortest text that ParseLimit reads back as `limit`. REQUIRES: Validate({limit}).
WEIR_API std::string FormatLimit(const Limit& limit);

/// Returns kInvalidArgument unless there are 1 to kMaxLimits limits with valid and distinct names,
/// quotas that are valid or block, and allowances from 0 to kMaxAllowance.
[[nodiscard]] WEIR_API Status Validate(const std::vector<Limit>& limits);

/// Parses a number of tokens with up to three decimals and an optional sign into millitokens.
/// Errors are kInvalidArgument: the text is not such a number, or the result exceeds 64 bits.
[[nodiscard]] WEIR_API Result<std::int64_t> ParseTokens(std::string_view text);

/// Formats millitokens as tokens without trailing zeros: 1500 -> "1.5", -250 -> "-0.25", 3000 ->
/// "3".
WEIR_API std::string FormatTokens(std::int64_t millitokens);

}  // namespace weir
