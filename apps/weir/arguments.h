// Parses values of a command line. Errors are kInvalidArgument: the value, and an example of a
// correct one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/model/tokens.h"

namespace weir::app {

/// Parses `name=amount`: an amount in tokens with up to three decimals and an optional sign.
[[nodiscard]] Result<Amount> ParseSignedAmount(std::string_view text);

/// Like ParseSignedAmount, but refuses negative amounts.
[[nodiscard]] Result<Amount> ParseAmount(std::string_view text);

using AmountParser = Result<Amount> (*)(std::string_view);
/// Parses each text by `parse`. Refuses a repeated name.
[[nodiscard]] Result<Amounts> ParseAmounts(const std::vector<std::string>& texts,
                                           AmountParser parse);

/// Parses a number with up to three decimals and a unit (MillisOfUnit): `250ms`, `2s`, `1.5min`,
/// `1h`. Refuses negative durations and those over 366 days.
[[nodiscard]] Result<nanoseconds> ParseDuration(std::string_view text);

/// Like ParseDuration, but refuses 0.
[[nodiscard]] Result<nanoseconds> ParsePositiveDuration(std::string_view text);

/// The end of the year 9999. RFC 3339 has no later times.
inline constexpr UnixMillis kEndOfTimes{253'402'300'800'000};

/// Parses a time from 1970 to 9999: RFC 3339 (`2023-11-16T18:15:46.680Z`, `...+01:00`; digits
/// beyond milliseconds are dropped), `2023-11-16 18:15:46` or `2023-11-16` in UTC, or milliseconds
/// since 1970.
[[nodiscard]] Result<UnixMillis> ParseTime(std::string_view text);

/// Parses `key=value`. Refuses an empty key.
[[nodiscard]] Result<std::pair<std::string, std::string>> ParseMetadata(std::string_view text);

/// Parses each text by ParseMetadata. Refuses a repeated key.
[[nodiscard]] Result<std::map<std::string, std::string>> ParseMetadataTexts(
    const std::vector<std::string>& texts);

/// Returns kInvalidArgument unless `text` is a resource, or `_default_`, which stands for the
/// resources on which an entity has no other limits.
[[nodiscard]] Status CheckResourceOrDefault(const std::string& text);

/// Parses a whole number between the bounds, both included.
[[nodiscard]] Result<std::uint64_t> ParseIntegerInRange(std::string_view text, std::uint64_t low,
                                                        std::uint64_t high);

/// Parses the seed of a random choice: any whole number of 64 bits.
[[nodiscard]] Result<std::uint64_t> ParseSeed(std::string_view text);

}  // namespace weir::app
