// A gRPC server: methods, and the connections that call them.
#pragma once

#include <memory>

#include "weir/grpc/grpc_stream.h"
#include "weir/grpc/method_table.h"
#include "weir/grpc/server_bounds.h"
#include "weir/http2/bounds.h"
#include "weir/http2/server_connection.h"
#include "weir/transport/connection.h"

namespace weir::grpc {

/// What the connections of a server count. Must outlive the connections. Any thread.
struct ServerCounts {
  http2::ConnectionCounts connections;
  CallCounts calls;
};

struct ServerTerms {
  const MethodTable& methods;
  http2::ConnectionBounds connection;
  ServerBounds calls;
};

/// Returns a connection that serves the methods. `terms` and `counts` must outlive the connection.
std::unique_ptr<transport::Connection> ServeConnection(const ServerTerms& terms,
                                                       ServerCounts& counts,
                                                       transport::ConnectionContext context);

}  // namespace weir::grpc
