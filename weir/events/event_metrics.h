// The metrics of events, for Prometheus. Names: docs/design/metrics.md.
#pragma once

#include "weir/base/result.h"
#include "weir/events/event_releaser.h"
#include "weir/events/sqs_source.h"
#include "weir/telemetry/registry.h"

namespace weir {

/// Adds what became of the events. The releaser must outlive the registry. kAlreadyExists: the
/// registry has the metrics of a releaser already; some may have been added.
[[nodiscard]] Status RegisterMetrics(Registry& registry, const EventReleaser& releaser);
/// The same of a queue's messages and calls.
[[nodiscard]] Status RegisterMetrics(Registry& registry, const SqsSource& source);

}  // namespace weir
