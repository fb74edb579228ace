// What an operator configures for a server.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/time.h"
#include "weir/transport/inherited_socket.h"
#include "weir/transport/tls_options.h"

namespace weir::transport {

struct ServerOptions {
  /// "HOST:PORT", "[IPV6]:PORT" (port 0: the system chooses one), "unix:PATH", or "systemd:NAME"
  /// for the inherited sockets of this name.
  std::vector<std::string> addresses;
  std::vector<InheritedSocket> inherited;
  std::optional<TlsOptions> tls;
  /// The options that give this server TLS, for error messages.
  std::string tls_remedy = "tls-certificate and tls-key";
  /// Whether to listen without TLS on addresses that other machines reach.
  bool allow_plaintext = false;
  std::size_t max_connections = 0;           ///< 0: no bound
  std::size_t max_connections_per_peer = 0;  ///< of an IPv4 address or an IPv6 /64; 0: no bound
  nanoseconds handshake_timeout = std::chrono::seconds(10);
  /// How long a peer may take no byte of the output before its connection is cut.
  nanoseconds write_timeout = std::chrono::seconds(30);
  /// How long a connection that has ended waits for the peer to close as well.
  nanoseconds linger_timeout = std::chrono::seconds(1);
};

}  // namespace weir::transport
