// Values as people write them on a command line. Errors are kInvalidArgument: what, and what would
// be right.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/model/tokens.h"

namespace weir::app {

/// `name=amount`, the amount in tokens with up to three decimals and perhaps a sign.
[[nodiscard]] Result<Amount> ParseSignedAmount(std::string_view text);

/// As above, not negative.
[[nodiscard]] Result<Amount> ParseAmount(std::string_view text);

/// Each by ParseAmount or ParseSignedAmount; no name twice.
using AmountParser = Result<Amount> (*)(std::string_view);
[[nodiscard]] Result<Amounts> ParseAmounts(const std::vector<std::string>& texts,
                                           AmountParser parse);

/// A number with up to three decimals and a unit (MillisOfUnit): `250ms`, `2s`, `1.5min`, `1h`. Not
/// negative; at most 366 days.
[[nodiscard]] Result<nanoseconds> ParseDuration(std::string_view text);

/// The same, not 0.
[[nodiscard]] Result<nanoseconds> ParsePositiveDuration(std::string_view text);

/// A point in time from 1970 to 9999: RFC 3339 (`2023-11-16T18:15:46.680Z`, `...+01:00`; digits
/// beyond milliseconds are dropped), `2023-11-16 18:15:46` or `2023-11-16` in UTC, or milliseconds
/// since 1970.
[[nodiscard]] Result<UnixMillis> ParseTime(std::string_view text);

/// `key=value`; the key is not empty.
[[nodiscard]] Result<std::pair<std::string, std::string>> ParseMetadata(std::string_view text);

/// A whole number between the bounds, both included.
[[nodiscard]] Result<std::uint64_t> ParseWhole(std::string_view text, std::uint64_t low,
                                               std::uint64_t high);

}  // namespace weir::app
