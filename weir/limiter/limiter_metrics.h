// The metrics of a Limiter, for Prometheus. Names and meanings: docs/design/metrics.md.
#pragma once

#include "weir/base/result.h"
#include "weir/limiter/limiter.h"
#include "weir/telemetry/registry.h"

namespace weir {

/// Adds what the limiter counts, and how long its store took to decide. The limiter must outlive
/// the registry. kAlreadyExists: the registry has the metrics of a limiter already; some may have
/// been added.
[[nodiscard]] Status RegisterMetrics(Registry& registry, const Limiter& limiter);

}  // namespace weir
