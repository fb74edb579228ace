// What one HTTP/2 connection may cost.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weir/base/time.h"

namespace weir::http2 {

/// The bounds of one connection. Mechanism and reasons: docs/design/http2.md.
struct ConnectionBounds {
  std::uint32_t max_streams = 256;       ///< open at the same time
  std::size_t max_header_list = 16'384;  ///< bytes of names and values, and 32 for each field
  std::uint32_t stream_window = 65'535;  ///< bytes of a request's body that are in flight
  std::uint32_t connection_window = 1'048'576;
  /// Bounds on resets by the peer: at once, and per second. A peer that exceeds them is
  /// disconnected. A client whose time-out is shorter than the store's pause resets each of its
  /// requests, so the bounds are far above nghttp2's defaults of 1,000 and 33.
  std::uint64_t reset_burst = 200'000;
  std::uint64_t resets_per_second = 50'000;

  nanoseconds handshake{10'000'000'000};  ///< until the peer's preface and settings
  nanoseconds idle{3'600'000'000'000};    ///< without a stream
  nanoseconds request{20'000'000'000};    ///< from a request's headers to its end
  /// A finished response is reset if the peer has not taken it within this time. Responses are not
  /// checked continuously: the time begins up to max(`request`, `response`) after the finish.
  nanoseconds response{20'000'000'000};
  nanoseconds ping_after{60'000'000'000};  ///< of silence while streams are open
  nanoseconds ping_timeout{20'000'000'000};
  nanoseconds age{0};  ///< after this time the connection drains; 0: it does not
  nanoseconds drain_notice{1'000'000'000};  ///< from the shutdown notice to the final GOAWAY
  /// From the final GOAWAY of a drain to the end of the connection, even if streams are still open.
  nanoseconds drain_grace{10'000'000'000};
};

}  // namespace weir::http2
