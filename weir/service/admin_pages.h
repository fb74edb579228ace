// The pages for operators: /metrics, /healthz and /readyz.
#pragma once

#include <atomic>

#include "weir/telemetry/registry.h"
#include "weir/transport/http1/admin_connections.h"

namespace weir::service {

/// Both must outlive the handler. Until a registry is set, /metrics is empty. /healthz is 200 while
/// the process runs, /readyz is 503 unless the service serves.
transport::AdminHandler AdminPages(const std::atomic<bool>& is_serving,
                                   const std::atomic<const Registry*>& registry);

}  // namespace weir::service
