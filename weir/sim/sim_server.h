// A server of HTTP requests in a simulation.
#pragma once

#include <string_view>

#include "weir/aws/http/http.h"

namespace weir::sim {

/// A server that responds to every request, and at once: losses and delays are those of the network
/// (sim_network.h). Not thread-safe.
class SimServer {
 public:
  virtual ~SimServer() = default;
  virtual HttpResponse Handle(const HttpRequest& request) = 0;
};

/// Returns the part of the request's x-amz-target after the dot, such as "UpdateItem", or an empty
/// text if there is none. The result points into the request.
std::string_view OperationOf(const HttpRequest& request);

}  // namespace weir::sim
