// The metrics of kept usage (docs/design/metrics.md).
#pragma once

#include <functional>

#include "weir/base/result.h"
#include "weir/store/usage/counted_usage.h"
#include "weir/telemetry/registry.h"

namespace weir {

/// Adds the metrics. `stats` is called from any thread while the registry is used. Errors are those
/// of the registry.
[[nodiscard]] Status RegisterUsageMetrics(Registry& registry,
                                          const std::function<UsageStats()>& stats);

}  // namespace weir
