// How idle connections are probed (TCP keep-alive).
#pragma once

#include <cstdint>

namespace weir::internal {

// Without probes a connection that was cut silently (a NAT or firewall that forgot it) looks idle
// until a request fails on it after attempt_timeout, and so does each of the other idle ones. With
// them the system closes it, unused, after 5 + 3 * 2 s; Linux's defaults are two hours. A probe is
// an empty segment in a connection without traffic for 5 s, of which there are at most
// max_connections, and none is older than idle_timeout.
inline constexpr std::uint16_t kProbeAfterSeconds = 5;
inline constexpr std::uint16_t kProbeEverySeconds = 2;
inline constexpr std::uint16_t kMostFailedProbes = 3;

}  // namespace weir::internal
