// Times as the table's records hold them: UTC, whole seconds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/base/time.h"

namespace weir::dynamo {

/// `2026-01-31T09:05:00Z`; what is beyond whole seconds is dropped. REQUIRES: years 0 to 9999.
std::string FormatIso(UnixMillis time);

/// Reads that form, also with a fraction (what is beyond milliseconds is dropped) and with `+00:00`
/// for the Z; nothing for any other text.
std::optional<UnixMillis> ParseIso(std::string_view text);

/// Seconds since 1970, as `ttl` holds them.
std::int64_t WholeSeconds(UnixMillis time);

}  // namespace weir::dynamo
