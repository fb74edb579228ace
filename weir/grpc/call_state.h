// Connects a call's stream, which the connection owns, and its handler, which may outlive the
// stream.
#pragma once

#include <memory>

#include "weir/grpc/call.h"
#include "weir/grpc/server_bounds.h"

namespace weir::grpc {

class GrpcStream;

/// What the calls of one connection share.
struct ConnectionCalls {
  std::size_t in_flight = 0;
  std::size_t kept = 0;  ///< bytes of incomplete requests
};

struct CallState {
  CallState(GrpcStream* its_stream, std::shared_ptr<ConnectionCalls> its_calls)
      : stream(its_stream), calls(std::move(its_calls)) {
    ++calls->in_flight;
  }
  ~CallState() { --calls->in_flight; }
  CallState(const CallState&) = delete;
  CallState& operator=(const CallState&) = delete;

  GrpcStream* stream;  ///< null after the stream's end
  std::shared_ptr<ConnectionCalls> calls;
};

}  // namespace weir::grpc
