// What the calls of a gRPC server may cost.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weir/telemetry/counter.h"

namespace weir::grpc {

struct ServerBounds {
  std::size_t max_message = 65'536;     ///< bytes of one request message, also decompressed
  std::size_t max_kept = 1'048'576;     ///< bytes of incomplete requests of one connection, as
                                        ///< received
  std::size_t max_calls = 1'024;        ///< in flight on one connection, including calls that the
                                        ///< peer has given up while a store works on them
  std::size_t max_pending = 1'048'576;  ///< bytes of the responses of one call
  std::size_t max_connection_pending = 4'194'304;  ///< bytes of the responses of one connection
};

/// Counts of calls. Any thread.
struct CallCounts {
  Counter calls;
  Counter overloaded;  ///< failed because of a bound other than max_message
  Counter unknown;     ///< calls of methods that do not exist
  Counter not_grpc;    ///< requests that are not gRPC
  Counter abandoned;   ///< the caller was gone before the response
};

}  // namespace weir::grpc
