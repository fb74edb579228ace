// The Prometheus metrics of an aggregator. Names: docs/design/metrics.md.
#pragma once

#include "weir/aggregator/daemon/aggregate_daemon.h"
#include "weir/base/result.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/registry.h"

namespace weir::dynamo {

/// Registers the counters and the state of the daemon. `clock` is the daemon's clock. Daemon and
/// clock must outlive the registry. Fails with kAlreadyExists if the registry has the metrics of a
/// daemon already; some metrics may have been added then.
[[nodiscard]] Status RegisterMetrics(Registry& registry, const AggregateDaemon& daemon,
                                     const Clock& clock);

}  // namespace weir::dynamo
