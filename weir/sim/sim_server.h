// What answers HTTP requests in a simulation.
#pragma once

#include <string_view>

#include "weir/aws/http.h"

namespace weir::sim {

/// Answers at once and never fails to: losing and delaying is the network's part (sim_network.h).
/// Not thread-safe.
class SimServer {
 public:
  virtual ~SimServer() = default;
  virtual HttpResponse Handle(const HttpRequest& request) = 0;
};

/// What follows the dot in the request's x-amz-target: "UpdateItem"; empty where there is none.
/// Points into the request.
std::string_view OperationOf(const HttpRequest& request);

}  // namespace weir::sim
