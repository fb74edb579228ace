// The units of time of envoyproxy/ratelimit.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::rules {

/// Returns the milliseconds of a unit such as `minute`, in upper or lower case; nothing if the
/// service has no such unit. A month has 30 days, a year 365.
std::optional<std::int64_t> MillisOfEnvoyUnit(std::string_view text);

}  // namespace weir::rules
