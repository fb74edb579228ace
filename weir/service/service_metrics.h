// The Prometheus metrics of the rate limit services.
#pragma once

#include "weir/base/result.h"
#include "weir/grpc/server.h"
#include "weir/service/active_rules.h"
#include "weir/service/rate_limit_service.h"
#include "weir/telemetry/registry.h"

namespace weir::service {

/// What a server counts.
struct CountedService {
  const ServiceCounts& requests;
  const grpc::ServerCounts& calls;
  const RuleCountsByName& rules;
};

/// Adds all counts under Weir's own names, and the counts of rules also under the names that
/// dashboards of envoyproxy/ratelimit and limitador know. All must outlive the registry.
[[nodiscard]] Status RegisterServiceMetrics(Registry& registry, const CountedService& counted);

}  // namespace weir::service
