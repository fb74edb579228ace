// What a server counts.
#pragma once

#include "weir/telemetry/counter.h"

namespace weir::transport {

/// Any thread may read it at any time.
struct ServerCounters {
  Counter accepted;
  Counter refused_total;     ///< refused: too many connections
  Counter refused_peer;      ///< refused: too many connections of one peer
  Counter refused_draining;  ///< refused: the server ends
  Counter refused_system;    ///< refused: the system lacks a resource, or the protocol refused
  Counter handshakes_failed;
  Counter handshakes_late;  ///< handshakes that passed their time limit
  Counter handshakes_alpn;  ///< handshakes without the required protocol
  Counter cut_slow;         ///< connections whose peer took no bytes for too long
  Counter cut_broken;       ///< connections that the peer or the network broke
  Counter cut_drained;      ///< connections with requests in progress at the end of a drain, the
                            ///< server's or their own
  Counter accept_errors;
  Counter reload_errors;
  Counter bytes_received;  ///< without TLS's own bytes
  Counter bytes_sent;      ///< without TLS's own bytes
};

}  // namespace weir::transport
