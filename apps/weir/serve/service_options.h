// The settings of the server, from the options of `weir serve`.
#pragma once

#include <cstddef>

#include "apps/weir/command.h"
#include "apps/weir/serve/serve_options.h"
#include "weir/base/result.h"
#include "weir/service/rate_limit_server.h"

namespace weir::app {

/// Opens nothing. `descriptors` bounds the connections (BoundConnections). Returns
/// kInvalidArgument if the variables of inherited sockets are malformed.
[[nodiscard]] Result<service::RateLimitServerOptions> ServiceOptionsOf(
    const ServeOptions& options, const ProcessContext& process, std::size_t descriptors);

}  // namespace weir::app
