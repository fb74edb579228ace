// The Prometheus metrics of events. Names: docs/design/metrics.md.
#pragma once

#include "weir/base/result.h"
#include "weir/events/event_releaser.h"
#include "weir/events/sqs_source.h"
#include "weir/telemetry/registry.h"

namespace weir {

/// Registers the metrics of the releaser, which must outlive the registry. Fails with
/// kAlreadyExists if the registry has the metrics of a releaser already; some metrics may have been
/// added then.
[[nodiscard]] Status RegisterMetrics(Registry& registry, const EventReleaser& releaser);
/// Registers the metrics of the messages and the calls of a queue, under the same conditions.
[[nodiscard]] Status RegisterMetrics(Registry& registry, const SqsSource& source);

}  // namespace weir
