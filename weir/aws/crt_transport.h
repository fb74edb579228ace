// HTTP/1.1 to one endpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "weir/aws/crt_runtime.h"
#include "weir/aws/http.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

/// Asked in plain HTTP; for a TLS endpoint it opens a tunnel (CONNECT).
struct HttpProxy {
  std::string host;
  std::uint16_t port = 443;
  std::string user;  ///< for basic authentication; empty: none
  std::string password;
};

struct TransportOptions {
  std::string host;  ///< a name or an address, without port; also what TLS expects to be named
  std::uint16_t port = 443;
  bool tls = true;
  std::optional<HttpProxy> proxy{};
  std::size_t max_connections = 64;     ///< at least 1
  std::size_t max_waiting = 10'000;     ///< for a connection, at least 1; more fail at once, unsent
  milliseconds connect_timeout{3'000};  ///< for TCP, and as much again for the TLS handshake
  milliseconds idle_timeout{30'000};    ///< a connection is closed after so long without a request
  std::size_t max_answer_bytes = std::size_t{16} << 20;  ///< of a body; a larger one is a failure
  /// Asked on any thread at the start of each request and ten times a second until its end. True:
  /// the time of all requests is over. Empty: only SendLimits end them.
  std::function<bool()> gives_up{};
};

/// Connections are kept alive and carry one request at a time; whoever finds none free waits its
/// turn, as long as its SendLimits let it. Making a connection takes connect_timeout at most, twice
/// that with TLS, besides finding the address of the name; where it fails and there is no other,
/// requests that wait fail unsent. A connection whose peer is gone without a word is closed 11 s
/// after the last traffic on it (TCP keep-alive), so that a request that comes later does not fail
/// on it. A connection that the server closed while nothing was asked of it is replaced; a request
/// that was begun on one fails with `maybe_sent`, as the server may have read it. Which threads do
/// what: docs/design/http.md.
///
/// `clock` is the one that the deadlines are instants of. It and `runtime` must outlive the
/// transport. The destructor waits until every request is answered and every connection is closed;
/// it must not be called from a `done`.
///
/// Without options.proxy a TLS endpoint that is not on this machine is reached through the proxy
/// that HTTPS_PROXY or https_proxy names, unless NO_PROXY or no_proxy lists the host, as AWS's
/// tools do. A proxy that cannot be reached or refuses fails requests unsent. kInvalidArgument: no
/// such host can be asked.
Result<std::unique_ptr<HttpTransport>> MakeTransport(const CrtRuntime& runtime, const Clock& clock,
                                                     const TransportOptions& options);

namespace internal {

/// The same, over AWS's HTTP client in any case: what MakeTransport uses if there is a proxy.
Result<std::unique_ptr<HttpTransport>> MakeCrtTransport(const CrtRuntime& runtime,
                                                        const Clock& clock,
                                                        const TransportOptions& options);

}  // namespace internal
}  // namespace weir
