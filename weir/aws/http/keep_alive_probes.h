// The probes of idle connections (TCP keep-alive).
#pragma once

#include <cstdint>

namespace weir::internal {

// Without probes, a connection that was cut silently (a NAT or firewall that forgot it) looks idle
// until a request fails on it after attempt_timeout, and the same happens on each other idle
// connection. With probes the system closes it, unused, after 5 + 3 * 2 s; Linux's defaults amount
// to two hours. A probe is an empty segment on a connection without traffic for 5 s; there are at
// most max_connections such connections, and none is idle for longer than idle_timeout.
inline constexpr std::uint16_t kProbeAfterSeconds = 5;
inline constexpr std::uint16_t kProbeEverySeconds = 2;
inline constexpr std::uint16_t kMaxFailedProbes = 3;

}  // namespace weir::internal
