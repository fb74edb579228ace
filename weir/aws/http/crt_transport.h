// Transports of HTTP/1.1 to one endpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "weir/aws/http/crt_runtime.h"
#include "weir/aws/http/http.h"
#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

/// A proxy that is reached by plain HTTP; for a TLS endpoint it opens a tunnel (CONNECT).
struct HttpProxy {
  std::string host;
  std::uint16_t port = 443;
  std::string user;  ///< for basic authentication; empty: none
  std::string password;
};

struct TransportOptions {
  std::string host;  ///< a name or an address, without port; TLS expects it in the certificate
  std::uint16_t port = 443;
  bool tls = true;
  std::optional<HttpProxy> proxy{};
  std::size_t max_connections = 64;     ///< at least 1
  std::size_t max_waiting = 10'000;     ///< queued requests, at least 1; more fail at once, unsent
  milliseconds connect_timeout{3'000};  ///< for TCP, and again for the TLS handshake
  milliseconds idle_timeout{30'000};    ///< a connection without a request for this time is closed
  std::size_t max_response_bytes = std::size_t{16} << 20;  ///< a longer body is a failure
  /// Called on any thread at the start of each request, and ten times a second until its end. If it
  /// returns true, all requests time out. Empty: only SendLimits end them.
  std::function<bool()> gives_up{};
};

/// Returns a transport. Its connections are kept alive and carry one request at a time; a request
/// for which none is free waits in a queue, until its SendLimits end it. Making a connection takes
/// at most connect_timeout, twice that with TLS, plus the lookup of the name. If it fails and
/// there is no other connection, the queued requests fail unsent. A connection whose peer is
/// silently gone is closed 11 s after the last traffic on it (TCP keep-alive), so that no later
/// request fails on it. A connection that the server closed while it was idle is replaced. If a
/// request was already begun on such a connection, it fails with `maybe_sent`, because the server
/// may have read it. The threads are described in docs/design/http.md.
///
/// `clock` is the clock of the deadlines. It and `runtime` must outlive the transport. The
/// destructor waits until every request has completed and every connection is closed; it must not
/// be called from a `done`.
///
/// Without options.proxy, a TLS endpoint that is not on this machine is reached through the proxy
/// in HTTPS_PROXY or https_proxy, unless NO_PROXY or no_proxy lists the host, as by AWS's tools. If
/// a proxy cannot be reached or refuses, requests fail unsent. Returns kInvalidArgument if the
/// options describe no valid endpoint.
WEIR_API Result<std::unique_ptr<HttpTransport>> MakeTransport(const CrtRuntime& runtime,
                                                              const Clock& clock,
                                                              const TransportOptions& options);

namespace internal {

/// Like MakeTransport, but always over AWS's HTTP client, which MakeTransport uses if there may be
/// a proxy.
WEIR_API Result<std::unique_ptr<HttpTransport>> MakeCrtTransport(const CrtRuntime& runtime,
                                                                 const Clock& clock,
                                                                 const TransportOptions& options);

}  // namespace internal
}  // namespace weir
