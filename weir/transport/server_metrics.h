// The Prometheus metrics of a server. Names: docs/design/metrics.md.
#pragma once

#include <string>

#include "weir/base/result.h"
#include "weir/telemetry/registry.h"
#include "weir/transport/server.h"

namespace weir::transport {

/// Registers the metrics of a server, with the label `listener`. The server must outlive the
/// registry. Returns kAlreadyExists if the registry has metrics with this label already; some
/// metrics may have been added then.
[[nodiscard]] Status RegisterMetrics(Registry& registry, const Server& server,
                                     const std::string& listener);

}  // namespace weir::transport
