// Times in UTC: as ISO 8601 text, and in whole seconds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/base/time.h"

namespace weir::dynamo {

/// Returns a text like `2026-01-31T09:05:00Z`, without fractions of a second. REQUIRES: years 0 to
/// 9999.
std::string FormatIso(UnixMillis time);

/// Reads the form of FormatIso, also with a fraction (digits beyond milliseconds are dropped) and
/// with `+00:00` instead of the Z. Returns nothing for any other text.
std::optional<UnixMillis> ParseIso(std::string_view text);

/// Returns the seconds since 1970, rounded down: the unit of DynamoDB's time to live.
std::int64_t WholeSeconds(UnixMillis time);

}  // namespace weir::dynamo
