// HTTP/1.1 for operators: metrics and probes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "weir/base/time.h"
#include "weir/transport/connection.h"

namespace weir::transport {

/// The views are valid during the call of the handler.
struct AdminRequest {
  std::string_view method;         ///< GET or HEAD
  std::string_view target;         ///< the path and the query, as sent
  std::string_view authorization;  ///< the header; empty if there is none, or more than one
};

struct AdminResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

/// The response to HEAD is the response to GET without the body. A response with status 401
/// requests a bearer token (RFC 6750). The handler is called on the threads of all loops of the
/// server. It must not block for long, nor throw.
using AdminHandler = std::function<AdminResponse(const AdminRequest& request)>;

struct AdminOptions {
  std::size_t max_head_bytes = 8 * 1024;  ///< of the request line and all headers
  /// From the first byte of a request, or from the beginning of the connection, to the end of the
  /// headers.
  nanoseconds head_timeout = std::chrono::seconds(10);
  nanoseconds idle_timeout = std::chrono::seconds(60);  ///< between two requests
  /// For a peer to take a response, however slowly.
  nanoseconds response_timeout = std::chrono::seconds(60);
};

/// Returns the factory for a Server (server.h), whose own options bound the number of connections.
///
/// A request with a body gets 413, one with another method than GET and HEAD 405, a malformed one
/// 400, a late one 408, one with too large a head 431, more than 64 KB of requests that wait for
/// earlier responses 429, and the connection is closed. After other requests the connection stays
/// open, unless the client requests its end or speaks HTTP/1.0. The requests of a connection are
/// served one after the other, each when the response to the previous one was sent.
ConnectionFactory MakeAdminConnections(AdminHandler handler, AdminOptions options = {});

}  // namespace weir::transport
