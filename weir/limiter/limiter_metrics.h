// The Prometheus metrics of a Limiter. Names and meanings: docs/design/metrics.md.
#pragma once

#include "weir/base/result.h"
#include "weir/limiter/limiter.h"
#include "weir/telemetry/registry.h"

namespace weir {

/// Registers the limiter's counters and the latency of its store. The limiter must outlive the
/// registry. Fails with kAlreadyExists if the registry has the metrics of a limiter already; some
/// metrics may have been added then.
[[nodiscard]] Status RegisterMetrics(Registry& registry, const Limiter& limiter);

}  // namespace weir
